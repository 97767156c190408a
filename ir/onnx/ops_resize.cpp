// Ops that read each position of an axis from chosen source positions: Resize, Upsample, Pad.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "ir/onnx/node_site.h"

namespace tilecast::ir::onnx_reader {
namespace {

constexpr std::int64_t kMostPlaces = 1 << 20;  // per axis: limits the work while reading

std::int64_t counted_places(double size) {
  if (!(size >= 0 && size <= static_cast<double>(kMostPlaces))) {
    throw Error(fmt::format("an axis of {} places, at most {} are made", size, kMostPlaces));
  }
  return static_cast<std::int64_t>(size);
}

// For each result along an axis, one source position and its weight.
struct Tap {
  Numbers places, weights;
};

Term vector_of(Emitter& emitter, DType dtype, const Numbers& numbers) {
  return emitter.constant(Shape::array(dtype, {static_cast<std::int64_t>(numbers.size())}),
                          numbers);
}

// Whole repeats of every position (0 0 1 1 2 2), as a broadcast.
std::optional<Term> repeated(Term x, std::int64_t axis, const Numbers& places) {
  const std::int64_t size = x.dim(static_cast<std::size_t>(axis)),
                     count = static_cast<std::int64_t>(places.size());
  if (size == 0 || count % size != 0) return std::nullopt;
  const std::int64_t times = count / size;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t source = i / times;
    if (places[static_cast<std::size_t>(i)] != static_cast<double>(source)) return std::nullopt;
  }
  Dims dims = x.dims(), dimensions, result = x.dims();
  dims.insert(dims.begin() + axis + 1, times);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(dims.size()); ++i) {
    if (i != axis + 1) dimensions.push_back(i);
  }
  result[static_cast<std::size_t>(axis)] = count;
  return reshape(broadcast_in(x, dims, dimensions), result);
}

Term resampled(Term x, std::int64_t axis, const std::vector<Tap>& taps) {
  std::optional<Term> sum;
  for (const Tap& tap : taps) {
    Term part = x;
    if (const auto whole = repeated(x, axis, tap.places)) {
      part = *whole;
    } else {
      part = take(x, vector_of(*x.emitter, DType::kS32, tap.places), axis);
    }
    if (taps.size() > 1)
      part = part * along(vector_of(*x.emitter, x.dtype(), tap.weights), part, axis);
    sum = sum ? *sum + part : part;
  }
  return *sum;
}

struct AxisScale {
  std::int64_t from, to;
  double scale;
};

// The coordinate of result `i` on the input's axis. Source: Resize, coordinate_transformation_mode.
double coordinate(const std::string& mode, const AxisScale& axis, double i) {
  const double centre = (i + 0.5) / axis.scale;
  if (mode == "asymmetric") return i / axis.scale;
  if (mode == "tf_half_pixel_for_nn") return centre;
  if (mode == "half_pixel") return centre - 0.5;
  if (mode == "pytorch_half_pixel") return axis.to > 1 ? centre - 0.5 : 0;
  if (mode == "align_corners") {
    const double last = static_cast<double>(axis.from) * axis.scale - 1;
    return last > 0 ? i * static_cast<double>(axis.from - 1) / last : 0;
  }
  throw Error(fmt::format("coordinate_transformation_mode {} has no mapping onto HLO", mode));
}

double nearest_place(const std::string& rounding, double x) {
  if (rounding == "floor") return std::floor(x);
  if (rounding == "ceil") return std::ceil(x);
  return rounding == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

// Weights of the two or four neighbours of a coordinate with fraction `t`.
Numbers neighbour_weights(bool cubic, double t, double a) {
  if (!cubic) return {1 - t, t};
  const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

struct ResizeModes {
  std::string mode, coordinates, rounding;
  double cubic;
};

std::vector<Tap> taps_of(const ResizeModes& modes, const AxisScale& axis) {
  const bool nearest = modes.mode == "nearest", cubic = modes.mode == "cubic";
  std::vector<Tap> taps(nearest ? 1 : cubic ? 4 : 2);
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const double x = coordinate(modes.coordinates, axis, static_cast<double>(i));
    const auto place = [&](double at) {
      return std::clamp(at, 0.0, static_cast<double>(std::max<std::int64_t>(axis.from - 1, 0)));
    };
    if (nearest) {
      taps[0].places.push_back(place(nearest_place(modes.rounding, x)));
      continue;
    }
    const double first = std::floor(x);
    const Numbers weights = neighbour_weights(cubic, x - first, modes.cubic);
    for (std::size_t k = 0; k < taps.size(); ++k) {
      taps[k].places.push_back(place(first + static_cast<double>(k) - (cubic ? 1 : 0)));
      taps[k].weights.push_back(weights[k]);
    }
  }
  return taps;
}

Terms resize(const NodeSite& s) {
  Term x = s[0];
  const bool old = s.version < 11;
  const ResizeModes modes{
      s.text("mode", "nearest"),
      s.text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"),
      s.text("nearest_mode", old ? "floor" : "round_prefer_floor"),
      s.number("cubic_coeff_a", -0.75)};
  if (s.flag("antialias") || s.flag("exclude_outside") ||
      s.text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    throw Error("antialias, exclude_outside and keep_aspect_ratio_policy have no mapping onto HLO");
  }
  if (modes.mode != "nearest" && modes.mode != "linear" && modes.mode != "cubic" &&
      modes.mode != "bilinear") {
    throw Error(fmt::format("mode {} has no mapping onto HLO", modes.mode));
  }
  const Dims axes = normal_axes(s.integers("axes").value_or(range(0, x.rank())), x.rank());
  Numbers scales;
  if (s.find("scales") != nullptr) {
    scales.assign(s.find("scales")->floats().begin(), s.find("scales")->floats().end());
  } else {
    scales = s.known_numbers(old ? 1 : 2).value_or(Numbers());
  }
  const Dims sizes = old ? Dims() : s.known(3).value_or(Dims());
  if ((scales.empty() ? sizes.size() : scales.size()) != axes.size())
    throw Error("scales or sizes do not fit the rank");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t from = x.dim(static_cast<std::size_t>(axes[i]));
    const double given =
        scales.empty() ? static_cast<double>(sizes[i]) / static_cast<double>(from) : scales[i];
    const double size = scales.empty() ? static_cast<double>(sizes[i])
                                       : std::floor(static_cast<double>(from) * given);
    if (size == static_cast<double>(from) && given == 1) continue;
    if (from < 1) throw Error("an empty axis cannot be resized");
    const AxisScale axis{from, counted_places(size), given};
    x = resampled(x, axes[i], taps_of(modes, axis));
  }
  return {x};
}

// The source of a padding position before the start or after the end of an axis.
std::int64_t inside(const std::string& mode, std::int64_t at, std::int64_t size) {
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, size - 1);
  if (mode == "wrap") return (at % size + size) % size;
  const std::int64_t period = std::max<std::int64_t>(2 * (size - 1), 1);  // reflect
  const std::int64_t folded = (at % period + period) % period;
  return folded < size ? folded : period - folded;
}

Terms pad_node(const NodeSite& s) {
  Term x = s[0];
  const std::string mode = s.text("mode", "constant");
  const Dims pads = s.version < 11 ? s.integers("pads").value_or(Dims()) : s.need_known(1);
  const Dims axes = s.has(3) ? s.need_known(3) : range(0, x.rank());
  if (pads.size() != 2 * axes.size()) throw Error("pads do not fit the rank");
  std::vector<PadDim> edges(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = normal_axis(axes[i], x.rank());
    edges.at(static_cast<std::size_t>(axis)) = {bounded(pads[i]), bounded(pads[axes.size() + i]),
                                                0};
  }
  if (mode == "constant") {
    const Term value = s.version < 11 ? like(x, s.number("value", 0)) : s.or_zero(2, x);
    return {pad(x, edges, reshape(value, {}))};
  }
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    throw Error(fmt::format("mode {} has no mapping onto HLO", mode));
  for (std::size_t d = 0; d < edges.size(); ++d) {
    const std::int64_t size = x.dim(d);
    if (edges[d].low == 0 && edges[d].high == 0) continue;
    if (size < 1) throw Error("an empty axis cannot be padded");
    const auto count =
        counted_places(static_cast<double>(size) + static_cast<double>(edges[d].low) +
                       static_cast<double>(edges[d].high));
    Tap tap;
    for (std::int64_t i = 0; i < count; ++i)
      tap.places.push_back(static_cast<double>(inside(mode, i - edges[d].low, size)));
    x = resampled(x, static_cast<std::int64_t>(d), {tap});
  }
  return {x};
}

constexpr OpRow kResize[] = {{"Resize", resize}, {"Upsample", resize}, {"Pad", pad_node}};

}  // namespace

std::span<const OpRow> resize_rows() {
  return kResize;
}

}  // namespace tilecast::ir::onnx_reader
