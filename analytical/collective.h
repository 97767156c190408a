// Time of collective operations: alpha-beta models on the described links.
//
// alpha = latency of one hop, plus reading main memory before it and writing it after; beta = 1 /
// egress, egress = links in use x one-way link bandwidth. A group of n devices (cores) fills c
// chips one after the other; cores of a chip first exchange through main memory and share the
// chip's links. V = payload per device, P = bytes a chip sends of it (V where cores of a chip can
// share the traffic, else V x cores).
//
//   all-reduce          2 P (c-1)/c beta       2 s alpha    bandwidth-optimal ring [PY]; halving
//   all-gather,                                             and doubling on a switch [TRG]
//   reduce-scatter      P (c-1)/c beta         s alpha      [TRG]
//   all-to-all          sum_d P floor(d^2/4)/d beta_d       shortest paths on each ring of d chips
//                       (switch: P (c-1)/c beta)   s/2 alpha
//   broadcast           P beta                 s/2 alpha    pipelined [PY]
//   permute, send       P / link               alpha        neighbours; all links on a switch
//
// Steps s: ring c-1; torus the sum of (d-1) over its dimensions d; switch ceil(log2 c); each
// dimension adds `start` where it is used.
// A torus is as square as the divisors of c allow. Its dimensions of at least `wraps_from` chips
// are rings, with both links of the dimension; a shorter one is a line (in a ring of two both
// directions lead to the same chip): its ends have one link. Each dimension works on its own part
// of the data at once, and they sustain `axes_efficiency` of the sum of their rates; an all-to-all
// takes one dimension after another, each at its bisection. Small gathers and reductions send
// everything to everybody if that is faster: the bytes of an all-to-all (of c P for an all-reduce),
// one start, and the hops of the longest way.
// In a mesh each pair has links of its own: a group of c uses c - 1 of a chip's links.
//
// On a described slice (hwdesc/slice.h) groups are placed by their device numbers
// (analytical/slice_groups.h) and the slowest group counts. A side with stride s passes s links per
// step at 1/s of the rate. A group on S slices, with c chips in each and N = a chip's share of its
// host's network, first runs the algorithm above within each slice (for an all-reduce the
// reduce-scatter before and the all-gather after), and across slices as on a switch:
//
//   all-reduce          2 P/c (S-1)/S / N      2 ceil(log2 S) alpha_N    all-gather half of it
//   all-to-all          P (S-1)/S / N          alpha_N
//   broadcast           P/c / N                ceil(log2 S) alpha_N      scatter, then gather
//
// A group that is not a rectangle is a one-directional ring over links that carry k of its
// messages: P (c-1)/c k / link, (c-1) steps (all-reduce twice that; all-to-all P (c-1)/2 k / link).
// A permute takes shortest paths, one dimension after another: P k / link.
//
// `interconnect.library` replaces that inside a node: rings of NCCL, with k the share of the rate,
//
//   LL, LL128, simple   start + n step + (V rounds + fill) / (k egress) + own part's copy    [NCCL]
//   in the switch       start + multicast_start + (V (1 + 1/c) + fill) / (k egress)
//   direct (chosen)     direct_start + (c-1) direct_peer + (c-1) V / (k egress), or in two stages
//                       with 2 V (c-1)/c and direct_stage: all-reduces of V <= direct_up_to
//
// the fastest of them; n: 2 (c-1) for an all-reduce, 2 for an all-to-all or permute, else c-1; the
// flags of LL take half of the rate; the simple protocol first fills its buffer; a switch sums
// floats of 16 bits or more, for at least three GPUs.
//
// Network traffic overlaps with reading operands and writing results in main memory; the slower of
// the two is the bandwidth part. time = bandwidth part + latency part.
// [TRG] Thakur, Rabenseifner, Gropp, Optimization of Collective Communication Operations in MPICH,
// IJHPCA 19(1), 2005.
// [PY] Patarasuk, Yuan, Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations, JPDC
// 69(2), 2009.
// [NCCL] Hu et al., Demystifying NCCL, arXiv:2507.04786, 2025: protocols and rings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

struct CollectiveTime {
  Seconds time, bandwidth_part, latency_part;
  std::string algorithm;  // "all-reduce on torus2d 4x8", "local"
};

// `payload`: bytes per device; of the result for all-gather and broadcast, else of the operands.
// Throws Error if the group needs links and the device describes none or an unknown topology, or if
// the opcode is not a collective.
[[nodiscard]] CollectiveTime collective_time(ir::Opcode opcode, Bytes payload,
                                             std::int64_t group_size, const hwdesc::Device& device);
[[nodiscard]] CollectiveTime collective_time(const ir::Kernel& kernel,
                                             const hwdesc::Device& device);

// Lower bound for any algorithm: what must leave a chip, over all its links at once, without
// latency. 0 if the device describes no links.
[[nodiscard]] Seconds collective_lower_bound(ir::Opcode opcode, Bytes payload,
                                             std::int64_t group_size, const hwdesc::Device& device);
enum class PayloadSize { kPadded, kUnpadded };
[[nodiscard]] Seconds collective_lower_bound(const ir::Kernel& kernel, PayloadSize size,
                                             const hwdesc::Device& device);

// Remaining time of a collective that overlapped with earlier kernels, charged to the kernel that
// receives its sync flags S(2): one hop (1.48 to 1.54 us in five of six such kernels of a TPU v5p;
// the sixth had to wait). nullopt for other kernels.
[[nodiscard]] std::optional<Seconds> running_collective_end(const ir::Kernel& kernel,
                                                            const hwdesc::Device& device);

// A send or receive of the host, which goes over its link, and with `slices` over the network:
// P bytes of a chip as across slices above, with c = 1. Else nullptr.
[[nodiscard]] const ir::CollectiveAttrs* host_transfer(const ir::Kernel& kernel);

// The collective of a kernel (also inside an async-start or a fusion), or nullptr. Also nullptr
// next to a product: the network then overlaps, and the kernel takes the product's time.
[[nodiscard]] const ir::Op* collective_op(const ir::Kernel& kernel);
// Opcode of the collective, else the kernel's; an all-reduce of which the kernel keeps a slice is a
// reduce-scatter.
[[nodiscard]] ir::Opcode crossing_opcode(const ir::Kernel& kernel);
[[nodiscard]] Bytes collective_payload(const ir::Kernel& kernel, PayloadSize size);

}  // namespace tilecast::analytical
