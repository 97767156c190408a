// The memory that timed functions work on: many copies of a job's arrays, visited in rotation.
//
//   ArrayPools pools(cold_bytes(core));
//   Arrays arrays = pools.place(job, CacheState::kCold);
//   arrays.call(function);            // one call; the next one gets the next copies
//
// Inputs hold valid numbers: floats uniform in [0.25, 1.25) (no denormals, no overflow after a few
// products), integers 0..7 (valid indices), pred 0 or 1. One pool per element type is filled once
// for all jobs and then read-only: a function that writes to its input crashes. Outputs have a pool
// of their own, so that what one job computes is not what the next one reads. Scratch is the same
// memory at every call, as a core's scratchpad is.
//
// Arrays begin at multiples of 64 bytes. Pools ask for huge pages: with 4 KiB pages the system's
// choice of physical pages decides which lines of a second-level cache collide, and the same kernel
// takes another time in another process. Copies are an odd number of lines apart and not visited in
// the order of addresses, so that neither cache sets nor prefetchers see a pattern a program would
// not have. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "host/run_kernels.h"
#include "hwdesc/units.h"
#include "ir/dtype.h"

namespace tilecast::host {

using KernelFunction = void (*)(const void* const* in, void* const* out, void* scratch);

// Memory straight from the system, zeroed, on huge pages where there are any.
class Mapping {
 public:
  Mapping() = default;
  explicit Mapping(std::size_t bytes);  // throws Error when memory is short
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void* base_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t base_size_ = 0, size_ = 0;
};

// Where the copies of one job's arrays lie.
class Arrays {
 public:
  void call(KernelFunction function);
  [[nodiscard]] std::size_t copies() const { return copies_; }

 private:
  friend class ArrayPools;
  struct Array {
    std::byte* first;
    std::size_t stride;
  };
  std::vector<Array> inputs_, outputs_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  void* scratch_ = nullptr;
  std::size_t copies_ = 1, step_ = 0, next_ = 0;
};

class ArrayPools {
 public:
  // `cold` bytes are passed over before a cold job meets the same copies again. `jobs`: all that
  // will be placed.
  ArrayPools(std::size_t cold, std::span<const RunJob> jobs, CacheState state);
  // Valid as long as this. Throws Error when there is not enough memory.
  [[nodiscard]] Arrays place(const RunJob& job);
  // Reads through memory that no job uses, so that the caches hold nothing of the last one.
  void evict();

 private:
  struct Pool {
    std::size_t reserve = 0;  // bytes that the largest job needs
    Mapping memory;
    std::size_t filled = 0;
  };
  struct Plan;
  [[nodiscard]] Plan plan(const RunJob& job) const;
  std::byte* memory(ir::DType dtype, std::size_t bytes);

  std::size_t cold_;
  CacheState state_;
  std::map<ir::DType, Pool> inputs_;
  Pool outputs_, scratch_, other_;
};

// Eight times the last-level cache of `core` as the system describes it, at most 512 MiB and a
// sixteenth of the memory, at least 64 MiB. Twice is not enough: replacement that resists streams
// keeps a good part of them.
[[nodiscard]] std::size_t cold_bytes(int core);

// `count` valid elements, as above, from `seed`.
[[nodiscard]] std::vector<std::byte> valid_elements(ir::DType dtype, std::size_t count,
                                                    std::uint64_t seed);

}  // namespace tilecast::host
