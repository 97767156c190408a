#include "analytical/slice_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/error.h"

namespace tilecast::analytical {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kMostPlaced = 1 << 20;  // devices per group

struct Mesh {
  const hwdesc::Device* device;
  Ids shape;
  std::vector<bool> wraps;
  std::int64_t cores = 1;  // per chip
  std::int64_t chips = 1;  // per slice
  std::int64_t slices = 1;
  bool is_switch = false;

  [[nodiscard]] double devices() const {
    return static_cast<double>(cores) * static_cast<double>(chips) * static_cast<double>(slices);
  }
  // Coordinate of a chip along dimension d.
  [[nodiscard]] std::int64_t at(std::int64_t chip, std::size_t d) const {
    for (std::size_t i = shape.size(); --i > d;) chip /= shape[i];
    return chip % shape[d];
  }
};

Mesh mesh_of(const hwdesc::Device& device) {
  const hwdesc::Interconnect& net = *device.interconnect;
  Mesh mesh{.device = &device, .shape = hwdesc::slice_shape(net.slice->shape)};
  for (const std::int64_t side : mesh.shape) mesh.chips *= side;
  mesh.wraps = hwdesc::wrapped(mesh.shape, net.wraps_from);
  if (!net.slice->wraps.empty()) {
    mesh.wraps = hwdesc::slice_rings(net.slice->wraps, mesh.shape.size());
  }
  mesh.is_switch = hwdesc::is_direct(net.topology);
  mesh.cores = std::max(1, device.cores_per_chip);
  mesh.slices = net.slice->count;
  return mesh;
}

[[noreturn]] void refuse_device(const Mesh& mesh, std::int64_t id) {
  throw Error(fmt::format(
      "device {}: interconnect.slice: a group holds device {}, but {} slice{} of {} chips with {} "
      "core{} each have devices 0 to {:.0f}; set interconnect.slice.shape or .count",
      mesh.device->name, id, mesh.slices, mesh.slices == 1 ? "" : "s",
      mesh.device->interconnect->slice->shape, mesh.cores, mesh.cores == 1 ? "" : "s",
      mesh.devices() - 1));
}

// The chip of every device of a group, ascending.
Ids chips_of(const Mesh& mesh, const Ids& group) {
  Ids chips;
  for (const std::int64_t id : group) {
    if (id < 0 || static_cast<double>(id) >= mesh.devices()) refuse_device(mesh, id);
    chips.push_back(id / mesh.cores);
  }
  std::ranges::sort(chips);
  return chips;
}

// Counts messages on links.
class Router {
 public:
  explicit Router(const Mesh& mesh) : mesh_(mesh) {}

  void send(std::int64_t from, std::int64_t to) {
    if (from == to) return;
    if (from / mesh_.chips != to / mesh_.chips) {
      routes_.network_load = std::max(routes_.network_load, ++crossing_[from]);
      return;
    }
    if (mesh_.is_switch) {
      routes_.hops = 1;
      use(2 * from);
      use(2 * to + 1);
      return;
    }
    std::int64_t hops = 0, chip = from, below = mesh_.chips;
    for (std::size_t d = 0; d < mesh_.shape.size(); ++d) {
      below /= mesh_.shape[d];
      hops += along(d, below, mesh_.at(to % mesh_.chips, d), chip);
    }
    routes_.hops = std::max(routes_.hops, hops);
  }
  [[nodiscard]] const Routes& routes() const { return routes_; }

 private:
  void use(std::int64_t link) { routes_.link_load = std::max(routes_.link_load, ++load_[link]); }

  // Moves `chip` to coordinate `target` of dimension d, whose neighbours are `below` apart.
  std::int64_t along(std::size_t d, std::int64_t below, std::int64_t target, std::int64_t& chip) {
    const std::int64_t side = mesh_.shape[d];
    std::int64_t at = mesh_.at(chip % mesh_.chips, d);
    const std::int64_t up = (target - at + side) % side;
    const bool forward = mesh_.wraps[d] ? 2 * up <= side : target > at;
    std::int64_t hops = 0;
    for (; at != target; ++hops) {
      use((chip * static_cast<std::int64_t>(mesh_.shape.size()) + static_cast<std::int64_t>(d)) *
              2 +
          (forward ? 1 : 0));
      const std::int64_t next = (at + (forward ? 1 : side - 1)) % side;
      chip += (next - at) * below;
      at = next;
    }
    return hops;
  }

  const Mesh& mesh_;
  Routes routes_;
  std::unordered_map<std::int64_t, double> load_, crossing_;
};

// One side per dimension; nullopt if the chips of one slice are not a rectangle.
std::optional<std::vector<Side>> rectangle(const Mesh& mesh, const Ids& chips) {
  std::vector<Side> sides;
  std::int64_t inside = 1;
  for (std::size_t d = 0; d < mesh.shape.size(); ++d) {
    Ids taken;
    for (const std::int64_t chip : chips) taken.push_back(mesh.at(chip, d));
    std::ranges::sort(taken);
    taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
    Side side{.chips = static_cast<std::int64_t>(taken.size())};
    if (taken.size() > 1) side.stride = taken[1] - taken[0];
    for (std::size_t i = 1; i < taken.size(); ++i) {
      if (taken[i] - taken[i - 1] != side.stride) return std::nullopt;
    }
    const bool covers = side.chips * side.stride == mesh.shape[d];
    // In a ring of two both directions lead to the same chip over the same link.
    side.is_ring = covers && mesh.wraps[d] && mesh.shape[d] > 2 && side.chips > 1;
    inside *= side.chips;
    sides.push_back(side);
  }
  if (inside != static_cast<std::int64_t>(chips.size())) return std::nullopt;
  return sides;
}

// nullopt if the group is not a rectangle.
std::optional<Place> regular_place(const Mesh& mesh, const Ids& group) {
  Ids chips = chips_of(mesh, group);
  const auto devices = static_cast<std::int64_t>(chips.size());
  const std::int64_t per_chip =
      chips.empty() ? 1 : std::upper_bound(chips.begin(), chips.end(), chips[0]) - chips.begin();
  for (std::int64_t i = 0; i < devices; ++i) {
    const auto first = static_cast<std::size_t>(i / per_chip * per_chip);
    if (chips[static_cast<std::size_t>(i)] != chips[first]) return std::nullopt;
  }
  chips.erase(std::unique(chips.begin(), chips.end()), chips.end());
  if (static_cast<std::int64_t>(chips.size()) * per_chip != devices) return std::nullopt;
  std::map<std::int64_t, Ids> by_slice;
  for (const std::int64_t chip : chips) by_slice[chip / mesh.chips].push_back(chip % mesh.chips);
  for (const auto& [_, local] : by_slice) {
    if (local != by_slice.begin()->second) return std::nullopt;
  }
  Place place{.devices = devices, .cores = static_cast<double>(per_chip)};
  if (by_slice.empty()) return place;
  const Ids& local = by_slice.begin()->second;
  place.chips = static_cast<std::int64_t>(local.size());
  place.slices = static_cast<std::int64_t>(by_slice.size());
  if (mesh.is_switch) return place;
  auto sides = rectangle(mesh, local);
  if (!sides) return std::nullopt;
  place.sides = std::move(*sides);
  return place;
}

Routes routes_in_order(const Mesh& mesh, const std::vector<Ids>& groups) {
  Router router(mesh);
  for (const Ids& group : groups) {
    Ids chips = chips_of(mesh, group);
    chips.erase(std::unique(chips.begin(), chips.end()), chips.end());
    for (std::size_t i = 0; i < chips.size(); ++i) {
      router.send(chips[i], chips[(i + 1) % chips.size()]);
    }
  }
  return router.routes();
}

Place odd_place(const Mesh& mesh, const Ids& group, const Routes& routes) {
  Ids chips = chips_of(mesh, group);
  const auto devices = static_cast<std::int64_t>(chips.size());
  std::int64_t most = 1, run = 0;
  for (std::size_t i = 0; i < chips.size(); ++i) {
    run = i > 0 && chips[i] == chips[i - 1] ? run + 1 : 1;
    most = std::max(most, run);
  }
  chips.erase(std::unique(chips.begin(), chips.end()), chips.end());
  return {.devices = devices,
          .cores = static_cast<double>(most),
          .chips = static_cast<std::int64_t>(chips.size()),
          .slices = 1,
          .sides = {},
          .odd = routes};
}

}  // namespace

std::vector<Place> place_groups(const hwdesc::Device& device, const std::vector<Ids>& groups) {
  const Mesh mesh = mesh_of(device);
  std::vector<Place> places;
  std::optional<Routes> routes;
  for (const Ids& group : groups) {
    std::optional<Place> place = regular_place(mesh, group);
    if (!place) {
      if (!routes) routes = routes_in_order(mesh, groups);
      place = odd_place(mesh, group, *routes);
    }
    if (std::ranges::find(places, *place) == places.end()) places.push_back(std::move(*place));
  }
  return places;
}

PermutePlace place_pairs(const hwdesc::Device& device,
                         const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs) {
  const Mesh mesh = mesh_of(device);
  Router router(mesh);
  PermutePlace place;
  Ids members;
  for (const auto& [source, target] : pairs) {
    const Ids chips = {chips_of(mesh, {source}).front(), chips_of(mesh, {target}).front()};
    place.leaves_chip = place.leaves_chip || chips[0] != chips[1];
    router.send(chips[0], chips[1]);
    members.insert(members.end(), {source, target});
  }
  std::ranges::sort(members);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  std::unordered_map<std::int64_t, double> on_chip;
  for (const std::int64_t id : members) {
    place.cores = std::max(place.cores, ++on_chip[id / mesh.cores]);
  }
  place.devices = std::max<std::int64_t>(1, static_cast<std::int64_t>(members.size()));
  place.routes = router.routes();
  return place;
}

std::vector<Ids> first_devices(const hwdesc::Device& device, std::int64_t n) {
  const Mesh mesh = mesh_of(device);
  if (static_cast<double>(n) > mesh.devices()) refuse_device(mesh, n - 1);
  if (n > kMostPlaced) {
    throw Error(
        fmt::format("device {}: interconnect.slice: got a group of {} devices, expected at "
                    "most {}",
                    device.name, n, kMostPlaced));
  }
  Ids ids(static_cast<std::size_t>(std::max<std::int64_t>(1, n)));
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  return {ids};
}

std::string describe(const Place& place, const hwdesc::Device& device) {
  const hwdesc::Interconnect& net = *device.interconnect;
  const std::string& shape = net.slice->shape;
  std::string text = net.topology;
  if (place.odd) {
    return fmt::format(
        "{} {}: {} chips that are no rectangle, as a ring in the order of their ids; "
        "the busiest link carries {:.0f} of its messages, the longest way is {} hops",
        text, shape, place.chips, place.odd->link_load, place.odd->hops);
  }
  if (place.sides.empty()) {
    text += fmt::format(" of {}", place.chips);
  } else {
    std::vector<std::int64_t> extents;
    std::int64_t stride = 1;
    for (const Side& side : place.sides) {
      extents.push_back(side.chips);
      stride = std::max(stride, side.stride);
    }
    const std::string extent = fmt::format("{}", fmt::join(extents, "x"));
    text += " " + extent;
    if (extent != shape) text += " of " + shape;
    if (stride > 1) text += fmt::format(", {} groups on the same links", stride);
  }
  if (place.slices > 1) text += fmt::format(" x {} slices", place.slices);
  return text;
}

}  // namespace tilecast::analytical
