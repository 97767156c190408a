#include "sim/compare_torch.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "measured/importers/profile_device.h"
#include "measured/importers/torch_ops.h"
#include "measured/samples.h"
#include "sim/compare_rows.h"

namespace tilecast::sim {
namespace {

using measured::TorchKernels;
using measured::TorchOp;

// The kernels of each operator as questions to models; `rows` are those with kernels.
struct Questions {
  measured::SampleSet samples;
  std::vector<std::size_t> rows;
};

void ask(const TorchKernels& of, std::size_t row, Questions& questions) {
  if (of.kernels.empty()) return;
  measured::Sample question;
  question.work = questions.samples.works.size();
  measured::Workload work{.op_class = of.op_class};
  for (const ir::Kernel& kernel : of.kernels) work.parts.push_back({kernel});
  questions.samples.works.push_back(std::move(work));
  questions.samples.samples.push_back(std::move(question));
  questions.rows.push_back(row);
}

CompareRow row_of(const TorchOp& op, const TorchKernels& kernels) {
  ProfileCounts counts{
      .category = kernels.op_class, .median = op.times.median, .launch = op.times.launch};
  double flops = 0, bytes = 0;
  for (const ir::Kernel& kernel : kernels.kernels) {
    const bool is_call = kernel.custom_call_cost().has_value();
    flops += is_call ? kernel.custom_call_cost()->flops : static_cast<double>(kernel.work().flops);
    bytes += is_call ? kernel.custom_call_cost()->bytes_accessed
                     : static_cast<double>(kernel.work().bytes_accessed);
  }
  if (!kernels.kernels.empty()) {
    counts.flops = flops;
    counts.bytes = bytes;
  }
  return {.name = op.describe(),
          .op_class = kernels.op_class,
          .launches = static_cast<double>(op.times.occurrences),
          .profile = std::move(counts)};
}

void add_models(const std::vector<Questions>& by_device, const CompareSetup& setup,
                ComparisonBuilder& builder) {
  for (std::size_t column = 0; column < setup.columns.size(); ++column) {
    const ModelColumn& model = setup.columns[column];
    const Questions& questions = by_device[model.device];
    const auto answers = measured::predict(questions.samples, *model.answers,
                                           setup.devices[model.device], setup.jobs);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i].answered) builder.set(questions.rows[i], column, cell_of(answers[i]));
    }
    if (setup.step) setup.step();
  }
}

}  // namespace

Comparison compare_torch(const TorchInput& input, const CompareSetup& setup) {
  const measured::TorchTrace& trace = input.trace;
  ComparisonBuilder builder(setup);
  const std::size_t measured = builder.measured(setup.devices.front().name, 0);
  const std::size_t group = builder.add_group("operators", input.file);
  ProfileSummary summary{.file = input.file,
                         .device = measured::device_text(trace.device),
                         .guess = input.guess,
                         .next = {},
                         .device_time = trace.device_time};
  std::map<std::string, ProfileLeftOver> left_over;
  std::vector<Questions> questions(setup.devices.size());
  for (const TorchOp& op : trace.ops) {
    for (std::size_t d = 0; d < setup.devices.size(); ++d) {
      const TorchKernels kernels =
          measured::kernels_of(op, measured::op_defaults(setup.devices[d]));
      const std::size_t row = builder.row(group, op.describe(), row_of(op, kernels));
      ask(kernels, row, questions[d]);
      if (d == 0)
        builder.set(row, measured, {op.times.total / static_cast<double>(op.times.occurrences)});
    }
    if (op.has_shapes()) {
      summary.joined += op.times.total;
      continue;
    }
    const bool called = op.name.find("::") != std::string::npos && !op.arguments.empty();
    ProfileLeftOver& left = left_over[called ? "operators without shapes" : "kernels by name"];
    left.category = called ? "operators without shapes" : "kernels by name";
    left.events += static_cast<double>(op.times.occurrences);
    left.time += op.times.total;
  }
  for (auto& [category, left] : left_over) summary.left_over.push_back(std::move(left));
  add_models(questions, setup, builder);
  for (const std::string& note : trace.notes) builder.note(note);
  builder.note(
      "operators are predicted from the shapes and types of their operands, those without "
      "arithmetic to speak of (gradients of norms, gathers ...) by what they read and write");
  builder.comparison().profile = std::move(summary);
  return builder.finish();
}

}  // namespace tilecast::sim
