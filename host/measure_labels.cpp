#include "host/measure_labels.h"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/parallel.h"
#include "base/source_text.h"
#include "base/text.h"
#include "host/assembly.h"
#include "host/child_process.h"
#include "host/timing_loop.h"
#include "ir/text/hlo_printer.h"
#include "measured/importers/json_records.h"

namespace tilecast::host {

namespace {

constexpr std::size_t kFilesPerCompiler = 2;  // files per compiler between writes of rows

// Results of one file's items.
struct LabelledItems {
  std::vector<LabelledRow> rows;
  std::vector<SkippedRow> skipped;
};

// Labels one file of the plan, on one thread.
class LabelFile {
 public:
  LabelFile(const hwdesc::Device& device, const LabelBench& bench)
      : device_(device), bench_(bench) {}

  [[nodiscard]] LabelledItems make(std::span<const WorkItem> items) const {
    LabelledItems made;
    std::vector<Written> written;
    for (std::size_t i = 0; i < items.size(); ++i) write(items[i], i, written, made);
    label(written, made);
    return made;
  }

 private:
  struct Written {
    const WorkItem* item = nullptr;
    std::string function, source;
  };

  void write(const WorkItem& item, std::size_t number, std::vector<Written>& written,
             LabelledItems& made) const {
    if (std::string why = not_readable(*item.workload, device_); !why.empty()) {
      made.skipped.push_back({&item, "not readable", std::move(why)});
      return;
    }
    std::string function = fmt::format("kernel_{}", number);
    auto code = bench_.generate(item.workload->kernel, item.tile, function);
    if (const auto* unsupported = std::get_if<Unsupported>(&code)) {
      made.skipped.push_back({&item, "unsupported", unsupported->reason});
      return;
    }
    std::string source = unrolled(std::get<CKernel>(std::move(code)).source, item.unroll);
    written.push_back({&item, std::move(function), std::move(source)});
  }

  // A kernel that does not compile must not fail the others in its file.
  void label(std::span<const Written> written, LabelledItems& made) const {
    if (written.empty()) return;
    std::string source(c_prelude());
    std::vector<std::string> functions;
    for (const Written& each : written) {
      source += each.source;
      functions.push_back(each.function);
    }
    LabelledFile file = bench_.label(source, functions);
    if (!file.error.empty() && written.size() == 1) {
      made.skipped.push_back({written.front().item, "compile error", std::move(file.error)});
    } else if (!file.error.empty()) {
      for (std::size_t i = 0; i < written.size(); ++i) label(written.subspan(i, 1), made);
    } else {
      TC_CHECK(file.kernels.size() == functions.size(), "labels of every function");
      for (std::size_t i = 0; i < written.size(); ++i) {
        made.rows.push_back({written[i].item, std::move(file.kernels[i])});
      }
    }
  }

  const hwdesc::Device& device_;
  const LabelBench& bench_;
};

class LabelSession {
 public:
  LabelSession(std::span<const WorkItem> plan, const hwdesc::Device& device, GrowingSet& set,
               const LabelBench& bench, const LabelOptions& options, const SessionEvents& events)
      : plan_(plan),
        set_(set),
        options_(options),
        events_(events),
        file_(device, bench),
        start_(now()) {
    report_.planned = plan.size();
  }

  SessionReport run() {
    const std::size_t per_file = std::max<std::size_t>(options_.kernels_per_file, 1);
    const std::size_t wave =
        kFilesPerCompiler * static_cast<std::size_t>(std::max(options_.jobs, 1));
    std::vector<std::span<const WorkItem>> files;
    for (std::size_t first = 0; first < plan_.size(); first += per_file) {
      const auto file = plan_.subspan(first, std::min(per_file, plan_.size() - first));
      if (count_known(file)) continue;
      files.push_back(file);
      if (files.size() < wave) continue;
      if (must_end()) return finish();
      make(files);
      files.clear();
    }
    if (!files.empty() && !must_end()) make(files);
    return finish();
  }

 private:
  [[nodiscard]] bool is_known(const WorkItem* item) const { return set_.holds(item->key()); }
  // Counts the file's items that the set has; returns whether it has all.
  bool count_known(std::span<const WorkItem> file) {
    const auto known = static_cast<std::size_t>(
        std::ranges::count_if(file, [&](const WorkItem& item) { return is_known(&item); }));
    report_.known += known;
    settled_ += known;
    return known == file.size();
  }

  bool must_end() {
    if (events_.stop()) {
      report_.end = SessionEnd::kStopped;
    } else if (options_.budget && now() - start_ >= *options_.budget) {
      report_.end = SessionEnd::kOutOfTime;
    }
    return report_.end != SessionEnd::kFinished;
  }

  void make(std::span<const std::span<const WorkItem>> files) {
    std::vector<LabelledItems> made(files.size());
    base::parallel_for(files.size(), options_.jobs,
                       [&](std::size_t i) { made[i] = file_.make(files[i]); });
    for (LabelledItems& items : made) {
      const auto before = [&](const auto& row) { return is_known(row.item); };
      std::erase_if(items.rows, before);
      std::erase_if(items.skipped, before);
      for (const LabelledRow& row : items.rows) {
        const Workload& workload = *row.item->workload;
        set_.add_kernel(workload.hash, ir::print_hlo(workload.module));
      }
      set_.append(items.rows, items.skipped);
      report_.measured += items.rows.size();
      for (const SkippedRow& row : items.skipped) ++report_.skipped[row.reason];
      settled_ += items.rows.size() + items.skipped.size();
    }
    events_.progress(settled_, std::nullopt);
  }

  SessionReport finish() {
    report_.compiling = now() - start_;
    return report_;
  }

  std::span<const WorkItem> plan_;
  GrowingSet& set_;
  const LabelOptions& options_;
  const SessionEvents& events_;
  LabelFile file_;
  Seconds start_;
  std::size_t settled_ = 0;
  SessionReport report_;
};

}  // namespace

SessionReport make_labels(std::span<const WorkItem> plan, const hwdesc::Device& device,
                          GrowingSet& set, const LabelBench& bench, const LabelOptions& options,
                          const SessionEvents& events) {
  return LabelSession(plan, device, set, bench, options, events).run();
}

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

namespace {

constexpr Seconds kMcaTimeout{120};

// Vector pipes of the cores, by llvm-mca's resource names.
struct McaCore {
  std::string_view cpu;
  std::array<std::string_view, 4> vector_pipes;
};
constexpr std::array<McaCore, 1> kCores{{{"znver3", {"Zn3FPP0", "Zn3FPP1", "Zn3FPP2", "Zn3FPP3"}}}};

const McaCore* core_named(std::string_view cpu) {
  const auto* const found = std::ranges::find(kCores, cpu, &McaCore::cpu);
  return found == kCores.end() ? nullptr : found;
}

// The command's output if it succeeds.
std::optional<std::string> output_of(std::vector<std::string> command, const std::string& folder) {
  ChildCommand started(std::move(command), folder, kMcaTimeout);
  while (started.read_some()) {
  }
  if (started.wait() != 0) return std::nullopt;
  return started.text();
}

std::string version_line(const std::string& text) {
  const std::size_t at = text.find("LLVM version");
  return at == std::string::npos ? "llvm-mca"
                                 : "llvm-mca, " + text.substr(at, text.find('\n', at) - at);
}

// A region of llvm-mca's JSON, as flattened by json_records.h.
struct McaRegion {
  std::size_t loop = 0;  // the region's name
  double iterations = 0, cycles = 0;
  std::size_t instructions = 0;
  std::map<std::size_t, double> usage;  // by resource, per iteration
};

double number_of(const std::string& text) {
  const std::optional<double> value = base::parse_number(text);
  if (!value) throw Error(fmt::format("got '{}', expected a number", text));
  return *value;
}

McaRegion region_of(const measured::JsonRecord& record) {
  constexpr std::string_view kUse = "ResourcePressureView.ResourcePressureInfo[].";
  McaRegion region;
  std::size_t instruction = 0, resource = 0;
  std::map<std::size_t, std::map<std::size_t, double>> usage;  // by instruction and resource
  for (const auto& [path, text, is_text, items] : record) {
    if (path == "Name") region.loop = static_cast<std::size_t>(number_of(text));
    if (path == "Instructions[]") ++region.instructions;
    if (path == "SummaryView.Iterations") region.iterations = number_of(text);
    if (path == "SummaryView.TotalCycles") region.cycles = number_of(text);
    if (!path.starts_with(kUse)) continue;
    const std::string_view key = std::string_view(path).substr(kUse.size());
    if (key == "InstructionIndex") instruction = static_cast<std::size_t>(number_of(text));
    if (key == "ResourceIndex") resource = static_cast<std::size_t>(number_of(text));
    if (key == "ResourceUsage") usage[instruction][resource] = number_of(text);
  }
  // An iteration's totals are reported under an extra instruction after the last.
  region.usage = usage[region.instructions];
  if (!(region.iterations > 0 && region.cycles > 0)) throw Error("no summary of a loop");
  return region;
}

McaAnswer answer_of(const McaRegion& region, const std::vector<std::string>& resources,
                    const McaCore& core) {
  McaAnswer answer{.cycles_per_iteration = region.cycles / region.iterations};
  double busy = 0;
  for (const auto& [resource, usage] : region.usage) {
    const std::string& name = resources.at(resource);
    if (std::ranges::find(core.vector_pipes, name) != core.vector_pipes.end()) busy += usage;
  }
  answer.vector_utilisation =
      busy / (static_cast<double>(core.vector_pipes.size()) * answer.cycles_per_iteration);
  return answer;
}

std::string contents_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(fmt::format("{}: cannot be read", file));
  return {std::istreambuf_iterator<char>(in), {}};
}

// Reads a record of a binary file.
template <class Record>
Record record_at(const std::string& bytes, std::uint64_t offset, const std::string& file) {
  Record record;
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Record)) {
    throw Error(fmt::format("{}: is not a complete ELF object", file));
  }
  std::memcpy(&record, bytes.data() + offset, sizeof(Record));
  return record;
}

}  // namespace

McaTool::McaTool(std::string cpu) : cpu_(std::move(cpu)) {
  TC_CHECK(core_named(cpu_) != nullptr, "a core whose vector pipes nobody listed");
  for (const char* tool : {"llvm-mca", "llvm-mca-14"}) {
    try {
      const std::optional<std::string> text = output_of({tool, "--version"}, "");
      if (!text) continue;
      tool_ = tool;
      description_ = fmt::format("{}, -mcpu={}", version_line(*text), cpu_);
      return;
    } catch (const Error&) {  // command not found: try the next one
    }
  }
  throw Error("llvm-mca: not found; install it (Debian: apt-get install llvm-14)");
}

std::vector<std::optional<McaAnswer>> McaTool::analyse(std::span<const std::string> loops,
                                                       const std::string& folder) const {
  if (loops.empty()) return {};
  std::vector<std::optional<McaAnswer>> answers = run(loops, folder);
  const bool all_failed = std::ranges::none_of(answers, [](const auto& a) { return bool(a); });
  if (!all_failed || loops.size() == 1) return answers;
  // An unknown instruction in one loop must not fail the others.
  for (std::size_t i = 0; i < loops.size(); ++i) {
    answers[i] = run(loops.subspan(i, 1), folder).front();
  }
  return answers;
}

std::vector<std::optional<McaAnswer>> McaTool::run(std::span<const std::string> loops,
                                                   const std::string& folder) const {
  std::vector<std::optional<McaAnswer>> answers(loops.size());
  const std::string source = folder + "/loops.s", result = folder + "/loops.json";
  {
    std::ofstream out(source, std::ios::binary);
    for (std::size_t i = 0; i < loops.size(); ++i) {
      out << "# LLVM-MCA-BEGIN " << i << "\n" << loops[i] << "# LLVM-MCA-END " << i << "\n";
    }
    out.close();
    if (!out) throw Error(fmt::format("{}: cannot be written; is the disk full?", source));
  }
  if (!output_of(
          {tool_, "-mcpu=" + cpu_, "--json", "--instruction-info=false", "-o", result, source},
          folder)) {
    return answers;
  }
  std::vector<std::string> resources;
  std::vector<McaRegion> regions;
  try {
    measured::ByteSource json(result);
    measured::read_json_records(json,
                                {.container = "CodeRegions",
                                 .record =
                                     [&](const std::string&, const measured::JsonRecord& record) {
                                       regions.push_back(region_of(record));
                                     },
                                 .header =
                                     [&](const measured::JsonField& field) {
                                       if (field.path == "TargetInfo.Resources[]")
                                         resources.push_back(field.text);
                                     }});
    for (const McaRegion& region : regions) {
      answers.at(region.loop) = answer_of(region, resources, *core_named(cpu_));
    }
  } catch (const std::exception& error) {
    throw Error(
        fmt::format("{}: its JSON is not as expected of LLVM 14: {}", description_, error.what()));
  }
  return answers;
}

std::map<std::string, std::int64_t> function_sizes(const std::string& object_file) {
  const std::string bytes = contents_of(object_file);
  const auto header = record_at<Elf64_Ehdr>(bytes, 0, object_file);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_X86_64) {
    throw Error(fmt::format("{}: is not an x86-64 ELF object", object_file));
  }
  const auto section = [&](std::uint64_t i) {
    return record_at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr), object_file);
  };
  std::map<std::string, std::int64_t> sizes;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = section(symbols.sh_link);
    for (std::uint64_t at = 0; at < symbols.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = record_at<Elf64_Sym>(bytes, symbols.sh_offset + at, object_file);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      const std::uint64_t name = names.sh_offset + symbol.st_name;
      if (name < bytes.size()) sizes[bytes.c_str() + name] = std::int64_t(symbol.st_size);
    }
  }
  return sizes;
}

}  // namespace tilecast::host
