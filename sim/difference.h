// The difference of two runs: two programs, or one on two devices or settings, by resource and by
// kernel (by scope: sim/scopes.h). Each list adds up to the whole difference.
//
//   Difference d = difference({placed_a, "tpu_v3"}, {placed_b, "tpu_v4"}, model);
//   for (const ResourceChange& one : d.resources) ...   // one.after - one.before
//
// Throws Error as simulate() does; kernels without an estimate take no time and are noted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/answers.h"

namespace tilecast::sim {

struct DifferenceSide {
  const PlacedProgram& placed;
  std::string label;  // what the side is called: the device, the setting or the program
};

struct Change {
  Seconds before, after;  // of all launches
  [[nodiscard]] Seconds change() const { return after - before; }
};

struct ResourceChange : Change {
  std::string name;  // of the bound (analytical/estimate.h), or "host_launches"
};

// A kernel of one run, or of both: those that compute the same are paired, then those of one
// opcode with the same name of the framework, then with the same name.
struct KernelChange : Change {
  std::optional<std::size_t> was, is;  // into the kernels of before and after
  analytical::BoundVector by = {};     // after - before of each resource; sums to change()
};

struct Difference {
  Simulation before, after;
  std::string before_label, after_label;
  std::vector<ResourceChange> resources;  // the largest change first; with time in either run
  std::vector<KernelChange> kernels;      // the largest change first
};

// A kernel's time is split by what each resource adds to it (analytical/accounting.h), as `explain`
// does; where a model corrects the time, every part by the same factor.
[[nodiscard]] Difference difference(const DifferenceSide& before, const DifferenceSide& after,
                                    const ChosenModel& model, int jobs = 1);

}  // namespace tilecast::sim
