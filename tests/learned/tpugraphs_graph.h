// Whole HLO modules as TpuGraphs encodes them (Phothilimthana et al., NeurIPS 2023): the check of
// the kTpuGraphs encoding against published graphs.
//
//   KernelGraph graph = make_tpugraphs_graph(read_hlo_file("fusion.191.hlo"));
//
// Nodes: every instruction of every computation, callees first, each computation in its textual
// order. Edges, consumer by consumer: operands, then the roots of the computations it calls; each
// once (edge_index rows of TpuGraphs are {consumer, producer}). make_graph() of a kernel gives the
// same rows per op, but a Kernel has fusions inlined and tuples resolved: it has no nodes for
// called computations (reduce's), for fusions and for tuples, each array a kernel gives out is a
// root, parameters are numbered as the kernel's, and is_stable, which a Kernel does not keep, is 0.
#pragma once

#include "ir/hlo.h"
#include "learned/kernel_graph.h"

namespace tilecast::learned {

[[nodiscard]] KernelGraph make_tpugraphs_graph(const ir::Module& module);

}  // namespace tilecast::learned
