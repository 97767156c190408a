// Compares times of the same work: models on devices, the compiler's own estimates, measurements.
//
//   Comparison c = compare({.sides = ..., .groups = {"prog"}, .rows = ...}, {.reference = "m"});
//   lost(c, c.rows[0], 1)    // of the largest difference: (side 1 - reference) x launches
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/estimate.h"
#include "measured/importers/xplane.h"
#include "sim/difference.h"

namespace tilecast::sim {

// Only with profiles: what they say of a row besides its time, and Tilecast's counts, per launch.
struct ProfileCounts {
  std::string category;  // as in the profile ("convolution fusion"); else the op class
  Seconds median;        // per launch
  std::optional<double> flops, bytes, profile_flops, profile_bytes;
  std::optional<measured::XplaneLaunch> launch = {};  // of its longest kernel on a GPU
};

struct ProfileProgram {  // runs of one module; predicted: of one run, with copies overlapping
  std::size_t group = 0;
  double runs = 0;  // on all cores
  Seconds total, median;
  std::vector<std::optional<Seconds>> predicted;  // by side
};

struct ProfileLeftOver {
  std::string category;
  double events = 0;
  Seconds time;
};

struct ProfileSummary {
  std::string file, device;  // device: the profile's name for it
  std::string guess;         // why this preset; empty if the user chose it
  std::string next;          // command that calibrates the device with this profile, if any
  // Of all cores; joined: in instructions, memsets and copies, or operators with shapes.
  Seconds device_time, joined, step_median;
  double steps = 0;
  std::vector<ProfileProgram> programs;    // most time first; empty: rows are operators
  std::vector<ProfileLeftOver> left_over;  // device time without a row; most first
};

struct CompareSide {
  enum class Kind { kModel, kCompiler, kMeasured };
  std::string name;  // unique; used by --reference and --sort
  Kind kind = Kind::kModel;
  std::string model = {}, device = {};  // model: empty unless kModel
  std::optional<std::size_t> own = {};  // the side measured on this model's machine
};
[[nodiscard]] std::string_view name(CompareSide::Kind kind);  // "model", "compiler", "measured"

struct CompareCell {
  Seconds time;  // per launch; >= 0, finite
  std::optional<analytical::Bound> bound = {};
  std::optional<analytical::Correction> correction = {};  // its interval is for `time`
  std::optional<Joules> energy = {};  // per launch, with idle power; only models of programs
  Seconds spread = {};                // of measured runs; 0: not known
  bool opaque = false;                // the call's code is not in the program: bytes only
};

struct CompareRow {
  std::size_t group = 0;  // into Comparison::groups
  std::string name, op_class, tile;
  double launches = 1;
  int line = 0;           // in measurements.csv; 0: a kernel of a program
  bool overlaps = false;  // a transfer beside other rows, or idle: in no total
  std::optional<ProfileCounts> profile = {};
  std::vector<std::optional<CompareCell>> cells = {};  // by side; nullopt: no value
};

// One side over the rows of a group, or over all rows. Times are x launches.
struct SideTotal {
  std::size_t rows = 0;              // rows with a time of this side
  Seconds time;                      // of these rows
  std::size_t shared = 0;            // rows with a time of its reference, too
  Seconds shared_time, reference;    // of the shared rows: this side, its reference
  Seconds lost;                      // sum of |this side - reference|
  std::optional<double> median_ape;  // over shared rows: |this side / reference - 1|
  std::optional<Joules> energy;      // of these rows; nullopt if one has none

  [[nodiscard]] Seconds difference() const { return shared_time - reference; }
};

struct LostTotal {  // shared rows; times as in SideTotal
  std::size_t rows = 0;
  Seconds time, reference, lost;
};
struct BoundTotal : LostTotal {  // for which a model says that `bound` limits them
  analytical::Bound bound = analytical::Bound::kOverhead;
};
struct CategoryTotal : LostTotal {  // of a profile, for the side that orders the rows
  std::string category;
};

struct CompareGroup {  // a program, or a measurement set
  std::string name, file;
  std::size_t rows = 0;
  std::vector<std::optional<Seconds>> whole = {};  // by side: measured run of the whole group
  std::vector<SideTotal> totals = {};              // by side; filled by compare()
};

struct Unmatched {  // a measured row without a kernel in the programs
  std::string set, name;
  int line = 0;
  Seconds time = {};
};

struct Comparison {
  std::optional<ProfileSummary> profile = {};
  std::optional<Difference> difference = {};  // of two runs of models; only programs
  std::vector<CompareSide> sides;
  std::vector<CompareGroup> groups;
  std::vector<CompareRow> rows;  // by |lost|, rows without a reference last
  std::vector<Unmatched> unmatched;
  std::vector<std::string> notes;
  // Filled by compare():
  std::size_t reference = 0;                    // into sides
  std::vector<std::size_t> references;          // by side: the side it is compared with
  std::size_t sorted_by = 0;                    // into sides
  std::vector<SideTotal> totals;                // by side, all groups together
  std::vector<std::vector<BoundTotal>> blamed;  // by side; most lost first; models only
  std::vector<CategoryTotal> categories;        // of a profile; most lost first
};

struct CompareOptions {
  // The side to compare with. "": for models the measurements on their machine, for others the
  // first measured side that shares rows, or the first side if nothing is measured.
  std::string reference;
  std::string sort;  // side whose loss orders the rows; "": the first that is not the reference
};

// Chooses the reference, adds totals and orders the rows by |lost| of the side options.sort; a row
// without it is ordered by the next side that has a time. UsageError for an unknown side.
[[nodiscard]] Comparison compare(Comparison inputs, const CompareOptions& options = {});

// (side - its reference) x launches; nullopt if either is missing.
[[nodiscard]] std::optional<Seconds> lost(const Comparison& comparison, const CompareRow& row,
                                          std::size_t side);
// side / its reference - 1; nullopt also where the reference is 0.
[[nodiscard]] std::optional<double> relative(const Comparison& comparison, const CompareRow& row,
                                             std::size_t side);

}  // namespace tilecast::sim
