// Memory for timed functions: many copies of a job's arrays, used in rotation.
//
//   ArrayPools pools(cold_bytes(core));
//   Arrays arrays = pools.place(job, CacheState::kCold);
//   arrays.call(function);            // one call; the next one gets the next copies
//
// Inputs hold valid numbers: floats uniform in [0.25, 1.25) (no denormals, no overflow after a few
// products), integers 0..7 (valid indices), pred 0 or 1. One pool per element type is filled once
// for all jobs and then made read-only: a function that writes to its input crashes. Outputs have a
// separate pool, so that no job reads another's results. Scratch is the same memory at every call,
// like a core's scratchpad.
//
// Arrays are aligned to 64 bytes. Pools request huge pages: with 4 KiB pages, L2 conflicts depend
// on the physical pages that the system chose, and a kernel's time varies between processes. Copies
// are an odd number of lines apart and not visited in address order, to avoid patterns in cache
// sets and prefetchers that a real program would not have. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "host/run_kernels.h"
#include "hwdesc/units.h"
#include "ir/dtype.h"

namespace tilecast::host {

using KernelFunction = void (*)(const void* const* in, void* const* out, void* scratch);

// Zeroed memory mapped from the system; null if there is none. Protection and flags as in mmap(2).
struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* memory) const;
};
using MappedMemory = std::unique_ptr<void, Unmap>;
[[nodiscard]] MappedMemory mapped_memory(std::size_t bytes, int protection, int flags);

// Memory on huge pages if available.
class Mapping {
 public:
  Mapping() = default;
  explicit Mapping(std::size_t bytes);  // throws Error if there is not enough memory
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  MappedMemory base_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Locations of the copies of one job's arrays.
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
  // A cold job touches at least `cold` bytes before it reuses a copy. `jobs`: all jobs that will be
  // placed.
  ArrayPools(std::size_t cold, std::span<const RunJob> jobs, CacheState state);
  // Valid as long as the pools. Throws Error if there is not enough memory.
  [[nodiscard]] Arrays place(const RunJob& job);
  // Evicts the last job's data from the caches by reading memory that no job uses.
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

// Eight times the last-level cache of `core` as reported by the system; at most 512 MiB and a
// sixteenth of the memory, at least 64 MiB. Twice is not enough: scan-resistant replacement
// policies keep a large part of the data.
[[nodiscard]] std::size_t cold_bytes(int core);

// Bytes of `count` valid elements (see above), generated from `seed`.
[[nodiscard]] std::vector<std::byte> valid_elements(ir::DType dtype, std::size_t count,
                                                    std::uint64_t seed);

}  // namespace tilecast::host
