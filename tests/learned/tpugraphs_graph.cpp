#include "tests/learned/tpugraphs_graph.h"

#include "learned/node_columns.h"

namespace tilecast::learned {
namespace {

struct NodeIds {
  std::vector<std::size_t> first;  // node of the first instruction, by computation
  std::size_t count = 0;

  explicit NodeIds(const ir::Module& module) {
    for (const ir::Computation& computation : module.computations) {
      first.push_back(count);
      count += computation.instructions.size();
    }
  }
  [[nodiscard]] std::int32_t of(ir::ComputationId computation, ir::InstrId instruction) const {
    return static_cast<std::int32_t>(first[computation.index()] + instruction.index());
  }
};

NodeView view(const ir::Computation& computation, ir::InstrId id) {
  const ir::Instruction& instruction = computation.at(id);
  NodeView view;
  view.opcode = instruction.opcode;
  view.shape = &instruction.shape;
  view.dimensions = &instruction.dimensions;
  view.attrs = &instruction.attrs;
  if (const auto* const parameter = instruction.get<ir::ParameterAttrs>()) {
    view.parameter = parameter->number;
  }
  view.is_output = id == computation.root;
  const std::string* const stable = instruction.find_raw("is_stable");
  view.is_stable = stable != nullptr && *stable == "true";
  return view;
}

}  // namespace

KernelGraph make_tpugraphs_graph(const ir::Module& module) {
  const NodeIds ids(module);
  KernelGraph graph;
  graph.features.resize(ids.count * node_schema(GraphEncoding::kTpuGraphs).columns.size());
  Columns row(graph.features.data());
  for (const ir::Computation& computation : module.computations) {
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      graph.opcodes.push_back(tpugraphs_opcode(computation.instructions[i].opcode));
      tpugraphs_columns(view(computation, ir::InstrId(i)), row);
    }
  }
  EdgeList edges(graph);
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    const ir::Computation& computation = module.computations[c];
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      const std::int32_t consumer = ids.of(ir::ComputationId(c), ir::InstrId(i));
      for (const ir::InstrId operand : computation.instructions[i].operands) {
        edges.add(ids.of(ir::ComputationId(c), operand), consumer);
      }
      for (const ir::ComputationId called : computation.instructions[i].called) {
        edges.add(ids.of(called, module.at(called).root), consumer);
      }
    }
  }
  order_nodes({ids.of(module.entry, module.entry_computation().root)}, graph);
  return graph;
}

}  // namespace tilecast::learned
