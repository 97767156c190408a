#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "ir/read_module.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_printer.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"

namespace tilecast::sim::cli {
namespace {

struct ConvertArguments {
  std::string file, output, to, module;
  LoadArguments load;
};

bool is_stablehlo(const ConvertArguments& arguments) {
  if (!arguments.to.empty()) return arguments.to == "stablehlo";
  const std::string extension = std::filesystem::path(arguments.output).extension().string();
  if (extension == ".mlir") return true;
  if (extension == ".hlo" || extension == ".txt" || arguments.output == "-") return false;
  throw UsageError(
      fmt::format("-o: got '{}', expected FILE.hlo or FILE.mlir; or add --to", arguments.output));
}

// Whether `name` is the whole file name or one of its parts between dots.
bool is_named(const std::string& path, const std::string& name) {
  const std::string file = std::filesystem::path(path).filename().string();
  return file == name ||
         fmt::format(".{}.", file).find(fmt::format(".{}.", name)) != std::string::npos;
}

std::string choose_file(const ConvertArguments& arguments) {
  std::vector<std::string> files = ir::module_files(arguments.file).files;
  if (arguments.module.empty() && files.size() == 1) return files.front();
  const std::string all = fmt::format("{}", fmt::join(files, "\n  "));
  std::erase_if(files, [&](const std::string& file) { return !is_named(file, arguments.module); });
  if (files.size() == 1) return files.front();
  throw Error(fmt::format(
      "{}: {} modules, expected one; choose it with --module NAME:\n  {}", arguments.file,
      arguments.module.empty() ? "several" : std::to_string(files.size()), all));
}

void note_lost(const std::string& text) {
  tell(
      "note: StableHLO keeps no layouts, memory spaces, schedule, fusions or backend notes; HLO "
      "text "
      "(-o FILE.hlo) keeps all");
  std::size_t count = 0;
  constexpr std::string_view kOp = "call_target_name = \"mhlo.";
  for (std::size_t at = text.find(kOp); at != std::string::npos; at = text.find(kOp, at + 1)) {
    ++count;
  }
  if (count == 0) return;
  tell(fmt::format("note: instructions that StableHLO has no op for are custom calls mhlo.*: {}",
                   count));
}

void note_elided(const ir::Module& module) {
  std::size_t count = 0;
  for (const ir::Computation& computation : module.computations) {
    count += static_cast<std::size_t>(
        std::ranges::count_if(computation.instructions, [](const ir::Instruction& instruction) {
          const auto* constant = instruction.get<ir::ConstantAttrs>();
          return constant != nullptr && constant->literal.elided;
        }));
  }
  if (count > 0) tell(fmt::format("note: constants without their values ({{...}}): {}", count));
}

void run(const ConvertArguments& arguments) {
  const bool to_stablehlo = is_stablehlo(arguments);
  const ir::Module module = ir::read_module(choose_file(arguments), read_options(arguments.load));
  for (const std::string& warning : module.warnings) tell(fmt::format("note: {}", warning));
  const std::string text = to_stablehlo ? ir::print_stablehlo(module) : ir::print_hlo(module);
  note_elided(module);
  if (to_stablehlo) note_lost(text);
  write({.format = {}, .file = arguments.output == "-" ? "" : arguments.output}, text);
}

}  // namespace

void add_convert(CLI::App& app) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App& verb = *app.add_subcommand("convert", "a program of any form as HLO or StableHLO text");
  verb.add_option("program", arguments->file, "file of the program, or a folder of XLA's")
      ->required()
      ->type_name("FILE");
  add_output_file(verb, "-o,--output", arguments->output,
                  "file to write, of HLO (.hlo) or StableHLO (.mlir) text; -: stdout")
      ->required();
  verb.add_option("--to", arguments->to, "form of the text; default: by the output's extension")
      ->check(CLI::IsMember({"hlo", "stablehlo"}));
  verb.add_option("--module", arguments->module, "which module of a folder")->type_name("NAME");
  add_read_options(verb, arguments->load);
  verb.footer(
      "HLO text reads back to the same module. StableHLO text says what is computed: fusions and\n"
      "asynchronous ops become calls, layouts, memory spaces and schedules are not kept.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
