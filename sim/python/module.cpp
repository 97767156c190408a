// The compiled part of the Python package. The GIL is released during computations.
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analytical/tile.h"
#include "base/error.h"
#include "base/jobs.h"
#include "base/text.h"
#include "hwdesc/xla_target.h"
#include "ir/load_program.h"
#include "measured/csv.h"
#include "sim/answers.h"
#include "sim/cli/commands.h"
#include "sim/study/study_run.h"
#include "sim/study/study_table.h"
#include "sim/tables.h"
#include "sim/version.h"
#include "sim/views/explain.h"
#include "sim/views/rows.h"
#include "sim/views/simulation.h"

namespace tilecast::sim::python {
namespace {

namespace py = pybind11;
using Released = py::call_guard<py::gil_scoped_release>;

// A program as read; it is split into kernels once a device is given.
struct ReadProgram {
  ir::LoadedModule module;
  ir::LoadOptions load;
};

// A table by columns, in the form that Python passes and receives.
using Columns = std::vector<std::pair<std::string, std::vector<std::string>>>;

PlacedProgram placed_on(const ReadProgram& program, const hwdesc::Device& device) {
  return place(program.module, device, program.load);
}

Columns columns_of(const measured::CsvTable& table) {
  Columns columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    columns.push_back({table.columns[c], {}});
    for (const measured::CsvRow& row : table.rows) columns.back().second.push_back(row.cells[c]);
  }
  return columns;
}

// The class tilecast.Error; lives as long as the interpreter.
PyObject* error_class = nullptr;

void raise(const Error& error) {
  const ErrorPlace place = error_place(error.what());
  py::object instance = py::handle(error_class)(py::str(base::printable(error.what())));
  instance.attr("file") = place.file.empty() ? py::object(py::none()) : py::str(place.file);
  instance.attr("line") = place.line == 0 ? py::object(py::none()) : py::int_(place.line);
  instance.attr("column") = place.column == 0 ? py::object(py::none()) : py::int_(place.column);
  PyErr_SetObject(error_class, instance.ptr());
}

void bind_error(py::module_& m) {
  py::dict places;  // of errors that Python raises
  for (const char* name : {"file", "line", "column"}) places[name] = py::none();
  error_class = PyErr_NewException("tilecast.Error", PyExc_ValueError, places.ptr());
  m.attr("Error") = py::reinterpret_borrow<py::object>(error_class);
  m.def("_raise", [](const std::string& message) { throw Error("{}", message); });
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise(error);
    }
  });
}

ir::LoadOptions load_options(bool fuse, double trip_count) {
  constexpr double kMaxTripCount = 1e12;
  if (!(trip_count >= 0 && trip_count <= kMaxTripCount)) {
    throw Error("trip_count: got {}, expected a number from 0 to {}", trip_count, kMaxTripCount);
  }
  return {.fuse = fuse, .trip_count = trip_count};
}

ReadProgram read_file(const std::string& path, bool fuse, double trip_count) {
  const ir::LoadOptions load = load_options(fuse, trip_count);
  return {ir::load_module(path, load), load};
}

ReadProgram read_text(std::string text, const std::string& name, bool fuse, double trip_count) {
  const ir::LoadOptions load = load_options(fuse, trip_count);
  return {ir::load_module(base::SourceText(name, std::move(text)), load), load};
}

std::vector<std::string> kernel_names(const ReadProgram& program, const hwdesc::Device& device) {
  const PlacedProgram placed = placed_on(program, device);
  std::vector<std::string> names;
  for (const auto& scheduled : placed.built.program.kernels()) {
    names.push_back(scheduled.kernel.name());
  }
  return names;
}

// Devices of one host, on machines whose hosts a network joins; 0 where links join all.
int devices_of_host(const hwdesc::Device& device) {
  const auto& links = device.interconnect;
  return links && links->topology == "switch" ? links->devices_per_host : 0;
}

void bind_devices(py::module_& m) {
  bind_error(m);
  m.def("devices", &hwdesc::preset_names, "Names of the presets.");
  py::class_<hwdesc::Device>(m, "_Device")
      .def(py::init([](const std::string& name, const std::vector<std::string>& set) {
             return hwdesc::load_device(name, device_overrides(set));
           }),
           Released())
      .def_readonly("name", &hwdesc::Device::name)
      .def_readonly("xla_target", &hwdesc::Device::xla_target)
      .def_readonly("cores_per_chip", &hwdesc::Device::cores_per_chip)
      .def_property_readonly("memory_bytes",
                             [](const hwdesc::Device& d) { return d.main_memory().capacity.value; })
      .def_property_readonly("host_devices", &devices_of_host)
      .def_property_readonly(
          "in_slice",
          [](const hwdesc::Device& d) { return d.interconnect && d.interconnect->slice; })
      .def("matrix_peak", [](const hwdesc::Device& d,
                             const std::string& dtype) { return d.matrix_peak(dtype).value; })
      .def_property_readonly("execution",
                             [](const hwdesc::Device& d) { return hwdesc::name(d.execution); })
      .def("xla_gpu_target", &hwdesc::xla_gpu_target)
      .def("yaml", &hwdesc::print_device, Released());
  py::class_<ReadProgram>(m, "_Program")
      .def(py::init(&read_file), Released())
      .def_static("from_text", &read_text, Released())
      .def_property_readonly("file", [](const ReadProgram& p) { return p.module.file; })
      .def("kernels", &kernel_names, Released());
  py::class_<ChosenModel>(m, "_Model")
      .def(py::init([](const std::string& name, const hwdesc::Device& device) {
             return choose_model(name, {&device, 1});
           }),
           Released())
      .def_readonly("name", &ChosenModel::name)
      .def_readonly("note", &ChosenModel::note);
}

using analytical::TileConfig;
using analytical::TilePart;
using Numbers = py::array_t<std::int64_t, py::array::c_style>;

using Arrays = std::map<std::string, Numbers>;  // by part name

// One row per tile: an array with one column per dimension, or a single number. A row of zeros sets
// nothing.
void fill(const Numbers& rows, const TilePart& part, std::vector<TileConfig>& tiles) {
  const int rank = part.is_list() ? 2 : 1;
  if (rows.ndim() != rank || static_cast<std::size_t>(rows.shape(0)) != tiles.size()) {
    throw Error("{}: expected an array of {} {}", part.name, tiles.size(),
                rank == 2 ? "rows and a column per dimension" : "numbers");
  }
  const auto width = static_cast<std::size_t>(rank == 2 ? rows.shape(1) : 1);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const std::int64_t* row = rows.data() + i * width;
    if (rank == 1 && (*row < 0 || *row > TilePart::kMost)) {
      throw Error("{}: row {}: got {}, expected 0 to {}", part.name, i, *row, TilePart::kMost);
    }
    if (!std::all_of(row, row + width, [](std::int64_t size) { return size == 0; })) {
      part.set(tiles[i], {row, row + width});
    }
  }
}

py::array_t<double> tile_times(const ReadProgram& program, const hwdesc::Device& device,
                               const ChosenModel& model, const std::string& kernel,
                               const Arrays& parts) {
  if (parts.empty() || parts.begin()->second.ndim() == 0) {
    throw Error("output: expected an array of a row per tile and a column per dimension");
  }
  std::vector<TileConfig> tiles(static_cast<std::size_t>(parts.begin()->second.shape(0)));
  for (const TilePart& part : analytical::tile_parts()) {
    const auto given = parts.find(std::string(part.name));
    if (given != parts.end()) fill(given->second, part, tiles);
  }
  std::vector<double> times;
  {
    const py::gil_scoped_release released;
    const PlacedProgram placed = placed_on(program, device);
    times =
        tile_times_s(find_kernel(placed.built.program, kernel, placed.file), device, model, tiles);
  }
  return py::array_t<double>(static_cast<py::ssize_t>(times.size()), times.data());
}

// (tiles, dimensions) or (tiles,); None if no tile has that part.
py::object array_of(const std::vector<TileConfig>& tiles, const TilePart& part) {
  std::size_t rank = 0;
  for (const TileConfig& tile : tiles) rank = std::max(rank, part.numbers(tile).size());
  if (rank == 0) return py::none();
  Numbers out(part.is_list() ? std::vector{tiles.size(), rank} : std::vector{tiles.size()});
  std::int64_t* cell = out.mutable_data();
  for (const TileConfig& tile : tiles) {
    ir::Dims numbers = part.numbers(tile);
    if (numbers.empty()) numbers.resize(rank, 0);
    if (numbers.size() != rank) throw Error("tiles of several ranks");
    cell = std::ranges::copy(numbers, cell).out;
  }
  return out;
}

py::dict list_tiles(const ReadProgram& program, const hwdesc::Device& device,
                    const std::string& kernel, const std::string& listing, std::size_t limit) {
  const analytical::TileSet set = tile_set(listing);
  std::vector<TileConfig> tiles;
  {
    const py::gil_scoped_release released;
    const PlacedProgram placed = placed_on(program, device);
    const analytical::KernelAnalysis analysis(
        find_kernel(placed.built.program, kernel, placed.file), device);
    tiles = analysis.tiles(limit, set);
  }
  py::dict out;
  for (const TilePart& part : analytical::tile_parts()) {
    out[py::str(std::string(part.name))] = array_of(tiles, part);
  }
  return out;
}

measured::CsvTable table_of(const Columns& columns) {
  measured::CsvTable table{"table", {}, {}};
  for (const auto& [name, cells] : columns) {
    table.columns.push_back(name);
    if (table.columns.size() == 1) table.rows.resize(cells.size());
    if (cells.size() != table.rows.size()) {
      throw Error("table: column '{}': got {} rows, expected {}", name, cells.size(),
                  table.rows.size());
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      table.rows[i].line = static_cast<int>(i) + 2;  // as in a file with the header in line 1
      table.rows[i].cells.push_back(cells[i]);
    }
  }
  return table;
}

// `given`: the caller's rows; null: the best of the listed tiles.
Columns tile_table(const ReadProgram& program, const hwdesc::Device& device,
                   const ChosenModel& model, const std::string& name,
                   const measured::CsvTable* given, const std::string& listing,
                   std::optional<std::size_t> most) {
  const PlacedProgram placed = placed_on(program, device);
  const ir::Kernel& kernel = find_kernel(placed.built.program, name, placed.file);
  const analytical::CostModel* times = model.name == "analytical" ? nullptr : model.model.get();
  const auto by_times = analytical::make_time_ranker(times);
  const analytical::TileRanker& order = model.ranker != nullptr ? *model.ranker : *by_times;
  OfferedRows offered;
  if (given == nullptr) {
    offered = fastest_listed(kernel, device, order, tile_set(listing), most.value_or(kShownTiles));
    if (offered.offered == 0) {
      throw Error("{}: {} has no tiles", placed.file, kernel.name());
    }
  } else {
    offered.rows = rows_of_file(*given, placed.file);
    if (most) offered = fastest_rows(offered.rows, kernel, device, order, *most);
  }
  return columns_of(estimate_tiles(offered.rows, kernel, device, times, model.ranker));
}

void bind_tables(py::module_& m) {
  py::list parts;  // names, and the words in a tile's text
  for (const TilePart& part : analytical::tile_parts()) {
    parts.append(py::make_tuple(std::string(part.name), std::string(part.word)));
  }
  m.attr("_tile_parts") = parts;
  m.def("_si", &views::si, "A number with an SI prefix and its unit.");
  py::class_<measured::CsvTable>(m, "_Table")
      .def(py::init(&table_of), Released())
      .def(py::init([](const std::string& path) {
             return measured::read_csv(base::SourceText::read_file(path));
           }),
           Released());
  m.def("_tiles", &tile_times);
  m.def("_list_tiles", &list_tiles);
  m.def("_tile_table", &tile_table, Released());
  m.def(
      "_ops",
      [](const measured::CsvTable& table, const hwdesc::Device& device, const ChosenModel& model,
         bool repeated, bool keep_going) {
        static_cast<void>(unread_op_columns(table));
        return columns_of(estimate_operators(table, device, *model.model,
                                             {.keep_going = keep_going, .repeated = repeated}));
      },
      Released());
}

Simulation run_program(const ReadProgram& program, const hwdesc::Device& device,
                       const ChosenModel& model, bool skip_unknown) {
  return simulate(placed_on(program, device), model,
                  {.skip_unknown = skip_unknown, .contents = true});
}

Explanation run_explain(const ReadProgram& program, const hwdesc::Device& device,
                        const ChosenModel& model, const std::string& kernel,
                        const std::string& tile, std::size_t top) {
  return explain(placed_on(program, device), kernel, model, tile, top);
}

// Python reads their numbers from the JSON (tilecast/__init__.py).
void bind_simulation(py::module_& m) {
  py::class_<Simulation>(m, "_Simulation")
      .def("text", [](const Simulation& run) { return views::table(run); })
      .def("json", [](const Simulation& run) {
        return views::json({&run, 1});
      });
  m.def("_simulate", &run_program, Released());
  py::class_<Explanation>(m, "_Explanation")
      .def("text", &views::explain_text)
      .def("json", &views::explain_json);
  m.def("_explain", &run_explain, Released());
}

// A study whose rows, lines of CSV without names, are computed by ranges of points.
struct OpenStudy {
  OpenStudy(const std::string& path, const std::string& pareto, bool front)
      : study(load_study(path)), run(study), objectives(front_objectives(study, pareto, front)) {}
  [[nodiscard]] std::string identity() const {
    return fmt::format("{:016x}", base::fnv1a(version() + run.identity()));
  }
  [[nodiscard]] std::string rows(std::size_t first, std::size_t last) const {
    std::string lines;
    for (std::size_t point = first; point < last; ++point) lines += run.rows(point);
    return lines;
  }
  [[nodiscard]] std::string front(const std::vector<std::string>& rows) const {
    std::string lines;
    for (const auto& row : pareto_rows(study, run.table(rows), objectives).rows) {
      lines += measured::csv_line(row.cells);
    }
    return lines;
  }
  [[nodiscard]] std::vector<std::string> texts() const {  // columns that are not numbers
    std::vector<std::string> names = {"device", "program", "model", "bound", "broken", "error"};
    for (const StudyAxis& axis : study.axes) {
      if (!axis.numeric) names.push_back(axis.key);
    }
    return names;
  }
  Study study;
  StudyRun run;
  std::vector<StudyObjective> objectives;
};

void bind_studies(py::module_& m) {
  py::class_<OpenStudy>(m, "_Study")
      .def(py::init<const std::string&, const std::string&, bool>(), Released())
      .def_property_readonly("points", [](const OpenStudy& s) { return s.run.points(); })
      .def_property_readonly("columns", [](const OpenStudy& s) { return s.run.columns(); })
      .def_property_readonly("texts", &OpenStudy::texts)
      .def_property_readonly("identity", &OpenStudy::identity)
      .def("rows", &OpenStudy::rows, Released())
      .def("front", &OpenStudy::front, Released());
}

// The command; returns its exit code.
int command(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return cli::program(static_cast<int>(arguments.size()), argv.data(), &cli::run);
}

}  // namespace
}  // namespace tilecast::sim::python

PYBIND11_MODULE(_tilecast, m) {
  tilecast::sim::python::bind_devices(m);
  tilecast::sim::python::bind_simulation(m);
  tilecast::sim::python::bind_tables(m);
  tilecast::sim::python::bind_studies(m);
  m.def("_command", &tilecast::sim::python::command,
        pybind11::call_guard<pybind11::gil_scoped_release>());
}
