#include "sim/op_table.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/parallel.h"
#include "ir/load_program.h"
#include "measured/known_columns.h"
#include "measured/op_kernels.h"

namespace tilecast::sim {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

void check_op_columns(const measured::CsvTable& table) {
  static_cast<void>(unread_op_columns(table));
  if (table.find("op")) return;
  throw Error(
      fmt::format("{}:1: no column 'op'; got {}, expected op, dtype and the columns of the "
                  "operators (tilecast ops --help lists them)",
                  table.file, fmt::join(table.columns, ", ")));
}

std::vector<std::string> answer_cells(const measured::CsvTable& table, const measured::CsvRow& row,
                                      const hwdesc::Device& device,
                                      const analytical::CostModel& model,
                                      const measured::OpDefaults& defaults) {
  const std::vector<ir::Kernel> launches = measured::operator_launches(table, row, defaults);
  std::vector<analytical::KernelQuery> queries;
  for (const ir::Kernel& launch : launches) queries.push_back({launch});
  std::vector<std::optional<analytical::Estimate>> answers;
  try {
    answers = model.estimate(queries, device);
  } catch (const Error& error) {
    throw Error(fmt::format("{}:{}: {}", table.file, row.line, error.what()));
  }
  Seconds time{0}, speed_of_light{0};
  const analytical::Estimate* longest = nullptr;
  for (const std::optional<analytical::Estimate>& answer : answers) {
    if (!answer) {
      throw Error(fmt::format("{}: no model for {} on device {}", table.where(row, "op"),
                              table.cell(row, "op"), device.name));
    }
    time += answer->time;
    speed_of_light += answer->time * answer->utilisation;
    if (longest == nullptr || answer->time > longest->time) longest = &*answer;
  }
  return {fmt::format("{:.3f}", time.value * kNanosecondsPerSecond),
          std::string(analytical::name(longest->bound)),
          fmt::format("{:.4f}", time.value > 0 ? speed_of_light / time : longest->utilisation)};
}

}  // namespace

std::vector<std::string> unread_op_columns(const measured::CsvTable& table) {
  return measured::columns_not_read(table, measured::operator_columns(),
                                    measured::measured_columns());
}

measured::CsvTable estimate_operators(const measured::CsvTable& table, const hwdesc::Device& device,
                                      const analytical::CostModel& model,
                                      const OpTableOptions& options) {
  check_op_columns(table);
  measured::CsvTable result =
      measured::with_columns(table, {"estimate_ns", "bound", "utilisation"});
  if (options.keep_going) result = measured::with_columns(result, {"error"});
  const measured::OpDefaults defaults = measured::op_defaults(device, options.repeated);
  if (!options.keep_going) {  // report a bad row before computing the others
    base::parallel_for(table.rows.size(), options.jobs, [&](std::size_t i) {
      static_cast<void>(measured::operator_launches(table, table.rows[i], defaults));
    });
  }
  base::parallel_for(table.rows.size(), options.jobs, [&](std::size_t i) {
    std::vector<std::string>& cells = result.rows[i].cells;
    std::vector<std::string> answer;
    try {
      answer = answer_cells(table, table.rows[i], device, model, defaults);
      if (options.keep_going) answer.emplace_back();
    } catch (const Error& error) {
      if (!options.keep_going) throw;
      answer = {"", "", "", error.what()};
    }
    cells.insert(cells.end(), answer.begin(), answer.end());
  });
  return result;
}

}  // namespace tilecast::sim
