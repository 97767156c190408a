// Options shared by several verbs, and the objects they select.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "measured/csv.h"
#include "sim/answers.h"
#include "sim/cli/tell.h"
#include "sim/evaluation_request.h"
#include "sim/model_choice.h"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace tilecast::sim::cli {

// An option for a file to write. Checked before any work: the file must be writable and must not be
// one of the inputs (base::OutputClaim).
CLI::Option* add_output_file(CLI::App& verb, const std::string& names, std::string& file,
                             const std::string& what);

struct OutputOptions {
  std::string format;  // "table", "json", "csv", "trace"
  std::string file;    // "" = stdout
};
void add_output_options(CLI::App& verb, OutputOptions& options,
                        const std::vector<std::string>& formats);
// Only --format, where -o names another file; "table" by default.
void add_format_option(CLI::App& verb, std::string& format, const std::vector<std::string>& formats,
                       const std::string& what = "form of the answer");
// Writes to the file (base::replace_file) or to stdout, with escape sequences disabled on a
// terminal.
void write(const OutputOptions& options, const std::string& text);
// Prints the table's unused columns, if any.
void note_unread(const std::string& file, const std::vector<std::string>& columns);
// Writes rows in the requested format; `schema` names the JSON.
void write_rows(const OutputOptions& options, const measured::CsvTable& rows,
                const std::string& schema);

struct DeviceOptions {
  std::vector<std::string> names;  // presets or paths
  std::vector<std::string> set;    // key=value
};
enum class Devices { kOne, kOneOrMore, kOptional, kAnyNumber };
void add_device_options(CLI::App& verb, DeviceOptions& options, Devices count);
[[nodiscard]] std::vector<hwdesc::Device> load_devices(const DeviceOptions& options);
// One note per override, for reports.
[[nodiscard]] std::vector<ir::Note> override_notes(const DeviceOptions& options);

struct LoadArguments {
  std::string fusion = "default";
  double trip_count = ir::LoadOptions{}.trip_count;
  bool strict = false;
  std::int64_t bound = 0;           // 0: not given
  std::vector<std::string> shapes;  // NAME=1x3x224x224
};
void add_load_options(CLI::App& verb, LoadArguments& arguments);
[[nodiscard]] ir::LoadOptions load_options(const LoadArguments& arguments);
// The subset of add_load_options() that affects reading a file.
void add_read_options(CLI::App& verb, LoadArguments& arguments);
[[nodiscard]] ir::ReadOptions read_options(const LoadArguments& arguments);

void add_jobs_option(CLI::App& verb, int& jobs);
// -k,--kernel, a kernel of a program; --top, the number of rows of a table.
void add_kernel_option(CLI::App& verb, std::string& kernel);
void add_top_option(CLI::App& verb, std::size_t& top, const std::string& what);
// Parses a duration, "10 s" or "1.5 min", given to `option`.
[[nodiscard]] double seconds_of(const std::string& text, const char* option);

// The models by name (sim/model_choice.h), and the default of every verb.
inline constexpr const char* kDefaultModel = "default";
void add_model_option(CLI::App& verb, std::string& model);
[[nodiscard]] CLI::Validator is_model_name();
// Prints to stderr, for tables that do not name the model: which model is used if it is not the
// analytical one, and its note.
void note_model(const ChosenModel& model);

// Which tiles kernels use if their program does not say.
struct TileArguments {
  std::string ranker;  // a model's name; empty: the model that predicts times
  std::string file;    // for search::read_tiles(); empty: none
};
void add_tile_options(CLI::App& verb, TileArguments& arguments);
// --list: which set of tiles to list for a kernel.
CLI::Option* add_listing_option(CLI::App& verb, std::string& listing);
[[nodiscard]] analytical::TileSet tile_set(const std::string& listing);
// `what` ("model.hlo: dot.4 has no tiles") in this list on the device, and why.
[[nodiscard]] Error nothing_listed(const std::string& what, const std::string& listing,
                                   const hwdesc::Device& device);
// Prints to stderr where the tiles come from, if they are Tilecast's own.
void note_listing(const std::string& listing);
// The subset of add_tile_options() that selects the ranking model.
void add_ranker_option(CLI::App& verb, TileArguments& arguments);
// The model called `name`, estimating times for the tiles of `tiles`.
[[nodiscard]] ChosenModel model_with_tiles(const std::string& name, const TileArguments& tiles,
                                           std::span<const hwdesc::Device> devices);

}  // namespace tilecast::sim::cli
