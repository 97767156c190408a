// Options that several verbs share, and what they mean.
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

// An option that names a file to write. Before any work it must be one that can be written; nothing
// that is read may be it (base::OutputClaim).
CLI::Option* add_output_file(CLI::App& verb, const std::string& names, std::string& file,
                             const std::string& what);

struct OutputOptions {
  std::string format;  // "table", "json", "csv", "trace"
  std::string file;    // "" = stdout
};
void add_output_options(CLI::App& verb, OutputOptions& options,
                        const std::vector<std::string>& formats);
// The form alone, where -o names another file; "table" unless told otherwise.
void add_format_option(CLI::App& verb, std::string& format, const std::vector<std::string>& formats,
                       const std::string& what = "form of the answer");
// To the file (base::replace_file) or to stdout, where a terminal obeys nothing of it.
void write(const OutputOptions& options, const std::string& text);
// Says which columns of a table are not read, where there are any.
void note_unread(const std::string& file, const std::vector<std::string>& columns);
// A table of rows in the format asked for; `schema` names the JSON.
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
  std::int64_t bound = 0;           // 0: none given
  std::vector<std::string> shapes;  // NAME=1x3x224x224
};
void add_load_options(CLI::App& verb, LoadArguments& arguments);
[[nodiscard]] ir::LoadOptions load_options(const LoadArguments& arguments);
// Of these, those that say how a file is read.
void add_read_options(CLI::App& verb, LoadArguments& arguments);
[[nodiscard]] ir::ReadOptions read_options(const LoadArguments& arguments);

void add_jobs_option(CLI::App& verb, int& jobs);
// -k,--kernel of a program; and how many rows its table has.
void add_kernel_option(CLI::App& verb, std::string& kernel);
void add_top_option(CLI::App& verb, std::size_t& top, const std::string& what);
// "10 s", "1.5 min" of an option.
[[nodiscard]] double seconds_of(const std::string& text, const char* option);

// The models by name (sim/model_choice.h); without the option every verb asks the same one.
inline constexpr const char* kDefaultModel = "default";
void add_model_option(CLI::App& verb, std::string& model);
[[nodiscard]] CLI::Validator is_model_name();
// On stderr, beside tables that do not name it: what answers where that is not physics, its note.
void note_model(const ChosenModel& model);

// Which tiles kernels have, where their program does not say.
struct TileArguments {
  std::string ranker;  // a model's name; empty: the model of times
  std::string file;    // of search::read_tiles(); empty: none
};
void add_tile_options(CLI::App& verb, TileArguments& arguments);
// --list: which tiles are listed of a kernel.
CLI::Option* add_listing_option(CLI::App& verb, std::string& listing);
[[nodiscard]] analytical::TileSet tile_set(const std::string& listing);
// `what` ("model.hlo: dot.4 has no tiles") of this list on the device, and why.
[[nodiscard]] Error nothing_listed(const std::string& what, const std::string& listing,
                                   const hwdesc::Device& device);
// On stderr: whose tiles these are, where they are nobody else's.
void note_listing(const std::string& listing);
// Of these, what chooses.
void add_ranker_option(CLI::App& verb, TileArguments& arguments);
// Times by the model of this name, of these tiles.
[[nodiscard]] ChosenModel model_with_tiles(const std::string& name, const TileArguments& tiles,
                                           std::span<const hwdesc::Device> devices);

}  // namespace tilecast::sim::cli
