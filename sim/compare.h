// Times of the same work side by side: models on devices, the compiler's own estimates,
// measurements; where the microseconds go between them, and the bound that each model blames.
//
//   Comparison c = compare({.sides = ..., .groups = {"prog"}, .rows = ...}, {.reference = "m"});
//   c.rows.front()           // the row in which most is lost
//   lost(c, c.rows[0], 1)    // (side 1 - reference) x launches
//
// Here is arithmetic only; sim/compare_inputs.h makes the rows. Pure values, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/estimate.h"
#include "hwdesc/units.h"
#include "sim/profile_summary.h"

namespace tilecast::sim {

struct CompareSide {
  enum class Kind { kModel, kCompiler, kMeasured };
  std::string name;  // unique: what --reference and --sort call it
  Kind kind = Kind::kModel;
  std::string model = {}, device = {};  // model: empty unless kModel
  std::optional<std::size_t> own = {};  // the side that was measured on this model's machine
};
[[nodiscard]] std::string_view name(CompareSide::Kind kind);  // "model", "compiler", "measured"

struct CompareCell {
  Seconds time;  // of one launch; positive or zero, finite
  std::optional<analytical::Bound> bound = {};
  std::optional<analytical::Correction> correction = {};  // its interval is of `time`
  std::optional<Joules> energy = {};  // of one launch, idle power too; models of programs
  bool opaque = false;                // a call whose code is not in the program: its bytes only
};

struct CompareRow {
  std::size_t group = 0;  // into Comparison::groups
  std::string name, op_class, tile;
  double launches = 1;
  int line = 0;           // of measurements.csv; 0: a program's kernel
  bool overlaps = false;  // a transfer beside other rows, time between them: part of no total
  std::optional<ProfileCounts> profile = {};
  std::vector<std::optional<CompareCell>> cells = {};  // by side; nullopt: it says nothing
};

// One side over the rows of a group, or over all rows. Times are x launches.
struct SideTotal {
  std::size_t rows = 0;              // that it has a time for
  Seconds time;                      // of those
  std::size_t shared = 0;            // rows that its reference has, too
  Seconds shared_time, reference;    // of those, by this side and by the reference
  Seconds lost;                      // sum of |this side - reference|
  std::optional<double> median_ape;  // of shared rows: |this side / reference - 1|
  std::optional<Joules> energy;      // of all these rows; nullopt where one does not say

  [[nodiscard]] Seconds difference() const { return shared_time - reference; }
};

// What a model blames: the shared rows whose bound, as it says, is `bound`.
struct BoundTotal {
  analytical::Bound bound = analytical::Bound::kOverhead;
  std::size_t rows = 0;
  Seconds time, reference, lost;  // as in SideTotal
};

// The shared rows of one category of a profile, by the side that orders the rows.
struct CategoryTotal {
  std::string category;
  std::size_t rows = 0;
  Seconds time, reference, lost;  // as in SideTotal
};

struct CompareGroup {  // a program, or a measurement set
  std::string name, file;
  std::size_t rows = 0;
  std::vector<std::optional<Seconds>> whole = {};  // by side: a run of the whole group, measured
  std::vector<SideTotal> totals = {};              // by side; filled by compare()
};

struct Unmatched {  // measured, but no kernel of the programs
  std::string set, name;
  int line = 0;
  Seconds time = {};
};

struct Comparison {
  std::optional<ProfileSummary> profile = {};
  std::vector<CompareSide> sides;
  std::vector<CompareGroup> groups;
  std::vector<CompareRow> rows;  // by microseconds lost, rows without a reference last
  std::vector<Unmatched> unmatched;
  std::vector<std::string> notes;
  // Filled by compare():
  std::size_t reference = 0;                    // into sides
  std::vector<std::size_t> references;          // by side: what it is held against
  std::size_t sorted_by = 0;                    // into sides
  std::vector<SideTotal> totals;                // by side, all groups together
  std::vector<std::vector<BoundTotal>> blamed;  // by side; most lost first; models only
  std::vector<CategoryTotal> categories;        // of a profile; most lost first
};

struct CompareOptions {
  // A side that all others are held against. "": models are held against what was measured on
  // their machine, and all else against the first measured side that shares a row with another
  // one; where nothing is measured, against the first side.
  std::string reference;
  std::string sort;  // side whose loss orders the rows; "": the first besides the reference
};

// Chooses the reference, adds totals, orders the rows: by |lost| of the side asked for, where it
// has no time by that of the next one that has. UsageError for an unknown side.
[[nodiscard]] Comparison compare(Comparison inputs, const CompareOptions& options = {});

// (side - its reference) x launches; nullopt where one of them is missing.
[[nodiscard]] std::optional<Seconds> lost(const Comparison& comparison, const CompareRow& row,
                                          std::size_t side);
// side / its reference - 1; nullopt also where the reference is 0.
[[nodiscard]] std::optional<double> relative(const Comparison& comparison, const CompareRow& row,
                                             std::size_t side);

}  // namespace tilecast::sim
