#include "host/program_bench.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "host/c_scalar.h"
#include "host/run_kernels.h"
#include "host/timing_arrays.h"
#include "host/workloads.h"
#include "ir/literal.h"
#include "ir/op_hash.h"

namespace tilecast::host {
namespace {

using ir::DType;

// Inputs are seeded by their role in the program, so that every configuration gets the same data.
std::vector<std::byte> input_bytes(const ProgramInput& input, const ir::Module& module) {
  const ir::Instruction& instruction = module.entry_computation().at(input.instruction);
  ir::Hash128 hash;
  if (const auto* parameter = instruction.get<ir::ParameterAttrs>()) {
    hash.add(static_cast<std::uint64_t>(parameter->number));
    hash.add(std::uint64_t{input.leaf});
  } else {
    hash.add(instruction.name);
  }
  const auto bytes = static_cast<std::size_t>(host_bytes(input.shape));
  const auto width = static_cast<std::size_t>(bytes_of(storage_type(input.shape.dtype)));
  return valid_elements(input.shape.dtype, bytes / width, hash.result()[0]);
}

template <class T>
double number_at(std::span<const std::byte> bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

double element(DType dtype, std::span<const std::byte> bytes, std::size_t i) {
  if (dtype == DType::kF32) return number_at<float>(bytes, i);
  if (dtype == DType::kF64) return number_at<double>(bytes, i);
  std::uint64_t pattern = 0;
  const auto width = static_cast<std::size_t>(bytes_of(storage_type(dtype)));
  std::memcpy(&pattern, bytes.data() + i * width, width);
  if (is_half(dtype)) return ir::from_bits(pattern, dtype);
  const int unused = 64 - 8 * static_cast<int>(width);  // for sign extension
  return static_cast<double>(static_cast<std::int64_t>(pattern << unused) >> unused);
}

}  // namespace

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-9;
    case DType::kF32:
      return 2e-4;
    case DType::kF16:
      return 2e-2;
    case DType::kBF16:
      return 1e-1;
    default:
      return 0;
  }
}

std::string disagreement(const ir::Shape& shape, std::span<const std::byte> got,
                         std::span<const std::byte> expected) {
  const auto width = static_cast<std::size_t>(bytes_of(storage_type(shape.dtype)));
  if (got.size() != expected.size()) return "another size";
  const std::size_t count = got.size() / width;
  double squares = 0;
  std::size_t finite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = element(shape.dtype, expected, i);
    if (!std::isfinite(value)) continue;
    squares += value * value;
    ++finite;
  }
  const double size = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double a = element(shape.dtype, got, i), b = element(shape.dtype, expected, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double allowed = tolerance(shape.dtype) * (size + std::abs(b));
    if (std::abs(a - b) <= allowed) continue;
    return fmt::format("element {}: got {:.6g}, expected {:.6g}", i, a, b);
  }
  return {};
}

ProgramBench::ProgramBench(const hwdesc::Device& device, Bench bench, const TimingOptions& timing)
    : device_(device), bench_(std::move(bench)), timing_(timing) {}

void ProgramBench::compile_parts(std::span<const std::pair<std::size_t, CProgram>> programs,
                                 int jobs) {
  std::vector<std::string> names, sources;
  for (const auto& [index, program] : programs) {
    for (const PartKernel& part : program.parts) {
      if (!parts_.try_emplace(part.code.function).second) continue;
      names.push_back(part.code.function);
      sources.push_back(part_source(part));
    }
  }
  std::vector<Compilation> made = bench_.compile(sources, jobs);
  for (std::size_t i = 0; i < names.size(); ++i) parts_[names[i]] = std::move(made[i]);
}

std::vector<ProgramBench::Built> ProgramBench::build(std::span<const BenchProgram> programs,
                                                     std::span<const ir::Module> laid_out, int jobs,
                                                     std::vector<ProgramRun>& runs) {
  std::vector<std::pair<std::size_t, CProgram>> made;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    auto program = make_c_program(laid_out[i], device_,
                                  {.generate = bench_.generate, .tile = programs[i].tile});
    if (const auto* problem = std::get_if<Unsupported>(&program)) {
      runs[i].failure = "unsupported: " + problem->reason;
    } else {
      made.emplace_back(i, std::get<CProgram>(std::move(program)));
    }
  }
  compile_parts(made, jobs);
  std::vector<LinkedSource> callers;
  for (const auto& [index, program] : made) {
    LinkedSource& caller = callers.emplace_back(LinkedSource{program.caller, {}});
    for (const PartKernel& part : program.parts) {
      const Compilation& compiled = parts_.at(part.code.function);
      if (compiled.library) caller.libraries.push_back(compiled.library->path());
      if (!compiled.library) runs[index].failure = "compile error: " + compiled.error;
    }
  }
  std::vector<Compilation> linked = bench_.link(callers, jobs);
  std::vector<Built> built;
  for (std::size_t i = 0; i < made.size(); ++i) {
    std::string& failure = runs[made[i].first].failure;
    if (!linked[i].library && failure.empty()) failure = "compile error: " + linked[i].error;
    if (!failure.empty()) continue;
    built.push_back({made[i].first, std::move(made[i].second), std::move(*linked[i].library)});
  }
  return built;
}

std::string ProgramBench::check(const std::string& name, const ir::Module& module,
                                const Built& built) {
  std::vector<std::vector<std::byte>> inputs, outputs;
  for (const ProgramInput& input : built.program.inputs)
    inputs.push_back(input_bytes(input, module));
  try {
    outputs = run_once(built.library.path(), whole_job(built.program), inputs, timing_.timeout);
  } catch (const Error& error) {
    return fmt::format("crash: {}", error.what());
  }
  if (reference_.empty() || name != referenced_) {
    reference_ = std::move(outputs);
    referenced_ = name;
    return {};
  }
  if (outputs.size() != reference_.size()) return "wrong result: another number of results";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string fault = disagreement(built.program.outputs[i], outputs[i], reference_[i]);
    if (!fault.empty()) return fmt::format("wrong result {}: {}", i, fault);
  }
  return {};
}

std::vector<ProgramRun> ProgramBench::run(std::span<const BenchProgram> programs, int jobs) {
  std::vector<ir::Module> laid;
  for (const BenchProgram& program : programs) laid.push_back(laid_out(program.module, device_));
  std::vector<ProgramRun> runs(programs.size());
  std::vector<Built> built = build(programs, laid, jobs, runs);
  std::erase_if(built, [&](const Built& one) {
    runs[one.index].failure = check(programs[one.index].name, laid[one.index], one);
    return !runs[one.index].failure.empty();
  });
  std::vector<RunJob> work;
  for (const Built& one : built) {
    work.push_back(whole_job(one.program));
    work.back().library = one.library.path();
  }
  if (work.empty()) return runs;
  bench_.run(work.front().library, work, timing_, [&](std::size_t job, const RunOutcome& outcome) {
    ProgramRun& run = runs[built[job].index];
    if (outcome.status == RunStatus::kTimed || outcome.status == RunStatus::kUnstable) {
      run.timing = outcome.timing;
    } else {
      run.failure = fmt::format("{}: {}", reason(outcome.status), outcome.message);
    }
    return true;
  });
  return runs;
}

}  // namespace tilecast::host
