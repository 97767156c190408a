#include "measured/works.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "base/error.h"
#include "base/parallel.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "ir/load_program.h"
#include "measured/op_kernels.h"
#include "measured/op_row.h"
#include "measured/paradnn.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTrainingStep = "fc_training";  // measured/paradnn.h

// Rows with the same source of work: an operator or a file.
struct Source {
  std::vector<std::size_t> works;            // into WorksOfRows::works
  std::vector<const MeasurementRow*> first;  // the first row of each
};

std::string fingerprint_of(const std::vector<WorkloadPart>& parts) {
  const auto hex = [](const ir::Kernel& kernel) {
    const ir::Fingerprint print = ir::fingerprint(kernel);
    return fmt::format("{:016x}{:016x}", print[0], print[1]);
  };
  if (parts.size() == 1 && parts[0].launches == 1) return hex(parts[0].kernel);
  std::string all;
  for (const WorkloadPart& part : parts)
    all += fmt::format("{}x{};", hex(part.kernel), part.launches);
  return content_hash(all);
}

bool is_whole_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "matmul bf16 m=64 n=12288": the operator and its cells. `bucketed`: sizes are rounded down to
// powers of two.
std::string describe_operator(const std::string& key, bool bucketed) {
  std::string text;
  for (std::size_t at = 0; at < key.size();) {
    const std::size_t end = std::min(key.find(' ', at), key.size());
    const std::string_view cell = std::string_view(key).substr(at, end - at);
    const std::size_t equals = cell.find('=');
    at = end + 1;
    if (cell.starts_with("op=")) {
      text += cell.substr(3);
    } else if (cell.starts_with("dtype=")) {
      text += fmt::format(" {}", cell.substr(equals + 1));
    } else if (const std::string_view value = cell.substr(equals + 1);
               bucketed && is_whole_number(value) && value.size() < 18) {
      std::int64_t power = 1;
      while (power * 2 <= std::stoll(std::string(value))) power *= 2;
      text += fmt::format(" {}={}", cell.substr(0, equals), power);
    } else {
      text += fmt::format(" {}", cell);
    }
  }
  return text;
}

class Builder {
 public:
  Builder(const MeasurementSet& set, const hwdesc::Device& device)
      : set_(set), device_(device), defaults_(op_defaults(device)) {}

  void build(const Source& source, std::deque<Workload>& works) const {
    if (source.first.front()->file.empty()) {
      build_operator(*source.first.front(), works[source.works.front()]);
    } else {
      build_from_file(source, works);
    }
  }

 private:
  [[noreturn]] void fail(const MeasurementRow& row, std::string_view message) const {
    const std::string where =
        set_.table.where(set_.table.rows[row.table_row], row.is_program ? "program" : "kernel");
    throw Error(fmt::format("{}: {}", where, message));
  }
  template <class Body>
  auto with_place(const MeasurementRow& row, Body&& body) const {
    try {
      return body();
    } catch (const Error& error) {
      fail(row, error.what());
    }
  }

  // Builds the parts of a training step; returns its class.
  std::string build_training_step(const CsvRow& cells, Workload& work) const {
    const FcTraining parameters = fc_training_row(OpRow(set_.table, cells), defaults_);
    work.is_program = true;
    try {
      work.parts = fc_training_program(parameters, defaults_);
      if (!set_.manifest.feed) return std::string(kTrainingStep);
      return std::string(fc_training_class(parameters, work.parts, device_, *set_.manifest.feed));
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", set_.table.where(cells, "op"), error.what()));
    }
  }

  [[nodiscard]] std::vector<WorkloadPart> launches_of(const CsvRow& cells) const {
    std::vector<WorkloadPart> parts;
    for (ir::Kernel& launch : operator_launches(set_.table, cells, defaults_)) {
      parts.push_back({std::move(launch)});
    }
    return parts;
  }

  void build_operator(const MeasurementRow& row, Workload& work) const {
    const CsvRow& cells = set_.table.rows[row.table_row];
    const std::string key = operator_key(set_.table, cells);
    work.name = describe_operator(key, false);
    std::string op(set_.table.cell(cells, "op"));
    if (op == kTrainingStep) {
      op = build_training_step(cells, work);
    } else {
      work.parts = launches_of(cells);
    }
    if (op == "all-reduce") op = "all_reduce";
    finish(row, op, describe_operator(key, true), work);
  }

  void build_from_file(const Source& source, std::deque<Workload>& works) const {
    const MeasurementRow& first = *source.first.front();
    const std::string path = (fs::path(set_.directory) / first.file).string();
    const ir::Program program = with_place(first, [&] {
      const ir::LoadOptions options;
      return ir::program_for(ir::load_module(path, options), defaults_.layout, options).program;
    });
    std::unordered_map<std::string_view, const ir::Kernel*> by_name;
    for (const ir::ScheduledKernel& scheduled : program.kernels()) {
      by_name.emplace(scheduled.kernel.name(), &scheduled.kernel);
    }
    const std::string stem = fs::path(first.file).stem().string();
    for (std::size_t i = 0; i < source.works.size(); ++i) {
      const MeasurementRow& row = *source.first[i];
      Workload& work = works[source.works[i]];
      if (row.is_program) {
        work.is_program = true;
        work.name = program.name();
        for (const ir::ScheduledKernel& scheduled : program.kernels()) {
          work.parts.push_back({scheduled.kernel, scheduled.multiplicity, scheduled.asynchronous});
        }
        if (work.parts.empty()) fail(row, fmt::format("{}: no kernel that takes time", row.file));
        finish(row, "program", stem, work);
      } else {
        const ir::Kernel& kernel = *with_place(row, [&] { return find(program, by_name, row); });
        work.name = kernel.name();
        work.parts.push_back({kernel});
        finish(row, op_class(kernel), stem, work);
      }
    }
  }

  [[nodiscard]] static const ir::Kernel* find(
      const ir::Program& program,
      const std::unordered_map<std::string_view, const ir::Kernel*>& by_name,
      const MeasurementRow& row) {
    if (row.kernel.empty()) {
      if (program.kernels().size() == 1) return &program.kernels().front().kernel;
      throw Error(fmt::format("{}: {} kernels, expected one; name it: {}#KERNEL", row.file,
                              program.kernels().size(), row.file));
    }
    const auto found = by_name.find(row.kernel);
    if (found != by_name.end()) return found->second;
    std::vector<std::string_view> names;
    for (const auto& [name, kernel] : by_name) names.push_back(name);
    std::ranges::sort(names);
    const std::string near = base::nearest(row.kernel, names);
    throw Error(fmt::format("{}: no kernel is called '{}'{}", row.file, row.kernel,
                            near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }

  // Values given in the row take precedence.
  static void finish(const MeasurementRow& row, const std::string& op_class,
                     const std::string& family, Workload& work) {
    work.op_class = row.op_class.empty() ? op_class : row.op_class;
    work.family = row.family.empty() ? family : row.family;
    work.fingerprint = fingerprint_of(work.parts);
  }

  const MeasurementSet& set_;
  const hwdesc::Device& device_;
  OpDefaults defaults_;
};

}  // namespace

WorksOfRows build_works(const MeasurementSet& set, const std::vector<const MeasurementRow*>& rows,
                        const hwdesc::Device& device, int jobs) {
  WorksOfRows built;
  std::unordered_map<std::string, std::size_t> by_key;
  std::unordered_map<std::string, std::size_t> by_file;
  std::vector<Source> sources;
  for (const MeasurementRow* row : rows) {
    const std::string key = fmt::format(
        "{}#{}\n{}\n{}\n{}\n{}", row->file, row->kernel, row->is_program ? 'P' : 'K',
        row->file.empty() ? operator_key(set.table, set.table.rows[row->table_row]) : "",
        row->op_class, row->family);
    const auto [known, is_new] = by_key.emplace(key, built.works.size());
    built.work_of.push_back(known->second);
    if (!is_new) continue;
    std::size_t source = sources.size();
    if (!row->file.empty()) source = by_file.emplace(row->file, source).first->second;
    if (source == sources.size()) sources.emplace_back();
    sources[source].works.push_back(built.works.size());
    sources[source].first.push_back(row);
    built.works.emplace_back();
  }
  const Builder builder(set, device);
  base::parallel_for(sources.size(), jobs,
                     [&](std::size_t i) { builder.build(sources[i], built.works); });
  return built;
}

}  // namespace tilecast::measured
