#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "sim/op_table.h"
#include "sim/python/bindings.h"
#include "sim/tile_table.h"

namespace tilecast::sim::python {
namespace {

using analytical::TileConfig;
using Numbers = py::array_t<std::int64_t, py::array::c_style>;

// The rows of an array (tiles, dimensions), put where `part` of each tile is.
void fill(const std::optional<Numbers>& rows, const char* what, ir::Dims TileConfig::*part,
          std::vector<TileConfig>& tiles) {
  if (!rows) return;
  if (rows->ndim() != 2 || static_cast<std::size_t>(rows->shape(0)) != tiles.size()) {
    throw Error(fmt::format("{}: expected an array of {} rows and a column per dimension", what,
                            tiles.size()));
  }
  const auto cells = rows->unchecked<2>();
  for (py::ssize_t i = 0; i < cells.shape(0); ++i) {
    ir::Dims& dims = tiles[static_cast<std::size_t>(i)].*part;
    for (py::ssize_t k = 0; k < cells.shape(1); ++k) dims.push_back(cells(i, k));
  }
}

void fill(const std::optional<Numbers>& values, const char* what, int TileConfig::*part,
          std::vector<TileConfig>& tiles) {
  constexpr std::int64_t kMost = 1024;
  if (!values) return;
  if (values->ndim() != 1 || static_cast<std::size_t>(values->shape(0)) != tiles.size()) {
    throw Error(fmt::format("{}: expected an array of {} numbers", what, tiles.size()));
  }
  const auto cells = values->unchecked<1>();
  for (py::ssize_t i = 0; i < cells.shape(0); ++i) {
    if (cells(i) < 0 || cells(i) > kMost) {
      throw Error(fmt::format("{}: row {}: got {}, expected 0 to {}", what, i, cells(i), kMost));
    }
    tiles[static_cast<std::size_t>(i)].*part = static_cast<int>(cells(i));
  }
}

py::array_t<double> tile_times(const ReadProgram& program, const hwdesc::Device& device,
                               const ChosenModel& model, const std::string& kernel,
                               const std::optional<Numbers>& output,
                               const std::optional<Numbers>& kernel_tile,
                               const std::optional<Numbers>& stages,
                               const std::optional<Numbers>& warps) {
  const auto& first = output ? output : kernel_tile;
  if (!first || first->ndim() != 2) {
    throw Error("output: expected an array of a row per tile and a column per dimension");
  }
  std::vector<TileConfig> tiles(static_cast<std::size_t>(first->shape(0)));
  fill(output, "output", &TileConfig::output, tiles);
  fill(kernel_tile, "kernel_tile", &TileConfig::kernel, tiles);
  fill(stages, "stages", &TileConfig::stages, tiles);
  fill(warps, "warps", &TileConfig::warps, tiles);
  std::vector<double> times;
  {
    const py::gil_scoped_release released;
    const PlacedProgram placed = placed_on(program, device);
    times =
        tile_times_s(find_kernel(placed.built.program, kernel, placed.file), device, model, tiles);
  }
  return py::array_t<double>(static_cast<py::ssize_t>(times.size()), times.data());
}

// (tiles, dimensions); None where that part is not cut.
py::object array_of(const std::vector<TileConfig>& tiles, ir::Dims TileConfig::*part) {
  const std::size_t rank = tiles.empty() ? 0 : (tiles.front().*part).size();
  if (rank == 0) return py::none();
  Numbers out({tiles.size(), rank});
  auto cells = out.mutable_unchecked<2>();
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const ir::Dims& dims = tiles[i].*part;
    if (dims.size() != rank) throw Error("tiles of several ranks");
    for (std::size_t k = 0; k < rank; ++k) {
      cells(static_cast<py::ssize_t>(i), static_cast<py::ssize_t>(k)) = dims[k];
    }
  }
  return out;
}

py::object array_of(const std::vector<TileConfig>& tiles, int TileConfig::*part) {
  const auto told = [part](const TileConfig& tile) { return tile.*part > 0; };
  if (std::ranges::none_of(tiles, told)) return py::none();
  Numbers out(static_cast<py::ssize_t>(tiles.size()));
  auto cells = out.mutable_unchecked<1>();
  for (std::size_t i = 0; i < tiles.size(); ++i)
    cells(static_cast<py::ssize_t>(i)) = tiles[i].*part;
  return out;
}

analytical::TileSet listing_of(const std::string& listing) {
  using enum analytical::TileSet;
  if (listing == "ladder") return kLadder;
  if (listing == "all") return kAll;
  if (listing == "schedules") return kSchedules;
  throw Error(fmt::format("listing: got '{}', expected ladder, all or schedules", listing));
}

py::dict list_tiles(const ReadProgram& program, const hwdesc::Device& device,
                    const std::string& kernel, const std::string& listing, std::size_t limit) {
  const analytical::TileSet set = listing_of(listing);
  std::vector<TileConfig> tiles;
  {
    const py::gil_scoped_release released;
    const PlacedProgram placed = placed_on(program, device);
    const analytical::KernelAnalysis analysis(
        find_kernel(placed.built.program, kernel, placed.file), device);
    tiles = analysis.tiles(limit, set);
  }
  py::dict out;
  out["output"] = array_of(tiles, &TileConfig::output);
  out["kernel_tile"] = array_of(tiles, &TileConfig::kernel);
  out["stages"] = array_of(tiles, &TileConfig::stages);
  out["warps"] = array_of(tiles, &TileConfig::warps);
  return out;
}

measured::CsvTable table_of(const Columns& columns) {
  measured::CsvTable table{"table", {}, {}};
  for (const auto& [name, cells] : columns) {
    table.columns.push_back(name);
    if (table.columns.size() == 1) table.rows.resize(cells.size());
    if (cells.size() != table.rows.size()) {
      throw Error(fmt::format("table: column '{}': got {} rows, expected {}", name, cells.size(),
                              table.rows.size()));
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      table.rows[i].line = static_cast<int>(i) + 2;  // as if the columns' names were line 1
      table.rows[i].cells.push_back(cells[i]);
    }
  }
  return table;
}

struct TileTable {
  std::string kernel, listing;
  std::optional<std::size_t> most;
};

// `given`: the caller's rows; none: the fastest that are listed.
Columns tile_table(const ReadProgram& program, const hwdesc::Device& device,
                   const ChosenModel& model, const std::optional<measured::CsvTable>& given,
                   const TileTable& asked) {
  const PlacedProgram placed = placed_on(program, device);
  const ir::Kernel& kernel = find_kernel(placed.built.program, asked.kernel, placed.file);
  const analytical::CostModel* times = model.name == "analytical" ? nullptr : model.model.get();
  const auto by_times = analytical::make_time_ranker(times);
  const analytical::TileRanker& order = model.ranker != nullptr ? *model.ranker : *by_times;
  OfferedRows offered;
  if (!given) {
    offered = fastest_listed(kernel, device, order, listing_of(asked.listing),
                             asked.most.value_or(kShownTiles));
    if (offered.offered == 0) {
      throw Error(fmt::format("{}: {} has no tiles", placed.file, kernel.name()));
    }
  } else {
    offered.rows = rows_of_file(*given, placed.file);
    if (asked.most) offered = fastest_rows(offered.rows, kernel, device, order, *asked.most);
  }
  return columns_of(estimate_tiles(offered.rows, kernel, device, times, model.ranker));
}

Columns estimate_table(const measured::CsvTable& table, const hwdesc::Device& device,
                       const ChosenModel& model, bool repeated, bool keep_going) {
  static_cast<void>(unread_op_columns(table));
  return columns_of(estimate_operators(table, device, *model.model,
                                       {.keep_going = keep_going, .repeated = repeated}));
}

}  // namespace

Columns columns_of(const measured::CsvTable& table) {
  Columns columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    columns.push_back({table.columns[c], {}});
    for (const measured::CsvRow& row : table.rows) columns.back().second.push_back(row.cells[c]);
  }
  return columns;
}

void bind_tables(py::module_& m) {
  using Released = py::call_guard<py::gil_scoped_release>;
  m.def("_tiles", &tile_times);
  m.def("_list_tiles", &list_tiles);
  m.def(
      "_tile_table",
      [](const ReadProgram& program, const hwdesc::Device& device, const ChosenModel& model,
         const std::string& kernel, const std::optional<Columns>& given, const std::string& listing,
         std::optional<std::size_t> most) {
        std::optional<measured::CsvTable> rows;
        if (given) rows = table_of(*given);
        return tile_table(program, device, model, rows, {kernel, listing, most});
      },
      Released());
  m.def(
      "_tile_table_of_file",
      [](const ReadProgram& program, const hwdesc::Device& device, const ChosenModel& model,
         const std::string& kernel, const std::string& path, const std::string& listing,
         std::optional<std::size_t> most) {
        return tile_table(program, device, model,
                          measured::read_csv(base::SourceText::read_file(path)),
                          {kernel, listing, most});
      },
      Released());
  m.def(
      "_ops",
      [](const Columns& table, const hwdesc::Device& device, const ChosenModel& model,
         bool repeated, bool keep_going) {
        return estimate_table(table_of(table), device, model, repeated, keep_going);
      },
      Released());
  m.def(
      "_ops_of_file",
      [](const std::string& path, const hwdesc::Device& device, const ChosenModel& model,
         bool repeated, bool keep_going) {
        return estimate_table(measured::read_csv(base::SourceText::read_file(path)), device, model,
                              repeated, keep_going);
      },
      Released());
}

}  // namespace tilecast::sim::python
