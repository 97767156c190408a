// Graphs of random kernels: networks can read the graph of any kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "learned/kernel_graph.h"
#include "tests/host/random_kernels.h"

namespace tilecast::learned {
namespace {

constexpr std::uint64_t kSeeds = 1000;
constexpr GraphEncoding kEncodings[] = {GraphEncoding::kTilecast, GraphEncoding::kTpuGraphs};

TEST(KernelGraphProperty, FeaturesAreFiniteAndOpcodesKnown) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const ir::Kernel kernel = host::random_kernel(seed).kernel;
    for (const GraphEncoding encoding : kEncodings) {
      const KernelGraph graph = make_graph(kernel, encoding);
      ASSERT_EQ(graph.nodes(), kernel.ops().size());
      ASSERT_EQ(graph.features.size(), graph.nodes() * node_schema(encoding).columns.size());
      for (const float value : graph.features) ASSERT_TRUE(std::isfinite(value)) << seed;
      for (const std::int32_t opcode : graph.opcodes) {
        ASSERT_GE(opcode, 0) << seed;
        ASSERT_LT(opcode, opcode_count(encoding)) << seed;
      }
    }
  }
}

TEST(KernelGraphProperty, EdgesAreTheOperandsOnce) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const ir::Kernel kernel = host::random_kernel(seed).kernel;
    std::set<std::pair<std::int32_t, std::int32_t>> expected, found;
    for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
      for (const ir::OpId operand : kernel.ops()[i].operands) {
        expected.emplace(static_cast<std::int32_t>(operand.index()), static_cast<std::int32_t>(i));
      }
    }
    const KernelGraph graph = make_graph(kernel, GraphEncoding::kTilecast);
    for (const GraphEdge& edge : graph.edges) found.emplace(edge.producer, edge.consumer);
    ASSERT_EQ(found, expected) << seed;
    ASSERT_EQ(graph.edges.size(), expected.size()) << seed;
    ASSERT_EQ(make_graph(kernel, GraphEncoding::kTpuGraphs).edges, graph.edges) << seed;
  }
}

TEST(KernelGraphProperty, ProducersStandBeforeConsumers) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const KernelGraph graph =
        make_graph(host::random_kernel(seed).kernel, GraphEncoding::kTilecast);
    std::vector<std::size_t> position(graph.nodes(), graph.nodes());
    ASSERT_EQ(graph.topological.size(), graph.nodes());
    for (std::size_t i = 0; i < graph.topological.size(); ++i) {
      position.at(static_cast<std::size_t>(graph.topological[i])) = i;
    }
    for (const std::size_t place : position) ASSERT_LT(place, graph.nodes()) << "every node once";
    for (const GraphEdge& edge : graph.edges) {
      ASSERT_LT(position[static_cast<std::size_t>(edge.producer)],
                position[static_cast<std::size_t>(edge.consumer)])
          << seed;
    }
  }
}

// The kernel with its ops renumbered: the last possible op first. `place[i]`: the new number of op
// i.
ir::Kernel renumbered(const ir::Kernel& kernel, std::vector<std::size_t>& place) {
  const std::size_t count = kernel.ops().size();
  ir::KernelBuilder builder(kernel.name(), kernel.opcode());
  place.assign(count, count);
  for (std::size_t added = 0; added < count; ++added) {
    for (std::size_t i = count; i-- > 0;) {
      if (place[i] != count) continue;
      ir::Op op = kernel.ops()[i];
      bool ready = true;
      for (ir::OpId& operand : op.operands) {
        const std::size_t moved = place[operand.index()];
        ready = ready && moved != count;
        operand = ir::OpId(moved);
      }
      if (!ready) continue;
      place[i] = added;
      if (op.opcode == ir::Opcode::kParameter) {
        builder.parameter(op.shape, kernel.name_of(ir::OpId(i)));
      } else {
        builder.add(std::move(op));
      }
      break;
    }
  }
  std::vector<ir::OpId> outputs;
  for (const ir::OpId id : kernel.outputs()) outputs.emplace_back(place[id.index()]);
  return builder.build(std::move(outputs));
}

TEST(KernelGraphProperty, RenumberingOpsMovesRowsAndKeepsTheSequence) {
  const std::size_t width = node_schema(GraphEncoding::kTilecast).columns.size();
  std::size_t moved = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const ir::Kernel kernel = host::random_kernel(seed).kernel;
    std::vector<std::size_t> place;
    const ir::Kernel other = renumbered(kernel, place);
    const KernelGraph before = make_graph(kernel, GraphEncoding::kTilecast);
    const KernelGraph after = make_graph(other, GraphEncoding::kTilecast);
    for (std::size_t i = 0; i < before.nodes(); ++i) {
      moved += place[i] == i ? 0U : 1U;
      ASSERT_EQ(before.opcodes[i], after.opcodes[place[i]]) << seed;
      for (std::size_t c = 0; c < width; ++c) {
        ASSERT_EQ(before.features[i * width + c], after.features[place[i] * width + c]) << seed;
      }
      const auto next = static_cast<std::size_t>(before.topological[i]);
      ASSERT_EQ(place[next], static_cast<std::size_t>(after.topological[i])) << seed;
    }
  }
  EXPECT_GT(moved, kSeeds) << "the orders differ";
}

}  // namespace
}  // namespace tilecast::learned
