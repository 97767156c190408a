// Options shared by several verbs, and the objects they select.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "hwdesc/device.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "sim/answers.h"
#include "sim/cli/terminal.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {

// Kinds of options. A number from `low` to `high`, and one of `choices`, with their defaults shown.
template <class Number, class Bound>
CLI::Option* add_number(CLI::App& verb, const std::string& names, Number& value,
                        std::type_identity_t<Bound> low, Bound high, const std::string& what) {
  return verb.add_option(names, value, what)->check(CLI::Range(low, high))->capture_default_str();
}
CLI::Option* add_choice(CLI::App& verb, const std::string& names, std::string& value,
                        const std::vector<std::string>& choices, const std::string& what);
// A value shown as `type`; a required one; and one whose default is shown.
template <class Value>
CLI::Option* add_value(CLI::App& verb, const std::string& names, Value& value,
                       const std::string& type, const std::string& what) {
  return verb.add_option(names, value, what)->type_name(type);
}
template <class Value>
CLI::Option* add_required(CLI::App& verb, const std::string& names, Value& value,
                          const std::string& type, const std::string& what) {
  return add_value(verb, names, value, type, what)->required();
}
template <class Value>
CLI::Option* add_text(CLI::App& verb, const std::string& names, Value& value,
                      const std::string& type, const std::string& what) {
  return add_value(verb, names, value, type, what)->capture_default_str();
}
// Several values: each with its own --name, or separated by commas.
CLI::Option* add_repeated(CLI::App& verb, const std::string& names,
                          std::vector<std::string>& values, const std::string& type,
                          const std::string& what);
template <class Value>
CLI::Option* add_list(CLI::App& verb, const std::string& names, std::vector<Value>& values,
                      const std::string& type, const std::string& what) {
  return add_value(verb, names, values, type, what)->allow_extra_args(false)->delimiter(',');
}
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
                const std::string& schema, const views::Lists& lists = {});

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

// Options of verbs with long work: a journal of finished work (base/jobs.h), and resuming from
// it.
struct JournalOptions {
  std::string file;
  bool resume = false;
};

void add_journal_options(CLI::App& verb, JournalOptions& options);
// The file of --journal, else FILE.journal for --output FILE; "": no journal. Throws UsageError if
// --resume is given with neither.
[[nodiscard]] std::string journal_file(const JournalOptions& options, const OutputOptions& output);
// Call it once the result is written: removes a journal that --journal did not name.
void end_journal(const JournalOptions& options, const std::string& file);
// Call it after Ctrl-C: prints how to resume and ends the process.
void end_interrupted(const std::string& journal);
// Threads of this process: --jobs, or 1 under mpirun if --jobs is not given.
[[nodiscard]] int threads_of(const CLI::App& verb, int jobs);

}  // namespace tilecast::sim::cli
