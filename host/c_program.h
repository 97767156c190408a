// A whole program as one piece of C: its kernels' functions, and one that calls them in the order
// of the schedule. What a program takes can then be held against what its kernels take alone.
//
//   auto made = make_c_program(variant.program, device);
//   if (const auto* p = std::get_if<CProgram>(&made)) compile(whole_source(*p));
//   run_kernels(library, {{whole_job(*p), part_job(p->parts[0]), ...}}, ...);
//
// The module is fused and laid out; its entry launches kernels that generate_c() can write, and
// nothing else (no loops, branches, calls, collectives). A kernel has the tile it is given, else
// the one the analytical model chooses for the device; where the generator cannot cut it as that
// says, it is not cut (a given tile that cannot be cut is Unsupported). Instructions that take no
// time (tuples, bitcasts ...) cost nothing: they only say which array is meant. Arrays between
// kernels lie in a heap that is reused as soon as its last reader is done, results in the caller's
// memory. Constants that are arrays are inputs as well, after the parameters: a runtime has them in
// memory, too. Equal kernels share one function. The functions are called, not inlined, so that a
// kernel's code is the same alone and in the program. Thread-safe; same module and device, same
// text.
#pragma once

#include <functional>
#include <optional>
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
  CKernel code;  // without the prelude; its function is called by what the code is
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
  std::string caller;    // C: declares the parts' functions and calls them
  std::string function;  // of it: void f(const void* const* in, void* const* out, void* scratch)
  std::vector<ProgramInput> inputs;
  std::vector<ir::Shape> outputs;
  std::int64_t scratch_bytes = 0;  // of the kernels, and the heap behind it
  std::int64_t heap_bytes = 0;
  std::vector<PartKernel> parts;
  std::vector<PartCall> calls;  // in the order they run
};

using Generate = std::function<std::variant<CKernel, Unsupported>(
    const ir::Kernel&, const analytical::TileConfig&, const std::string& function)>;

// The tile to give a kernel, or nothing.
using GiveTile = std::function<std::optional<analytical::TileConfig>(const ir::Kernel&)>;

// What it has by default: physics' choice; empty for kernels without tiles.
[[nodiscard]] analytical::TileConfig default_tile(const ir::Kernel& kernel,
                                                  const hwdesc::Device& device);

struct CProgramOptions {
  Generate generate = generate_c;
  GiveTile tile = [](const ir::Kernel&) { return std::nullopt; };
};

// Unsupported names the instruction and what the generator said.
[[nodiscard]] std::variant<CProgram, Unsupported> make_c_program(
    const ir::Module& module, const hwdesc::Device& device, const CProgramOptions& options = {});

// All of it as one text, or a part alone, for who compiles parts once: caller and parts link.
[[nodiscard]] std::string whole_source(const CProgram& program);
[[nodiscard]] std::string part_source(const PartKernel& part);

[[nodiscard]] RunJob whole_job(const CProgram& program);
[[nodiscard]] RunJob part_job(const PartKernel& part);

}  // namespace tilecast::host
