#include "ir/read_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/gzip.h"
#include "ir/dump_folder.h"
#include "ir/onnx/onnx.h"
#include "ir/proto/hlo_proto.h"
#include "ir/read_unknown.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

constexpr std::string_view kTextBlanks = " \t\r\n";
constexpr std::size_t kLookedAt = 64 << 10;  // bytes examined to recognise the format

// Removes leading white space and comments.
std::string_view skip_comments(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kTextBlanks), text.size()));
    const std::string_view end = text.starts_with("//") ? "\n" : "*/";
    if (end == "*/" && !text.starts_with("/*")) return text;
    const std::size_t at = text.find(end);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + end.size());
  }
}

std::string_view first_word(std::string_view text) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
  };
  return text.substr(
      0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_part) - text.begin()));
}

bool is_text(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos;
}

// `module`, `func.func`, a quoted op, `#alias`, `!alias`, `%0 = stablehlo.add ...`.
bool is_mlir_text(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, kLookedAt);
  const std::string_view start = skip_comments(head);
  if (!is_text(head) || start.empty()) return false;
  if (start.front() == '#' || start.front() == '!' || start.starts_with("\"builtin.module\"") ||
      start.starts_with("\"func.func\"")) {
    return true;
  }
  const std::string_view word = first_word(start);
  if (word == "module" || word == "builtin.module" || word == "func.func") return true;
  const std::string_view line = start.substr(0, start.find('\n'));
  return std::ranges::any_of(
      std::array{" = stablehlo.", " = mhlo.", " = \"stablehlo.", " = \"mhlo."},
      [&](const char* op) { return line.find(op) != line.npos; });
}

// HloProto or HloModuleProto in protobuf's text format.
bool is_hlo_text_proto(std::string_view start) {
  const std::string_view word = first_word(start);
  const std::string_view after = skip_comments(start.substr(word.size()));
  const bool is_field = word == "hlo_module" || word == "computations" || word == "name" ||
                        word == "buffer_assignment" || word == "entry_computation_name";
  return is_field && !after.empty() && (after.front() == ':' || after.front() == '{');
}

// A module, a computation or one instruction: `HloModule m`, `comp (x: f32[]) ->`, `%y = ...`,
// `f32[] add(...)`.
bool is_hlo_text(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, kLookedAt);
  const std::string_view start = skip_comments(head);
  if (!is_text(head) || start.empty() || is_hlo_text_proto(start)) return false;
  const std::string_view word = first_word(start);
  if (word == "HloModule" || word == "ENTRY" || word == "ROOT") return true;
  if (word.empty()) return start.front() == '%' || start.front() == '(';
  const std::string_view after = skip_comments(start.substr(word.size()));
  if (after.starts_with('(')) return head.find("->") != std::string_view::npos;
  return !after.empty() && std::string_view("=[{").find(after.front()) != std::string_view::npos;
}

// Throws Error if the file holds several modules, such as concatenated dumps.
void expect_one_module(const base::SourceText& file) {
  constexpr std::string_view kStart = "\nHloModule ";
  std::vector<std::string_view> names;
  const std::string text = fmt::format("\n{}", file.text().substr(0, kStart.size()));
  if (text.starts_with(kStart)) names.push_back(first_word(file.text().substr(kStart.size() - 1)));
  for (std::size_t at = file.text().find(kStart); at != std::string_view::npos;
       at = file.text().find(kStart, at + 1)) {
    names.push_back(first_word(file.text().substr(at + kStart.size())));
  }
  if (names.size() < 2) return;
  throw Error(
      fmt::format("{}: {} modules in one file, expected one: {}\n"
                  "  a file for each: csplit -z {} '/^HloModule /' '{{*}}'",
                  file.file(), names.size(), fmt::join(names, ", "), file.file()));
}

// Standard input can be read only once, so the text is kept for later calls.
const base::SourceText& standard_input() {
  static const base::SourceText kText(
      "standard input", std::string(base::SourceText::read_file("/dev/stdin").text()));
  return kText;
}

struct Form {
  std::string_view name;
  bool (*matches)(std::string_view bytes);
  Module (*read)(const base::SourceText& file, const ReadOptions& options);
};

constexpr std::array kProgramForms = {
    Form{"HLO protos (HloProto, HloModuleProto, HloSnapshot)", is_hlo_proto,
         [](const base::SourceText& file, const ReadOptions&) {
           return read_hlo_proto(file.text(), file.file());
         }},
    Form{"ONNX", is_onnx,
         [](const base::SourceText& file, const ReadOptions& options) {
           return read_onnx(file.text(), file.file(), options);
         }},
    Form{"StableHLO text", is_mlir_text,
         [](const base::SourceText& file, const ReadOptions& options) {
           return parse_stablehlo(file, options);
         }},
    Form{"HLO text", is_hlo_text,
         [](const base::SourceText& file, const ReadOptions& options) {
           expect_one_module(file);
           return parse_hlo(file, {.strict = options.strict});
         }},
};

std::string form_names() {
  std::string names;
  for (const Form& form : kProgramForms) names += fmt::format("{}, ", form.name);
  return names + "each also gzipped, or a folder that XLA dumped into";
}

}  // namespace

Module read_module(base::SourceText file, const ReadOptions& options) {
  if (base::is_gzip(file.text())) {
    file = {file.file(),
            base::unpack_gzip(file.text(), file.file(), base::SourceText::kMaxUnsizedBytes)};
  }
  for (const Form& form : kProgramForms) {
    if (form.matches(file.text())) return form.read(file, options);
  }
  throw Error(unknown_form_message(file.file(), file.text(), form_names()));
}

Module read_module(const std::string& path, const ReadOptions& options) {
  if (path == "-") return read_module(standard_input(), options);
  const ModuleFiles found = module_files(path);
  if (found.files.size() == 1) {
    return read_module(base::SourceText::read_file(found.files.front()), options);
  }
  throw Error(fmt::format("{}: {} modules after optimisation, expected one; name its file:\n  {}",
                          path, found.files.size(), fmt::join(found.files, "\n  ")));
}

ModuleFiles module_files(const std::string& path) {
  if (std::error_code failed; !std::filesystem::is_directory(path, failed)) return {{path}, {}};
  DumpFolder dump = read_dump_folder(path);
  ModuleFiles found{{}, std::move(dump.others)};
  for (DumpedModule& module : dump.modules) found.files.push_back(std::move(module.path));
  return found;
}

}  // namespace tilecast::ir
