#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "measured/importers/import_manifest.h"
#include "measured/importers/importer.h"
#include "measured/importers/npz_reader.h"
#include "measured/importers/set_writer.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kMaxConfigValues = std::int64_t{1} << 22;  // of one run
constexpr std::int64_t kRunsPerReport = 1024;

[[noreturn]] void bad_shape(const NpzFile& file, const std::string& array,
                            const std::string& what) {
  throw Error(fmt::format("{}: array '{}': {}", file.path(), array, what));
}

// A matrix in memory, rows by columns.
struct Matrix {
  std::size_t rows = 0, columns = 1;
  std::vector<double> values;

  [[nodiscard]] double at(std::size_t row, std::size_t column) const {
    return values[row * columns + column];
  }
};

Matrix read_matrix(const NpzFile& file, const std::string& name) {
  NpyArray array = file.open(name);
  Matrix matrix;
  matrix.values = array.read_matrix();
  const auto& shape = array.header().shape;
  matrix.rows = static_cast<std::size_t>(shape[0]);
  matrix.columns = shape.size() == 2 ? static_cast<std::size_t>(shape[1]) : 1;
  return matrix;
}

// A matrix whose values are places in an array of `below`.
Matrix read_places(const NpzFile& file, const std::string& name, std::size_t below) {
  Matrix matrix = read_matrix(file, name);
  for (const double value : matrix.values) {
    if (!(value >= 0) || value >= static_cast<double>(below) || value != std::floor(value)) {
      bad_shape(file, name, fmt::format("got {}, expected a node below {}", value, below));
    }
  }
  return matrix;
}

void append_number(std::string& line, double value) {
  fmt::format_to(std::back_inserter(line), "{}", value);
}

// graphs/NAME.nodes.csv and graphs/NAME.edges.csv; the number of configurable nodes.
std::size_t write_graph(const NpzFile& file, const std::string& name, SetWriter& writer) {
  const Matrix opcodes = read_matrix(file, "node_opcode");
  const Matrix features = read_matrix(file, "node_feat");
  if (opcodes.columns != 1 || features.rows != opcodes.rows) {
    bad_shape(file, "node_feat", fmt::format("{} rows for {} nodes", features.rows, opcodes.rows));
  }
  std::vector<std::string> order(opcodes.rows);  // of configurable nodes, as in x_config
  std::size_t configurable = 0;
  if (file.has("node_config_ids")) {
    const Matrix ids = read_places(file, "node_config_ids", opcodes.rows);
    configurable = ids.values.size();
    for (std::size_t i = 0; i < configurable; ++i) {
      order[static_cast<std::size_t>(ids.values[i])] = fmt::format("{}", i);
    }
  }
  std::string text = "node,opcode,config_node";
  for (std::size_t i = 0; i < features.columns; ++i) text += fmt::format(",feature_{}", i);
  text += '\n';
  for (std::size_t node = 0; node < opcodes.rows; ++node) {
    fmt::format_to(std::back_inserter(text), "{},{},{}", node, opcodes.values[node], order[node]);
    for (std::size_t i = 0; i < features.columns; ++i) {
      text += ',';
      append_number(text, features.at(node, i));
    }
    text += '\n';
  }
  writer.add_file("graphs/" + name + ".nodes.csv", text);
  const Matrix edges = read_places(file, "edge_index", opcodes.rows);
  if (edges.columns != 2) bad_shape(file, "edge_index", "expected two columns");
  text = "edge_index_0,edge_index_1\n";
  for (std::size_t i = 0; i < edges.rows; ++i) {
    text += fmt::format("{},{}\n", edges.at(i, 0), edges.at(i, 1));
  }
  writer.add_file("graphs/" + name + ".edges.csv", text);
  return configurable;
}

// What the runs of a graph were told, run by run.
struct Configs {
  NpyArray array;
  std::vector<double> values;  // of one run
};

Configs open_configs(const NpzFile& file, std::int64_t runs, std::size_t configurable) {
  const std::string name = file.has("node_config_feat") ? "node_config_feat" : "config_feat";
  Configs configs{file.open(name), {}};
  const NpyHeader& header = configs.array.header();
  if (header.fortran_order) bad_shape(file, name, "is in Fortran order, expected run by run");
  const std::size_t rank = name == "config_feat" ? 2 : 3;
  if (header.shape.size() != rank || header.shape[0] != runs) {
    bad_shape(file, name,
              fmt::format("shape ({}), expected {} dimensions, the first {} as in "
                          "config_runtime",
                          fmt::join(header.shape, ", "), rank, runs));
  }
  if (rank == 3 && header.shape[1] != static_cast<std::int64_t>(configurable)) {
    bad_shape(
        file, name,
        fmt::format("{} nodes, expected {} as in node_config_ids", header.shape[1], configurable));
  }
  const std::int64_t per_run = runs == 0 ? 0 : header.elements() / runs;
  if (per_run > kMaxConfigValues) {
    bad_shape(file, name, fmt::format("{} values a run, at most {}", per_run, kMaxConfigValues));
  }
  configs.values.resize(static_cast<std::size_t>(per_run));
  return configs;
}

NpyArray open_times(const NpzFile& file, const std::string& name) {
  NpyArray times = file.open(name);
  if (times.header().shape.size() != 1) bad_shape(file, name, "expected one dimension");
  return times;
}

class Runs {
 public:
  Runs(const NpzFile& file, std::size_t configurable)
      : file_(file),
        times_(open_times(file, "config_runtime")),
        count_(times_.header().shape[0]),
        configs_(open_configs(file, count_, configurable)) {
    if (!file.has("config_runtime_normalizers")) return;
    normalizers_.emplace(open_times(file, "config_runtime_normalizers"));
    if (normalizers_->header().shape[0] != count_) {
      bad_shape(file, "config_runtime_normalizers", "not one per run");
    }
  }

  [[nodiscard]] std::int64_t count() const { return count_; }

  // {graph, runtime_ns, x_normalizer_ns, x_config}; throws RowError for a run without a time.
  void next(std::int64_t run, const std::string& name, std::vector<std::string>& cells) {
    double time = 0, normalizer = 0;
    times_.read({&time, 1});
    if (normalizers_) normalizers_->read({&normalizer, 1});
    configs_.array.read(configs_.values);
    if (!(time > 0) || !std::isfinite(time)) {
      throw RowError(
          fmt::format("{}: run {}: array 'config_runtime': got {}, expected a time above "
                      "zero in nanoseconds",
                      file_.path(), run, time));
    }
    cells[0] = name;
    cells[1] = fmt::format("{}", time);
    cells[2] = normalizers_ ? fmt::format("{}", normalizer) : std::string();
    cells[3].clear();
    for (const double value : configs_.values) {
      if (!cells[3].empty()) cells[3] += ' ';
      append_number(cells[3], value);
    }
  }

 private:
  const NpzFile& file_;
  NpyArray times_;
  std::int64_t count_ = 0;
  Configs configs_;
  std::optional<NpyArray> normalizers_;
};

}  // namespace

ImportReport import_tpugraphs(const std::vector<std::string>& files, const std::string& manifest,
                              const ImportOptions& options) {
  Manifest fields = read_import_manifest(manifest, options, files.front());
  fields.subject = Subject::kGraph;
  SetWriter writer(options);
  writer.begin_rows({"graph", "runtime_ns", "x_normalizer_ns", "x_config"});
  ImportReport report;
  std::set<std::string> names;
  std::vector<std::string> cells(4);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const NpzFile file(files[i]);
    const std::string name = fs::path(files[i]).stem().string();
    if (!names.insert(name).second) {
      throw Error(fmt::format("{}: two files are called {}", files[i], name));
    }
    Runs runs(file, write_graph(file, name, writer));
    for (std::int64_t run = 0; run < runs.count(); ++run) {
      if (run % kRunsPerReport == 0) {
        const double done = static_cast<double>(run) / static_cast<double>(runs.count());
        options.progress((static_cast<double>(i) + done) / static_cast<double>(files.size()));
      }
      try {
        runs.next(run, name, cells);
      } catch (const RowError& error) {
        if (!options.keep_going) throw;
        report.add_bad(error);
        continue;
      }
      writer.add(cells);
      ++report.rows;
    }
  }
  if (report.rows == 0) throw Error(files.front() + ": no run has a time; nothing is written");
  writer.commit(fields);
  report.notes.emplace_back(
      "a set of graphs: for learned models only, analytical ones need kernels (HLO)");
  return report;
}

}  // namespace tilecast::measured
