#include "host/machine_code.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/text.h"
#include "host/child_command.h"
#include "measured/importers/json_records.h"

namespace tilecast::host {
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
  for (const auto& [path, text, is_text] : record) {
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
