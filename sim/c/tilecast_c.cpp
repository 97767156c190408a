#include <fmt/format.h>

#include <limits>
#include <memory>
#include <new>
#include <optional>

#include "base/error.h"
#include "ir/load_program.h"
#include "sim/answers.h"
#include "sim/c/tilecast.h"

struct tilecast_error {
  std::string message;
  tilecast::sim::ErrorPlace place;
};
struct tilecast_device {
  tilecast::hwdesc::Device device;
};
struct tilecast_program {
  tilecast::sim::PlacedProgram placed;
};
struct tilecast_model {
  tilecast::sim::ChosenModel chosen;
};

namespace {

using tilecast::Error;

void report(tilecast_error** error, const char* message) noexcept {
  if (error == nullptr) return;
  *error = nullptr;
  try {
    *error = new tilecast_error{message, tilecast::sim::error_place(message)};
  } catch (...) {  // no memory for the message: fails without one
  }
}

// Wraps every call so that no exception escapes: returns the result, or `failed` and sets *error.
template <class Answer, class Function>
Answer guarded(tilecast_error** error, Answer failed, const Function& function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    report(error, "out of memory");
  } catch (const std::exception& thrown) {
    report(error, thrown.what());
  } catch (...) {
    report(error, "unknown failure");
  }
  return failed;
}

template <class T>
const T& needed(const T* pointer, const char* what) {
  if (pointer == nullptr) throw Error("{}: got null", what);
  return *pointer;
}

const tilecast::ir::ScheduledKernel* kernel_at(const tilecast_program* program, size_t kernel) {
  if (program == nullptr) return nullptr;
  const auto kernels = program->placed.built.program.kernels();
  return kernel < kernels.size() ? &kernels[kernel] : nullptr;
}

tilecast::ir::Dims row_of(const int64_t* values, size_t rank, size_t row) {
  tilecast::ir::Dims dims;
  for (size_t i = 0; i < rank; ++i) dims.push_back(values[row * rank + i]);
  return dims;
}

void check_tiles(const tilecast_tiles& tiles) {
  constexpr size_t kMostDimensions = 64;
  if (tiles.output_rank > kMostDimensions || tiles.kernel_rank > kMostDimensions) {
    throw Error("tiles: got {} and {} dimensions, expected at most {}", tiles.output_rank,
                tiles.kernel_rank, kMostDimensions);
  }
  if (tiles.count == 0) return;
  if (tiles.output_rank > 0) needed(tiles.output, "tiles.output");
  if (tiles.kernel_rank > 0) needed(tiles.kernel, "tiles.kernel");
}

// A number that says how a block is written, from its array; 0: the device's default.
int written(const int32_t* values, size_t row, const char* what) {
  constexpr int kMost = 1024;
  if (values == nullptr) return 0;
  if (values[row] < 0 || values[row] > kMost) {
    throw Error("tiles.{}: row {}: got {}, expected 0 to {}", what, row, values[row], kMost);
  }
  return values[row];
}

std::vector<tilecast::analytical::TileConfig> tiles_of(const tilecast_tiles& tiles) {
  check_tiles(tiles);
  std::vector<tilecast::analytical::TileConfig> result(tiles.count);
  for (size_t row = 0; row < tiles.count; ++row) {
    result[row].output = row_of(tiles.output, tiles.output_rank, row);
    result[row].kernel = row_of(tiles.kernel, tiles.kernel_rank, row);
    result[row].stages = written(tiles.stages, row, "stages");
    result[row].warps = written(tiles.warps, row, "warps");
  }
  return result;
}

tilecast_program* placed_on(tilecast::ir::LoadedModule loaded, const tilecast_device* device) {
  return new tilecast_program{
      tilecast::sim::place(std::move(loaded), needed(device, "device").device, {})};
}

}  // namespace

int tilecast_abi_version(void) {
  return TILECAST_ABI_VERSION;
}

const char* tilecast_error_message(const tilecast_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}
const char* tilecast_error_file(const tilecast_error* error) {
  return error == nullptr ? "" : error->place.file.c_str();
}
int tilecast_error_line(const tilecast_error* error) {
  return error == nullptr ? 0 : error->place.line;
}
int tilecast_error_column(const tilecast_error* error) {
  return error == nullptr ? 0 : error->place.column;
}
void tilecast_error_free(tilecast_error* error) {
  delete error;
}

tilecast_device* tilecast_device_load(const char* name_or_path, const char* const* set,
                                      size_t count, tilecast_error** error) {
  return guarded(error, static_cast<tilecast_device*>(nullptr), [&] {
    std::vector<std::string> changes;
    for (size_t i = 0; i < count; ++i) {
      needed(set, "set");
      changes.emplace_back(&needed(set[i], "set"));
    }
    return new tilecast_device{tilecast::hwdesc::load_device(
        &needed(name_or_path, "name_or_path"), tilecast::sim::device_overrides(changes))};
  });
}
const char* tilecast_device_name(const tilecast_device* device) {
  return device == nullptr ? "" : device->device.name.c_str();
}
void tilecast_device_free(tilecast_device* device) {
  delete device;
}

tilecast_program* tilecast_program_load(const char* path, const tilecast_device* device,
                                        tilecast_error** error) {
  return guarded(error, static_cast<tilecast_program*>(nullptr), [&] {
    return placed_on(tilecast::ir::load_module(std::string(&needed(path, "path")), {}), device);
  });
}
tilecast_program* tilecast_program_parse(const char* bytes, size_t size, const char* name,
                                         const tilecast_device* device, tilecast_error** error) {
  return guarded(error, static_cast<tilecast_program*>(nullptr), [&] {
    tilecast::base::SourceText text(&needed(name, "name"),
                                    std::string(&needed(bytes, "bytes"), size));
    return placed_on(tilecast::ir::load_module(std::move(text), {}), device);
  });
}
size_t tilecast_program_kernels(const tilecast_program* program) {
  return program == nullptr ? 0 : program->placed.built.program.kernels().size();
}
const char* tilecast_kernel_name(const tilecast_program* program, size_t kernel) {
  const auto* found = kernel_at(program, kernel);
  return found == nullptr ? nullptr : found->kernel.name().c_str();
}
double tilecast_kernel_launches(const tilecast_program* program, size_t kernel) {
  const auto* found = kernel_at(program, kernel);
  return found == nullptr ? 0 : found->multiplicity;
}
void tilecast_program_free(tilecast_program* program) {
  delete program;
}

tilecast_model* tilecast_model_load(const char* name, const tilecast_device* device,
                                    tilecast_error** error) {
  return guarded(error, static_cast<tilecast_model*>(nullptr), [&] {
    return new tilecast_model{
        tilecast::sim::choose_model(&needed(name, "name"), {&needed(device, "device").device, 1})};
  });
}
void tilecast_model_free(tilecast_model* model) {
  delete model;
}

int tilecast_simulate(const tilecast_program* program, const tilecast_model* model,
                      tilecast_times* times, tilecast_error** error) {
  return guarded(error, 0, [&] {
    needed(times, "times");
    const tilecast::sim::Simulation run =
        tilecast::sim::simulate(needed(program, "program").placed, needed(model, "model").chosen);
    *times = {run.time.value, run.timeline.value, run.host_dispatch.value};
    return 1;
  });
}

int tilecast_kernel_times(const tilecast_program* program, const tilecast_model* model,
                          double* seconds, tilecast_error** error) {
  return guarded(error, 0, [&] {
    const tilecast::sim::PlacedProgram& placed = needed(program, "program").placed;
    std::vector<tilecast::analytical::KernelQuery> queries;
    for (const auto& scheduled : placed.built.program.kernels()) {
      queries.push_back({scheduled.kernel});
    }
    const auto answers = needed(model, "model").chosen.model->estimate(queries, placed.device);
    if (!answers.empty()) needed(seconds, "seconds");
    for (size_t i = 0; i < answers.size(); ++i) {
      seconds[i] = answers[i] ? answers[i]->time.value : std::numeric_limits<double>::quiet_NaN();
    }
    return 1;
  });
}

int tilecast_tile_times(const tilecast_program* program, size_t kernel, const tilecast_model* model,
                        const tilecast_tiles* tiles, double* seconds, tilecast_error** error) {
  return guarded(error, 0, [&] {
    const auto& asked = needed(tiles, "tiles");
    const tilecast::sim::PlacedProgram& placed = needed(program, "program").placed;
    const auto* found = kernel_at(program, kernel);
    if (found == nullptr) {
      throw Error("{}: got kernel {}, expected one below {}", placed.file, kernel,
                  placed.built.program.kernels().size());
    }
    const std::vector<double> times = tilecast::sim::tile_times_s(
        found->kernel, placed.device, needed(model, "model").chosen, tiles_of(asked));
    if (!times.empty()) needed(seconds, "seconds");
    std::copy(times.begin(), times.end(), seconds);
    return 1;
  });
}
