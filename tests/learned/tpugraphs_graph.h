// Encodes whole HLO modules as TpuGraphs does (Phothilimthana et al., NeurIPS 2023), to check the
// kTpuGraphs encoding against published graphs.
//
//   KernelGraph graph = make_tpugraphs_graph(read_hlo_file("fusion.191.hlo"));
//
// Nodes: every instruction of every computation, callees first, each computation in its textual
// order. Edges by consumer: operands, then the roots of the computations it calls, without
// duplicates (edge_index rows of TpuGraphs are {consumer, producer}). make_graph() of a kernel
// gives the same rows per op, but a Kernel has fusions inlined and tuples resolved: it has no nodes
// for called computations (reduce's), for fusions and for tuples, each output array is a root,
// parameters have the kernel's numbers, and is_stable, which a Kernel does not store, is 0.
#pragma once

#include "ir/hlo.h"
#include "learned/kernel_graph.h"

namespace tilecast::learned {

[[nodiscard]] KernelGraph make_tpugraphs_graph(const ir::Module& module);

}  // namespace tilecast::learned
