#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "sim/cli/options.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {
namespace {

// Removes escape sequences for terminals; a program's text and pages are unchanged.
std::string shown(const std::string& text, std::string_view format) {
  if (format == "json" || format == "trace") return base::printable_json(text);
  return format.empty() || format == "html" ? text : base::printable(text);
}

// Writes everything for stderr; write errors are ignored.
void to_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void tell(std::string_view line) {
  to_stderr(base::printable(line) + '\n');
}

void tell_in_place(std::string_view line) {
  to_stderr("\r\x1b[K" + base::printable(line));
}

CLI::Option* add_output_file(CLI::App& verb, const std::string& names, std::string& file,
                             const std::string& what) {
  const auto claim = [](const std::string& path) {
    static std::deque<base::OutputClaim> claims;  // until the end of the command
    if (!path.empty() && path != "-") claims.emplace_back(path);
    return std::string();
  };
  return verb.add_option(names, file, what)->type_name("FILE")->check(claim);
}

void add_output_options(CLI::App& verb, OutputOptions& options,
                        const std::vector<std::string>& formats) {
  options.format = formats.front();
  verb.add_option("-f,--format", options.format, "form of the answer")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
  add_output_file(verb, "-o,--output", options.file, "file to write instead of stdout");
}

void add_format_option(CLI::App& verb, std::string& format, const std::vector<std::string>& formats,
                       const std::string& what) {
  verb.add_option("-f,--format", format, what)->check(CLI::IsMember(formats))->default_val("table");
}

void write(const OutputOptions& options, const std::string& text) {
  if (!options.file.empty()) return base::replace_file(options.file, text);
  const std::string out = shown(text, options.format);
  if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size() || std::fflush(stdout) != 0) {
    throw Error(fmt::format("stdout: cannot write it: {}", std::strerror(errno)));
  }
}

void note_unread(const std::string& file, const std::vector<std::string>& columns) {
  if (columns.empty()) return;
  tell(fmt::format("note: {}: kept, not read: {}", file, fmt::join(columns, ", ")));
}

void write_rows(const OutputOptions& options, const measured::CsvTable& rows,
                const std::string& schema) {
  write(options, options.format == "json"  ? views::rows_json(rows, schema)
                 : options.format == "csv" ? views::rows_csv(rows)
                                           : views::rows_text(rows));
}

}  // namespace tilecast::sim::cli
