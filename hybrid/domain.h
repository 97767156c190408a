// Where a kernel stands beside those a correction was learned from, resource by resource.
//
//   Domain domain = Domain::of(examples, names);         // kernels and devices it knows
//   Position position = domain.locate(work_of(kernel, estimate), device);
//   position.distance[matrix]           // to the nearest known kernel that the matrix unit binds
//
// Each resource has its coordinates (hybrid/work.h), divided by their deviation among the known
// kernels (a floor keeps columns that hardly vary from deciding). Distance: root mean square over
// them, to the nearest kernel of which the resource has at least kLeastShare; a kernel of another
// device is farther by kOtherDevice (the root of the squares' sum). Of many kernels the
// kMostKernels that cover best are kept (farthest-point sampling over all coordinates; Gonzalez
// 1985): nothing known is farther from a kept one than Domain::covering(). Locating is thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hybrid/work.h"
#include "learned/training/examples.h"

namespace tilecast::hybrid {

inline constexpr float kLeastShare = 0.25F, kOtherDevice = 0.5F;

struct Position {
  PerResource shares{};    // of the kernel asked about
  PerResource distance{};  // infinite: no known kernel is bound by it
  double machine = 0;      // machine_distance() to a trained one; 0: trained, or one of its lineage
};

struct KnownKernel {
  std::string name;
  std::string device;
  Work work;  // shares: the most of any of its rows
};

class Domain {
 public:
  static constexpr std::size_t kMostKernels = 512;

  Domain() = default;  // knows nothing
  // Of the rows `examples` has priors for, a kernel once. `names`: by kernel
  // number. Deviations are of all kernels, whether kept or not.
  [[nodiscard]] static Domain of(const learned::Examples& examples,
                                 std::span<const std::string> names);
  // The same from work_of() of every row, where it is at hand.
  [[nodiscard]] static Domain of(const learned::Examples& examples, std::span<const Work> works,
                                 std::span<const std::string> names);

  // `device`: a name of devices(); of any other all kernels are another device's.
  [[nodiscard]] Position locate(const Work& work, const std::string& device) const;
  // The nearest ones by the resources that bind the kernel, nearest first, at most `count`.
  struct Neighbour {
    std::size_t kernel = 0;  // into kernels()
    double distance = 0;
  };
  [[nodiscard]] std::vector<Neighbour> nearest(const Work& work, std::size_t count) const;

  [[nodiscard]] const std::vector<KnownKernel>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<std::string>& kinds() const { return kinds_; }  // Work::kind
  [[nodiscard]] const std::vector<std::string>& devices() const { return devices_; }
  [[nodiscard]] double covering() const { return covering_; }

  // CSV. load() throws Error with file, line and column for anything else.
  [[nodiscard]] std::string save() const;
  [[nodiscard]] static Domain load(const std::string& text, const std::string& file);

 private:
  // Kernels that one resource binds: their scaled coordinates, coordinate by coordinate.
  struct Bound {
    std::vector<std::uint32_t> kernels;
    std::vector<std::uint8_t> other_devices;  // by device, by kernel: 1 where it is of another
    std::vector<float> scaled;
  };
  void index_kernels();  // bound_ from kernels_
  void keep_covering();
  // Mean squares over the coordinates about `resource`, by Bound::kernels.
  void squares(Resource resource, const Coordinates& at, std::span<float> out) const;

  std::vector<KnownKernel> kernels_;
  std::vector<std::string> kinds_, devices_;  // of all examples, sorted
  Coordinates deviation_{};
  std::array<Bound, kResources> bound_;
  double covering_ = 0;
};

}  // namespace tilecast::hybrid
