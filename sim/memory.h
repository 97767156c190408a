// Whether a program fits into the main memory of a device: the peak of ir/memory/memory_use.h
// against the capacity of one instance. The program's own code and what a runtime reserves are not
// counted. Pure; thread-safe.
#pragma once

#include "hwdesc/device.h"
#include "ir/program.h"
#include "measured/csv.h"

namespace tilecast::sim {

struct ProgramMemory {
  ir::MemorySplit peak;     // bytes at the worst point
  double outputs = 0;       // bytes of all outputs, made at the peak or not
  double aliased = 0;       // of them in an argument's place
  std::string at;           // instruction that runs at the peak
  std::size_t unsized = 0;  // arrays of unbounded size, which count nothing
  Bytes capacity;           // of main memory

  [[nodiscard]] bool fits() const { return peak.total() <= capacity.value; }
  [[nodiscard]] double spare() const { return capacity.value - peak.total(); }  // < 0: lacks it
};

[[nodiscard]] ProgramMemory program_memory(const ir::Program& program,
                                           const hwdesc::Device& device);
// What lies in memory at the peak, a row per array, largest first: columns file, at, buffer,
// computation, kind, shape, bytes, share (of the peak), made_at and last_read_at.
[[nodiscard]] measured::CsvTable memory_list(const ir::Program& program, const std::string& file);

}  // namespace tilecast::sim
