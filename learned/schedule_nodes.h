// Features of schedules: nodes of the loop tree (GraphEncoding::kSchedule), and curves over its
// loops (FeatureGroup::kCurve). Internal to kernel_graph.h and table_features.h.
#pragma once

#include "learned/columns.h"
#include "learned/kernel_graph.h"
#include "schedule/tree.h"

namespace tilecast::learned {

// The tree of a kernel's loops, with edges from parents to children.
[[nodiscard]] KernelGraph schedule_graph(const schedule::LoopProgram& program);
void schedule_columns(const schedule::TreeNode& node, Columns& to);
// Types are the node kinds, followed by elementwise ops by opcode.
[[nodiscard]] std::int32_t schedule_type_count();
[[nodiscard]] std::int32_t schedule_type(const schedule::TreeNode& node);

// Points of a curve: the default of TVM's context-relation features. Thresholds are 4^1 ... 4^20.
inline constexpr std::size_t kCurvePoints = 20;
// Context relations (Chen et al., NeurIPS 2018, section 4): for loop features i and j, at each
// threshold t, the largest log2(1 + i) among loops with j below t; 0 if there are none.
void curve_columns(const schedule::ScheduleTree& tree, Columns& to);

}  // namespace tilecast::learned
