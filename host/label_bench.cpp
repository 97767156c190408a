#include "host/label_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/source_text.h"
#include "host/child_command.h"
#include "host/kernel_labels.h"
#include "host/machine_code.h"
#include "host/temporary_folder.h"

namespace tilecast::host {
namespace {

using Values = LabelValues;

constexpr Seconds kCompileTimeout{300};
constexpr const char* kCpu = "znver3";
constexpr const char* kLabelFlags =
    "-march=znver3 -std=c11 -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -w "
    "-fno-ipa-icf -fno-ipa-cp -fno-ipa-ra -fno-inline-functions-called-once --param "
    "inline-unit-growth=1000000 -fno-jump-tables -fno-asynchronous-unwind-tables";
constexpr const char* kFileFlags = "-c -fverbose-asm -save-temps=obj";
constexpr const char *kSource = "kernels.c", *kAssembly = "kernels.s", *kObject = "kernels.o";
constexpr const char* kGccOnly =
    "#if !defined(__GNUC__) || defined(__clang__) || !defined(__x86_64__)\n"
    "#error expected gcc for x86-64\n#endif\nvoid f(void) {}\n";

// One label: its quantity, and how to compute it.
struct Label {
  measured::Quantity quantity;
  double (*value)(const LoopCode&);  // nullptr: not from the loop alone
};

const std::vector<Label>& loop_labels() {
  static const std::vector<Label> kLabels{
      {{"vector_registers", "registers", "most live at a point of the hottest loop", true},
       [](const LoopCode& loop) { return double(loop.registers_live); }},
      {{"vector_registers_named", "registers", "named in the hottest loop", true},
       [](const LoopCode& loop) { return double(loop.registers_used); }},
      {{"loop_spills", "stores", "of vector registers to their stack slots, hottest loop", true},
       [](const LoopCode& loop) { return double(loop.spills); }},
      {{"loop_reloads", "loads", "of vector registers from there, hottest loop", true},
       [](const LoopCode& loop) { return double(loop.reloads); }},
      {{"loop_instructions", "instructions", "of the hottest loop", true},
       [](const LoopCode& loop) { return double(loop.instructions); }},
      {{"loop_vector_instructions", "instructions", "of those, that compute on vectors", true},
       [](const LoopCode& loop) { return double(loop.vector_instructions); }},
      {{"loop_lanes", "lanes", "of 4 bytes that these compute on", true},
       [](const LoopCode& loop) { return double(loop.lanes); }},
      {{"loop_loads", "instructions", "of the hottest loop, that read memory", true},
       [](const LoopCode& loop) { return double(loop.loads); }},
      {{"loop_stores", "instructions", "of the hottest loop, that write memory", true},
       [](const LoopCode& loop) { return double(loop.stores); }},
      {{"loop_calls", "calls", "in the hottest loop", true},
       [](const LoopCode& loop) { return double(loop.calls); }},
      {{"loop_depth", "loops", "around the hottest loop's instructions", true},
       [](const LoopCode& loop) { return double(loop.depth); }},
  };
  return kLabels;
}

// Compiles the folder's source; returns the compiler's output on failure, else "".
std::string failure_of(std::vector<std::string> command, const TemporaryFolder& folder) {
  command.insert(command.end(), {"-o", folder.file(kObject), folder.file(kSource)});
  ChildCommand started(std::move(command), folder.path(), kCompileTimeout);
  while (started.read_some()) {
  }
  const std::optional<int> status = started.wait();
  if (!status) return fmt::format("the compiler took longer than {} s", kCompileTimeout.value);
  if (*status == 0) return {};
  const std::string text = started.text();
  return text.empty() ? fmt::format("the compiler ended with status {}", *status) : text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

class LabelTools {
 public:
  LabelTools() : mca_(kCpu) {
    const char* set = std::getenv("CC");
    const std::vector<std::string> compiler = words_of(set != nullptr && *set != '\0' ? set : "cc");
    if (compiler.empty()) throw Error("CC: got only blanks, expected a compiler command");
    command_ = compiler;
    for (const std::string& flag : words_of(kLabelFlags)) command_.push_back(flag);
    for (const std::string& flag : words_of(kFileFlags)) command_.push_back(flag);
    const TemporaryFolder folder;
    folder.write(kSource, kGccOnly);
    if (const std::string wrong = failure_of(command_, folder); !wrong.empty()) {
      throw Error(
          fmt::format("C compiler {}: cannot make labels for {}: {}; expected gcc 11 or "
                      "newer for x86-64 in CC (Debian: apt-get install gcc)",
                      fmt::join(compiler, " "), kCpu, wrong));
    }
    std::vector<std::string> ask = compiler;
    ask.emplace_back("--version");
    ChildCommand version(ask, "", kCompileTimeout);
    while (version.read_some()) {
    }
    const std::string text = version.text();
    description_ =
        fmt::format("{}; {}; {}", text.substr(0, text.find('\n')), kLabelFlags, mca_.description());
  }

  [[nodiscard]] const std::string& description() const { return description_; }

  [[nodiscard]] LabelledFile label(const std::string& source,
                                   std::span<const std::string> functions) const {
    const TemporaryFolder folder;
    folder.write(kSource, source);
    if (std::string wrong = failure_of(command_, folder); !wrong.empty()) {
      return {.kernels = {}, .error = std::move(wrong)};
    }
    const std::vector<AsmFunction> file =
        parse_assembly(base::SourceText::read_bytes(folder.file(kAssembly)));
    const auto sizes = function_sizes(folder.file(kObject));
    std::vector<KernelCode> codes;
    for (const std::string& function : functions) {
      std::optional<KernelCode> code = kernel_code(file, function);
      if (!code) throw Error(fmt::format("{}: not in the compiler's assembly", function));
      codes.push_back(std::move(*code));
    }
    const std::map<std::string, std::optional<McaAnswer>> analysed = analyse(codes, folder.path());
    LabelledFile made;
    for (const KernelCode& code : codes) made.kernels.push_back(values(code, sizes, analysed));
    return made;
  }

 private:
  // Keyed by the loop's text, since kernels that call the same function share its loop.
  [[nodiscard]] std::map<std::string, std::optional<McaAnswer>> analyse(
      const std::vector<KernelCode>& codes, const std::string& folder) const {
    std::map<std::string, std::optional<McaAnswer>> answers;
    for (const KernelCode& code : codes) {
      if (code.loop) answers[code.loop->text];
    }
    std::vector<std::string> loops;
    for (const auto& [text, answer] : answers) loops.push_back(text);
    const auto analysed = mca_.analyse(loops, folder);
    for (std::size_t i = 0; i < loops.size(); ++i) answers[loops[i]] = analysed[i];
    return answers;
  }

  static Values values(const KernelCode& code, const std::map<std::string, std::int64_t>& sizes,
                       const std::map<std::string, std::optional<McaAnswer>>& analysed) {
    Values values;
    for (const Label& label : loop_labels()) {
      values.push_back(code.loop ? std::optional(label.value(*code.loop)) : std::nullopt);
    }
    const std::optional<McaAnswer> mca =
        code.loop ? analysed.at(code.loop->text) : std::optional<McaAnswer>();
    values.push_back(mca ? std::optional(mca->cycles_per_iteration) : std::nullopt);
    values.push_back(mca ? std::optional(mca->vector_utilisation) : std::nullopt);
    values.emplace_back(code.spills);
    values.emplace_back(code.reloads);
    values.emplace_back(code.instructions);
    double bytes = 0;
    for (const std::string& name : code.functions) {
      for (const std::string& part : {name, name + ".cold"}) {
        if (const auto size = sizes.find(part); size != sizes.end()) bytes += double(size->second);
      }
    }
    values.emplace_back(bytes);
    return values;
  }

  McaTool mca_;
  std::vector<std::string> command_;
  std::string description_;
};

}  // namespace

std::vector<measured::Quantity> label_quantities() {
  std::vector<measured::Quantity> quantities;
  for (const Label& label : loop_labels()) quantities.push_back(label.quantity);
  quantities.push_back(
      {"cycles_per_iteration", "cycles", "of the hottest loop, by llvm-mca", false});
  quantities.push_back({"vector_utilisation", "share",
                        "of the vector pipes' cycles in use in the hottest loop, by llvm-mca",
                        false});
  quantities.push_back({"spills", "stores", "as loop_spills, of all the kernel's code", true});
  quantities.push_back({"reloads", "loads", "as loop_reloads, of all the kernel's code", true});
  quantities.push_back({"instructions", "instructions",
                        "of the kernel's functions, each once, as they stand in memory", true});
  quantities.push_back({"code_size", "bytes", "of these functions", true});
  return quantities;
}

LabelBench label_bench() {
  const LabelTools tools;
  return {.tools = tools.description(),
          .generate = generate_c,
          .label = [tools](const std::string& source, std::span<const std::string> functions) {
            return tools.label(source, functions);
          }};
}

}  // namespace tilecast::host
