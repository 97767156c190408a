// Whether a program fits into a device's main memory: compares the peak of ir/memory/memory_use.h
// with the capacity of one instance. Excludes program code and memory reserved by a runtime. Pure;
// thread-safe.
#pragma once

#include "hwdesc/device.h"
#include "ir/program.h"
#include "measured/csv.h"

namespace tilecast::sim {

struct ProgramMemory {
  ir::MemorySplit peak;     // bytes at the worst point
  double outputs = 0;       // bytes of all outputs, live at the peak or not
  double aliased = 0;       // the part that reuses an argument's memory
  std::string at;           // instruction that runs at the peak
  std::size_t unsized = 0;  // arrays of unbounded size, counted as 0 bytes
  Bytes capacity;           // of main memory

  [[nodiscard]] bool fits() const { return peak.total() <= capacity.value; }
  [[nodiscard]] double spare() const { return capacity.value - peak.total(); }  // < 0: too little
};

[[nodiscard]] ProgramMemory program_memory(const ir::Program& program,
                                           const hwdesc::Device& device);
// The arrays in memory at the peak, one row each, largest first: columns file, at, buffer,
// computation, kind, shape, bytes, share (of the peak), made_at and last_read_at.
[[nodiscard]] measured::CsvTable memory_list(const ir::Program& program, const std::string& file);

}  // namespace tilecast::sim
