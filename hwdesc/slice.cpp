#include "hwdesc/slice.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/schema_fields.h"

namespace tilecast::hwdesc {
namespace {

constexpr std::int64_t kMostChips = 1 << 20;  // per slice

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::vector<std::int64_t> slice_shape(std::string_view shape) {
  std::vector<std::int64_t> dims;
  std::int64_t chips = 1;
  for (const std::string_view part : split_at(shape, 'x')) {
    std::int64_t side = 0;
    const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), side);
    const bool whole = failed == std::errc() && end == part.data() + part.size();
    if (!whole || side < 1 || side > kMostChips || chips * side > kMostChips) {
      throw Error(fmt::format(
          "got {}, expected chips along each dimension such as 4x4x8, at most {} in all",
          show_text(shape), kMostChips));
    }
    chips *= side;
    dims.push_back(side);
  }
  return dims;
}

std::vector<bool> slice_rings(std::string_view wraps, std::size_t dimensions) {
  std::vector<bool> rings;
  for (const std::string_view word : split_at(wraps, ' ')) {
    if (word != "ring" && word != "line") break;
    rings.push_back(word == "ring");
  }
  if (rings.size() != dimensions || split_at(wraps, ' ').size() != dimensions) {
    throw Error(
        fmt::format("got {}, expected ring or line for each of {} dimensions, such as 'ring line'",
                    show_text(wraps), dimensions));
  }
  return rings;
}

void walk_slice(SchemaVisitor& v, std::optional<Slice>& described) {
  using enum UnitKind;
  Slice& slice = described ? *described : described.emplace();
  v.text({"shape", kCount, 1, 100, kRequired, "chips along each dimension, such as 4x4x8"},
         slice.shape);
  v.text({"wraps", kCount, 0, 100, kOptional,
          "ring or line for each dimension; default: by wraps_from"},
         slice.wraps);
  integer(v, {"count", kCount, 1, 1 << 16, kOptional, "slices, joined by the network"},
          slice.count);
  quantity(v,
           {"network_bandwidth", kBandwidth, 1e3, 1e15, kOptional,
            "of a host, one way, to other slices, sustained; required with count"},
           slice.network_bandwidth);
  quantity(v, {"network_latency", kTime, 0, 1, kOptional, "of a message to another slice"},
           slice.network_latency);
  v.text({"source", kCount, 0, 2000, kOptional, "where the network's numbers come from"},
         slice.source);
}

}  // namespace tilecast::hwdesc
