// Where a kernel stands beside those a correction was learned from.
//
//   Domain domain = Domain::of(examples, names);         // kernels, op classes, devices it knows
//   Position position = domain.locate(coordinates_of(kernel, estimate), op_class, device);
//   position.distance                                    // to the nearest known kernel
//
// Coordinates are a kernel's, dimensionless or logarithms: work, bytes and intensity, the speed of
// light, work by kind, the sizes of products and reductions, the minor sizes. None depends on a
// tile. Each is divided by its deviation among the known kernels (a floor keeps columns that hardly
// vary from deciding). Distance: root mean square over coordinates, to the nearest. Of many kernels
// the kMostKernels that cover best are kept (farthest-point sampling; Gonzalez 1985): nothing known
// is farther from a kept one than Domain::covering(). Locating is thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "learned/training/examples.h"

namespace tilecast::hybrid {

inline constexpr std::size_t kCoordinates = 28;  // hybrid/domain_coordinates.cpp declares them
using Coordinates = std::array<float, kCoordinates>;
[[nodiscard]] std::span<const std::string_view> coordinate_names();
[[nodiscard]] float coordinate_floor(std::size_t coordinate);  // of its deviation
// `estimate`: the analytical answer, of which the speed of light is a coordinate. Finite numbers.
[[nodiscard]] Coordinates coordinates_of(const ir::Kernel& kernel,
                                         const analytical::Estimate& estimate);

struct Position {
  double distance = 0;      // infinite when no kernel is known
  std::size_t nearest = 0;  // into Domain::kernels()
  bool known_class = false, known_device = false;
};

struct KnownKernel {
  std::string name, op_class;
  Coordinates at{};  // not yet scaled
};

class Domain {
 public:
  static constexpr std::size_t kMostKernels = 512;

  Domain() = default;  // knows nothing
  // Of the rows `examples` has priors for, a kernel once (its first row). `names`: by kernel
  // number. Deviations are of all kernels, whether kept or not.
  [[nodiscard]] static Domain of(const learned::Examples& examples,
                                 std::span<const std::string> names);

  [[nodiscard]] Position locate(const Coordinates& at, const std::string& op_class,
                                const hwdesc::Device& device) const;
  // The nearest ones, nearest first, at most `count`, with their distances.
  struct Neighbour {
    std::size_t kernel = 0;  // into kernels()
    double distance = 0;
  };
  [[nodiscard]] std::vector<Neighbour> nearest(const Coordinates& at, std::size_t count) const;

  [[nodiscard]] const std::vector<KnownKernel>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<std::string>& op_classes() const { return op_classes_; }
  [[nodiscard]] const std::vector<std::string>& devices() const { return devices_; }
  [[nodiscard]] double covering() const { return covering_; }

  // CSV. load() throws Error with file, line and column for anything else.
  [[nodiscard]] std::string save() const;
  [[nodiscard]] static Domain load(const std::string& text, const std::string& file);

 private:
  using Squares = std::array<float, kMostKernels>;
  void scale_kernels();  // scaled_ from kernels_
  void keep_covering();
  [[nodiscard]] Squares square_distances(const Coordinates& at) const;  // by kernel
  [[nodiscard]] bool knows_device(const hwdesc::Device& device) const;

  std::vector<KnownKernel> kernels_;
  std::vector<std::string> op_classes_, devices_;  // all of the examples, sorted
  Coordinates deviation_{};
  std::vector<float> scaled_;  // coordinate by coordinate, of all kernels
  double covering_ = 0;
};

}  // namespace tilecast::hybrid
