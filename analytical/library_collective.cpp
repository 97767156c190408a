#include "analytical/library_collective.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"

namespace tilecast::analytical {
namespace {

using ir::Exchange;

struct Protocol {
  double step_s, share;
  double fill = 0;  // bytes
};

// What a chip sends, and in how many steps.
struct Sending {
  double bytes, steps;
};

Sending sent_by(Exchange pattern, double bytes, double chips) {
  const double others = bytes - bytes / chips;
  switch (pattern) {
    case Exchange::kAllReduce:
      return {2 * others, 2 * (chips - 1)};
    case Exchange::kAllGather:
    case Exchange::kReduceScatter:
      return {others, chips - 1};
    case Exchange::kBroadcast:
      return {bytes, chips - 1};
    case Exchange::kAllToAll:
      return {others, 2};
    default:
      return {bytes, 2};
  }
}

double group_share(const hwdesc::CollectiveLibrary& library, double devices) {
  double share = 1, least = 0, largest = 0;
  for (const auto& [text, value] : library.group_share) {
    const double most = base::parse_number<double>(text).value_or(0);
    const bool holds = most >= devices;
    if (holds ? (least == 0 || most < least) : (least == 0 && most > largest)) share = value;
    if (holds && (least == 0 || most < least)) least = most;
    largest = std::max(largest, most);
  }
  return share;
}

}  // namespace

LibraryTime library_time(Exchange pattern, double bytes, const LibraryRing& ring) {
  const hwdesc::CollectiveLibrary& library = ring.library;
  const double part = bytes / ring.chips;
  const double egress = ring.egress * group_share(library, ring.chips);
  const bool is_sum = pattern == Exchange::kAllReduce;
  const bool in_parts =
      is_sum || pattern == Exchange::kAllGather || pattern == Exchange::kReduceScatter;
  const Sending sent = sent_by(pattern, bytes, ring.chips);
  std::vector<Protocol> protocols = {
      {library.ll_step.value, 0.5},
      {library.simple_step.value, 1, std::min(library.buffer.value, in_parts ? part : bytes)}};
  if (library.ll128_step.value > 0 && pattern != Exchange::kAllToAll) {
    protocols.push_back({library.ll128_step.value, library.ll128_share});
  }
  LibraryTime best{.fixed_s = HUGE_VAL};
  const auto take = [&](double bandwidth_s, double fixed_s) {
    fixed_s += library.start.value;
    if (bandwidth_s + fixed_s >= best.bandwidth_s + best.fixed_s) return;
    best = {.bandwidth_s = bandwidth_s, .fixed_s = fixed_s};
  };
  const double own_s = in_parts || pattern == Exchange::kAllToAll ? 2 * part / ring.copied : 0;
  for (const Protocol& protocol : protocols) {
    take((sent.bytes + protocol.fill) / (egress * protocol.share) + own_s,
         sent.steps * protocol.step_s);
  }
  if (is_sum && ring.in_switch && library.multicast > 0 && ring.chips > 2) {
    const double filled = std::min(library.buffer.value, bytes);
    take((bytes + part + filled) / (egress * library.multicast), library.multicast_start.value);
  }
  // Frameworks do so over PCIe only for two.
  const bool reach = ring.chips == 2 || library.group_share.empty();
  if (is_sum && reach && bytes <= library.direct_up_to.value) {
    const double others = ring.chips - 1, rate = egress * library.direct_share;
    const double fixed_s =
        library.direct_start.value + library.direct_peer.value * others - library.start.value;
    take(others * bytes / rate, fixed_s);
    take(sent.bytes / rate, fixed_s + library.direct_stage.value);
  }
  return best;
}

}  // namespace tilecast::analytical
