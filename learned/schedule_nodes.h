// Schedules as models read them: nodes of a tree (GraphEncoding::kSchedule), and curves over its
// loops (FeatureGroup::kCurve). Internal to kernel_graph.h and table_features.h.
#pragma once

#include "learned/columns.h"
#include "learned/kernel_graph.h"
#include "schedule/tree.h"

namespace tilecast::learned {

// The tree of the loops of a kernel: edges from parents to children.
[[nodiscard]] KernelGraph schedule_graph(const schedule::LoopProgram& program);
void schedule_columns(const schedule::TreeNode& node, Columns& to);
// Node kinds first, then elementwise ops by opcode.
[[nodiscard]] std::int32_t schedule_type_count();
[[nodiscard]] std::int32_t schedule_type(const schedule::TreeNode& node);

// Points of a curve: the default of TVM's context-relation features. Thresholds are 4^1 ... 4^20.
inline constexpr std::size_t kCurvePoints = 20;
// Context relations (Chen et al., NeurIPS 2018, section 4): for features i and j of loops, at each
// threshold t the largest log2(1 + i) of the loops whose j is below t; 0 where there is none. Of a
// tree without nodes: 0.
void curve_columns(const schedule::ScheduleTree& tree, Columns& to);

}  // namespace tilecast::learned
