// A whole program as C: its kernels' functions, and one that calls them in schedule order.
//
//   auto result = make_c_program(module, device);
//   if (const auto* p = std::get_if<CProgram>(&result)) ...  // compile part_source(), link
//   p->caller run_kernels(library, {{whole_job(*p)}}, ...);
//
// The module must be fused and laid out; its entry may only launch kernels that generate_c() can
// write (no loops, branches, calls, collectives). A kernel uses its given tile, else the one that
// the analytical model chooses for the device. If the generator cannot apply a chosen tile, the
// kernel is left uncut; if it cannot apply a given tile, the program is Unsupported. Instructions
// such as tuples and bitcasts generate no code; they only rename arrays. Intermediate arrays are in
// a heap whose space is reused after the last read, results in the caller's memory. Constant arrays
// are inputs too, after the parameters, since a runtime also keeps them in memory. Equal kernels
// share one function. Functions are called, not inlined, so that a kernel has the same code alone
// and in the program. Thread-safe and deterministic.
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
  ir::Kernel kernel;  // the first launched of a group of equal kernels
  analytical::TileConfig tile;
  CKernel code;  // without the prelude; its function is named after the code
};

struct CProgram {
  std::string caller;    // C source that declares the parts' functions and calls them
  std::string function;  // its name: void f(const void* const* in, void* const* out, void* scratch)
  std::vector<ProgramInput> inputs;
  std::vector<ir::Shape> outputs;
  std::int64_t scratch_bytes = 0;  // the kernels' scratch, followed by the heap
  std::int64_t heap_bytes = 0;
  std::vector<PartKernel> parts;
  std::vector<std::size_t> calls;  // parts, in execution order
};

using Generate = std::function<std::variant<CKernel, Unsupported>(
    const ir::Kernel&, const analytical::TileConfig&, const std::string& function)>;

// Returns the tile for a kernel; nullopt for the default one.
using GiveTile = std::function<std::optional<analytical::TileConfig>(const ir::Kernel&)>;

// The tile that the analytical model chooses; empty for kernels without tiles.
[[nodiscard]] analytical::TileConfig default_tile(const ir::Kernel& kernel,
                                                  const hwdesc::Device& device);

struct CProgramOptions {
  Generate generate = generate_c;
  GiveTile tile = [](const ir::Kernel&) { return std::nullopt; };
};

// Unsupported names the instruction and the generator's reason.
[[nodiscard]] std::variant<CProgram, Unsupported> make_c_program(
    const ir::Module& module, const hwdesc::Device& device, const CProgramOptions& options = {});

// Separately compiled parts link with the caller.
[[nodiscard]] std::string part_source(const PartKernel& part);

[[nodiscard]] RunJob whole_job(const CProgram& program);

}  // namespace tilecast::host
