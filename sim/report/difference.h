// The difference of two simulations, attributed kernel by kernel and resource by resource.
//
//   Difference d = difference(before, after);
//   d.change_s()                     // after - before; negative: faster
//   d.pairs.front()                  // the kernel in which most changed
//   d.resources, d.classes           // each adds up to the same change
//
// Kernels are paired by what they compute and their name, then by what they compute in program
// order, then by name and opcode (devices of other layouts, another shape); what is left was added
// or removed. A kernel's time is all its launches'.
//
// Resources: time that a kernel gains counts for the resource that holds it up after (that is what
// got worse), time that it loses for the one that held it up before (that is what was relieved).
// Each kernel counts once, so that every attribution adds up to the whole. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/results.h"

namespace tilecast::sim::report {

enum class PairedBy { kContent, kName, kNothing };  // nothing: only one of the two runs has it
[[nodiscard]] std::string_view name(PairedBy by);   // "content", "name", "nothing"

struct KernelPair {
  std::optional<std::size_t> before, after;  // into kernels; at least one
  PairedBy by = PairedBy::kNothing;
  double change_s = 0;
  double launches_s = 0;  // of it, by other numbers of launches at the time before
  std::string resource;   // what the change counts for; "skipped": a kernel without a model
};

struct ChangeShare {
  std::string name;
  double before_s = 0, after_s = 0;  // time of the kernels that it held up (or of the class)
  double change_s = 0;               // attributed
};

struct Difference {
  double before_s = 0, after_s = 0;
  std::vector<KernelPair> pairs;       // by |change|
  std::vector<ChangeShare> resources;  // by |change|
  std::vector<ChangeShare> classes;    // by |change|; a kernel that changed its class is in both
  [[nodiscard]] double change_s() const { return after_s - before_s; }
};

[[nodiscard]] Difference difference(const SimulationResult& before, const SimulationResult& after);

}  // namespace tilecast::sim::report
