// Rows gathered and reduced by segment: neighbours of a node, nodes of a kernel.
//
//   Segments in = make_segments(producers, consumers, nodes, /*limit=*/20);
//   torch::Tensor mean = reduce(embeddings, in, Aggregate::kMean);      // (nodes, width)
//
// Differentiable once in `rows`. One thread and one order: the same bits every time. Thread-safe.
// Own code because it is faster than LibTorch 1.13's (4,096 nodes of 64, 6,500 edges, one core of
// an AMD EPYC): sums 0.11 ms, with gradients 0.35; index_add 0.27 and 0.75; scatter_reduce 0.56 and
// 1.4; embedding_bag 0.03 and 0.61, with other bits in gradients and means; its maximum 1.18 and
// 3.3, here 1.13 and 1.9. A gather is as fast as index_select with gradients.
#pragma once

#include <torch/torch.h>

#include "learned/graph_network.h"

namespace tilecast::learned::torch_module {

// S segments: segment s is the rows sources[offsets[s]] ... sources[offsets[s + 1] - 1].
struct Segments {
  torch::Tensor sources;  // int64
  torch::Tensor offsets;  // (S + 1) int64, from 0

  [[nodiscard]] std::int64_t count() const { return offsets.size(0) - 1; }
  [[nodiscard]] torch::Tensor targets() const;  // the segment of each source
  // The same segments over rows that stand in their order already: sources 0, 1, 2, ...
  [[nodiscard]] Segments in_order() const;
};

// Item e adds row sources[e] to segment targets[e]: the first `limit` items of a segment, in their
// order.
[[nodiscard]] Segments make_segments(const torch::Tensor& sources, const torch::Tensor& targets,
                                     std::int64_t count, std::int64_t limit = INT64_MAX);
// Of segments of consecutive rows.
[[nodiscard]] Segments make_segments(const std::vector<std::int64_t>& lengths);
// Segment s of the result is that of `a`, then that of `b`.
[[nodiscard]] Segments join(const Segments& a, const Segments& b);

// rows: (R, W) -> (S, W). An empty segment gives 0. Ties of a maximum: the first row's.
[[nodiscard]] torch::Tensor reduce(const torch::Tensor& rows, const Segments& segments,
                                   Aggregate how);
// Softmax of each column over the rows of each segment; rows stand in the order of the segments.
[[nodiscard]] torch::Tensor softmax(const torch::Tensor& rows, const Segments& segments);
// rows[index[i]] as row i.
[[nodiscard]] torch::Tensor gather(const torch::Tensor& rows, const torch::Tensor& index);

}  // namespace tilecast::learned::torch_module
