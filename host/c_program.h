// A whole program as one piece of C: its kernels' functions, and one that calls them in the order
// of the schedule. What a program takes can then be held against what its kernels take alone.
//
//   auto made = make_c_program(variant.program, device);
//   if (const auto* p = std::get_if<CProgram>(&made)) compile(p->source);
//   run_kernels(library, {{whole_job(*p), part_job(p->parts[0]), ...}}, ...);
//
// The module is fused and laid out; its entry launches kernels that generate_c() can write, and
// nothing else (no loops, branches, calls, collectives). Each kernel has the tile the analytical
// model chooses for the device; where the generator cannot cut it so, it is not cut. Instructions
// that take no time (tuples, bitcasts ...) cost nothing: they only say which array is meant.
// Arrays between kernels lie in a heap that is reused as soon as its last reader is done, results
// in the caller's memory. Constants that are arrays are inputs as well, after the parameters: a
// runtime has them in memory, too. Equal kernels share one function. The functions are called, not
// inlined, so that a kernel's code is the same alone and in the program.
// Thread-safe; same module and device, same text.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "host/c_kernel.h"
#include "host/c_program_wiring.h"
#include "host/run_kernels.h"
#include "hwdesc/device.h"

namespace tilecast::host {

struct PartKernel {
  ir::Kernel kernel;  // the first one launched, of equal ones
  analytical::TileConfig tile;
  CKernel code;  // its source is part of the program's
  std::size_t launches = 1;
};

// Memory that a call reads or writes. Inputs lie one after the other, so do results; each begins a
// page (ArrayUse::kAlignment).
struct ArrayUse {
  enum class Memory : std::uint8_t { kInput, kOutput, kHeap };
  static constexpr std::int64_t kAlignment = 4096;
  Memory memory = Memory::kHeap;
  std::int64_t offset = 0, bytes = 0;
};

struct PartCall {
  std::size_t part = 0;
  std::vector<ArrayUse> uses;  // what it reads, then what it writes
};

struct CProgram {
  std::string source;    // prelude included
  std::string function;  // void f(const void* const* in, void* const* out, void* scratch)
  std::vector<ProgramInput> inputs;
  std::vector<ir::Shape> outputs;
  std::int64_t scratch_bytes = 0;  // of the kernels, and the heap behind it
  std::int64_t heap_bytes = 0;
  std::vector<PartKernel> parts;
  std::vector<PartCall> calls;  // in the order they run
};

using Generate = std::function<std::variant<CKernel, Unsupported>(
    const ir::Kernel&, const analytical::TileConfig&, const std::string& function)>;

// Unsupported names the instruction and what the generator said.
[[nodiscard]] std::variant<CProgram, Unsupported> make_c_program(
    const ir::Module& module, const hwdesc::Device& device, const Generate& generate = generate_c);

[[nodiscard]] RunJob whole_job(const CProgram& program);
[[nodiscard]] RunJob part_job(const PartKernel& part);

}  // namespace tilecast::host
