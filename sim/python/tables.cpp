#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analytical/tile.h"
#include "base/error.h"
#include "sim/op_table.h"
#include "sim/python/bindings.h"
#include "sim/tile_table.h"

namespace tilecast::sim::python {
namespace {

using analytical::TileConfig;
using analytical::TilePart;
using Numbers = py::array_t<std::int64_t, py::array::c_style>;

using Arrays = std::map<std::string, Numbers>;  // by part name

// One row per tile: an array with one column per dimension, or a single number. A row of zeros sets
// nothing.
void fill(const Numbers& rows, const TilePart& part, std::vector<TileConfig>& tiles) {
  const int rank = part.is_list() ? 2 : 1;
  if (rows.ndim() != rank || static_cast<std::size_t>(rows.shape(0)) != tiles.size()) {
    throw Error(fmt::format("{}: expected an array of {} {}", part.name, tiles.size(),
                            rank == 2 ? "rows and a column per dimension" : "numbers"));
  }
  const auto width = static_cast<std::size_t>(rank == 2 ? rows.shape(1) : 1);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const std::int64_t* row = rows.data() + i * width;
    if (rank == 1 && (*row < 0 || *row > TilePart::kMost)) {
      throw Error(
          fmt::format("{}: row {}: got {}, expected 0 to {}", part.name, i, *row, TilePart::kMost));
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
      throw Error(fmt::format("table: column '{}': got {} rows, expected {}", name, cells.size(),
                              table.rows.size()));
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      table.rows[i].line = static_cast<int>(i) + 2;  // as in a file with the header in line 1
      table.rows[i].cells.push_back(cells[i]);
    }
  }
  return table;
}

struct TileTable {
  std::string kernel, listing;
  std::optional<std::size_t> most;
};

// `given`: the caller's rows; null: the best of the listed tiles.
Columns tile_table(const ReadProgram& program, const hwdesc::Device& device,
                   const ChosenModel& model, const measured::CsvTable* given,
                   const TileTable& asked) {
  const PlacedProgram placed = placed_on(program, device);
  const ir::Kernel& kernel = find_kernel(placed.built.program, asked.kernel, placed.file);
  const analytical::CostModel* times = model.name == "analytical" ? nullptr : model.model.get();
  const auto by_times = analytical::make_time_ranker(times);
  const analytical::TileRanker& order = model.ranker != nullptr ? *model.ranker : *by_times;
  OfferedRows offered;
  if (given == nullptr) {
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
  py::list parts;  // names, and the words in a tile's text
  for (const TilePart& part : analytical::tile_parts()) {
    parts.append(py::make_tuple(std::string(part.name), std::string(part.word)));
  }
  m.attr("_tile_parts") = parts;
  py::class_<measured::CsvTable>(m, "_Table")
      .def(py::init(&table_of), Released())
      .def(py::init([](const std::string& path) {
             return measured::read_csv(base::SourceText::read_file(path));
           }),
           Released());
  m.def("_tiles", &tile_times);
  m.def("_list_tiles", &list_tiles);
  m.def(
      "_tile_table",
      [](const ReadProgram& program, const hwdesc::Device& device, const ChosenModel& model,
         const std::string& kernel, const measured::CsvTable* given, const std::string& listing,
         std::optional<std::size_t> most) {
        return tile_table(program, device, model, given, {kernel, listing, most});
      },
      Released());
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

}  // namespace tilecast::sim::python
