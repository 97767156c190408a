#include "sim/cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>

#include "base/error.h"
#include "base/jobs.h"
#include "base/output_file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {
namespace {

constexpr double kMaxTripCount = 1e12;
constexpr int kMaxJobs = 1024;

// "data=1x3x224x224"; nothing after the sign: a scalar.
std::pair<std::string, ir::Dims> input_shape(const std::string& text) {
  const auto fail = [&] {
    throw UsageError("--shape: got '{}', expected NAME=SIZES; example: --shape input=1x3x224x224",
                     text);
  };
  const std::size_t equals = text.rfind('=');
  if (equals == 0 || equals == std::string::npos) fail();
  std::pair<std::string, ir::Dims> shape{text.substr(0, equals), {}};
  const char* at = text.data() + equals + 1;
  const char* const end = text.data() + text.size();
  while (at != end) {
    std::int64_t size = 0;
    const auto [next, failed] = std::from_chars(at, end, size);
    if (failed != std::errc() || size < 0 || (next != end && (*next != 'x' || next + 1 == end))) {
      fail();
    }
    shape.second.push_back(size);
    at = next == end ? end : next + 1;
  }
  return shape;
}

// Removes escape sequences for terminals; a program's text and pages are unchanged.
std::string shown(const std::string& text, std::string_view format) {
  if (format == "json" || format == "trace") return base::printable_json(text);
  return format.empty() || format == "html" ? text : base::printable(text);
}

}  // namespace

CLI::Option* add_choice(CLI::App& verb, const std::string& names, std::string& value,
                        const std::vector<std::string>& choices, const std::string& what) {
  return verb.add_option(names, value, what)->check(CLI::IsMember(choices))->capture_default_str();
}

CLI::Option* add_repeated(CLI::App& verb, const std::string& names,
                          std::vector<std::string>& values, const std::string& type,
                          const std::string& what) {
  return verb.add_option(names, values, what)->type_name(type)->allow_extra_args(false);
}

void add_device_options(CLI::App& verb, DeviceOptions& options, Devices count) {
  const bool several = count == Devices::kOneOrMore || count == Devices::kAnyNumber;
  auto* device = verb.add_option(
      "-d,--device", options.names,
      several ? "device preset, slice (v6e-256, h100x64) or YAML file; repeat it to compare"
              : "device preset, slice (v6e-256, h100x64) or YAML file");
  device->allow_extra_args(false)->type_name("DEVICE");
  if (count == Devices::kOne || count == Devices::kOneOrMore) device->required();
  if (!several) device->expected(1);
  add_repeated(verb, "--set", options.set, "KEY=VALUE",
               "override a device value; example: hbm.bandwidth=1.2TB/s");
  verb.add_option_function<int>(
          "--slices",
          [&options](int n) {
            options.set.push_back(fmt::format("interconnect.slice.count={}", n));
          },
          "slices (of v6e-256 and the like) that the program runs on, over their network")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
}

std::vector<hwdesc::Device> load_devices(const DeviceOptions& options) {
  const hwdesc::Overrides changes = device_overrides(options.set);
  std::vector<hwdesc::Device> devices;
  for (const std::string& name : options.names) {
    devices.push_back(hwdesc::load_device(name, changes));
  }
  return devices;
}

std::vector<ir::Note> override_notes(const DeviceOptions& options) {
  std::vector<ir::Note> notes;
  for (const std::string& text : options.set) notes.push_back({"device override: " + text});
  return notes;
}

void add_load_options(CLI::App& verb, LoadArguments& arguments) {
  add_text(verb, "--fusion", arguments.fusion, "FILE",
           "default: fuse programs that are not optimised yet; none: take ops as they are; or a "
           "file of decisions, as tune fusion writes it");
  verb.add_option("--trip-count", arguments.trip_count,
                  "iterations of loops whose count cannot be found")
      ->type_name("N")
      ->capture_default_str();
  add_read_options(verb, arguments);
}

void add_read_options(CLI::App& verb, LoadArguments& arguments) {
  verb.add_flag("--strict", arguments.strict, "unknown HLO attributes are errors");
  verb.add_option("--bound", arguments.bound,
                  "StableHLO: the size of every dimension that is '?' in an argument")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  add_repeated(verb, "--shape", arguments.shapes, "NAME=SIZES",
               "ONNX: the shape of an input with free dimensions; example: x=1x3x224x224");
}

ir::LoadOptions load_options(const LoadArguments& arguments) {
  const double count = arguments.trip_count;
  if (!(count >= 0 && count <= kMaxTripCount)) {
    throw UsageError("--trip-count: got {}, expected a number from 0 to {}", count, kMaxTripCount);
  }
  const bool by_name = arguments.fusion == "default" || arguments.fusion == "none";
  return {.read = read_options(arguments),
          .fuse = arguments.fusion == "default",
          .fusion = by_name ? "" : arguments.fusion,
          .trip_count = count};
}

ir::ReadOptions read_options(const LoadArguments& arguments) {
  ir::ReadOptions read{.strict = arguments.strict};
  if (arguments.bound > 0) read.bound = arguments.bound;
  for (const std::string& text : arguments.shapes) read.input_shapes.push_back(input_shape(text));
  return read;
}

void add_jobs_option(CLI::App& verb, int& jobs) {
  jobs = base::default_jobs();
  verb.add_option("-j,--jobs", jobs, "threads; the answer does not depend on it")
      ->check(CLI::Range(1, kMaxJobs));
}

void add_kernel_option(CLI::App& verb, std::string& kernel) {
  verb.add_option("-k,--kernel", kernel, "name of the kernel; not needed when there is only one")
      ->type_name("NAME");
}

void add_top_option(CLI::App& verb, std::size_t& top, const std::string& what) {
  verb.add_option("--top", top, what)
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

double seconds_of(const std::string& text, const char* option) {
  try {
    return hwdesc::parse_quantity(text, hwdesc::UnitKind::kTime);
  } catch (const Error& error) {
    throw UsageError("{}: {}", option, error.what());
  }
}

void add_model_option(CLI::App& verb, std::string& model) {
  model = kDefaultModel;
  verb.add_option(
          "--model", model,
          "what predicts the time of a kernel: analytical, roofline, bottleneck, hybrid (the "
          "shipped model that fits the device), learned (its correction, believed everywhere), "
          "default (hybrid where one fits, else analytical) or the folder of a model")
      ->check(is_model_name())
      ->type_name("MODEL")
      ->capture_default_str();
}

CLI::Option* add_listing_option(CLI::App& verb, std::string& listing) {
  return verb
      .add_option("--list", listing,
                  "tiles listed of a kernel: ladder (powers of two), all (every number of pieces "
                  "of equal size), or schedules (products on GPUs: blocks with stages and warps, "
                  "as Tilecast's own CUDA is written)")
      ->check(CLI::IsMember({"ladder", "all", "schedules"}))
      ->capture_default_str();
}

void note_listing(const std::string& listing) {
  if (listing != "schedules") return;
  tell(
      "note: tiles of --list schedules are blocks as Tilecast's own CUDA is written (explain "
      "--loops cuda), no library's or other compiler's");
}

Error nothing_listed(const std::string& what, const std::string& listing,
                     const hwdesc::Device& device) {
  const bool blocks = device.execution == hwdesc::Execution::kSimt;
  const std::string_view why =
      listing != "schedules" ? ""
      : blocks               ? "; stages and warps are of products; try --list ladder"
               : "; stages and warps are of machines that run thread blocks; try --list ladder";
  return Error("{} of the list '{}' on {}{}", what, listing, device.name, why);
}

void add_ranker_option(CLI::App& verb, TileArguments& arguments) {
  verb.add_option("--choose-tiles", arguments.ranker,
                  "what chooses tiles where the program states none: a model as of --model, or the "
                  "folder of one that was trained to rank; without it: physics")
      ->check(CLI::Validator(ranker_name_fault, ""))
      ->type_name("MODEL");
}

void add_tile_options(CLI::App& verb, TileArguments& arguments) {
  add_ranker_option(verb, arguments);
  verb.add_option("--tiles", arguments.file, "tiles of kernels, as tune program writes them")
      ->type_name("FILE");
}

ChosenModel model_with_tiles(const std::string& name, const TileArguments& tiles,
                             std::span<const hwdesc::Device> devices) {
  ChosenModel chosen = choose_model(name, devices);
  if (tiles.ranker.empty() && tiles.file.empty()) return chosen;
  search::TileChoices fixed;
  if (!tiles.file.empty()) fixed = search::read_tiles(base::SourceText::read_file(tiles.file));
  std::unique_ptr<const analytical::TileRanker> ranker;
  if (!tiles.ranker.empty()) {
    ranker = choose_ranker(tiles.ranker, devices);
    chosen.name += ", tiles chosen by " + tiles.ranker;
  }
  if (!tiles.file.empty()) chosen.name += ", tiles of " + tiles.file;
  return with_tiles(std::move(chosen), std::move(ranker), {}, std::move(fixed));
}

CLI::Validator is_model_name() {
  return {[](const std::string& name) { return model_name_fault(name); }, ""};
}

void note_model(const ChosenModel& model) {
  if (model.name != "analytical") tell("note: times by {}", model.name);
  if (!model.note.empty()) tell("note: {}", model.note);
}

CLI::Option* add_output_file(CLI::App& verb, const std::string& names, std::string& file,
                             const std::string& what) {
  const auto claim = [](const std::string& path) {
    static std::deque<base::OutputClaim> claims;  // until the end of the command
    if (!path.empty() && path != "-") claims.emplace_back(path);
    return std::string();
  };
  return verb.add_option(names, file, what)->type_name("FILE")->check(claim);
}

void add_output_options(CLI::App& verb, OutputOptions& options,
                        const std::vector<std::string>& formats) {
  options.format = formats.front();
  add_choice(verb, "-f,--format", options.format, formats, "form of the answer");
  add_output_file(verb, "-o,--output", options.file, "file to write instead of stdout");
}

void add_format_option(CLI::App& verb, std::string& format, const std::vector<std::string>& formats,
                       const std::string& what) {
  verb.add_option("-f,--format", format, what)->check(CLI::IsMember(formats))->default_val("table");
}

void write(const OutputOptions& options, const std::string& text) {
  if (!options.file.empty()) return base::replace_file(options.file, text);
  const std::string out = shown(text, options.format);
  if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size() || std::fflush(stdout) != 0) {
    throw Error("stdout: cannot write it: {}", std::strerror(errno));
  }
}

void note_unread(const std::string& file, const std::vector<std::string>& columns) {
  if (columns.empty()) return;
  tell("note: {}: kept, not read: {}", file, fmt::join(columns, ", "));
}

void write_rows(const OutputOptions& options, const measured::CsvTable& rows,
                const std::string& schema, const views::Lists& lists) {
  write(options, options.format == "json"  ? views::rows_json(rows, schema, lists)
                 : options.format == "csv" ? views::rows_csv(rows)
                                           : views::rows_text(rows));
}

void add_journal_options(CLI::App& verb, JournalOptions& options) {
  add_output_file(verb, "--journal", options.file,
                  "file that keeps what is done; without it OUTPUT.journal, removed at the end");
  verb.add_flag("--resume", options.resume, "go on with the journal of a run that was broken off");
}

std::string journal_file(const JournalOptions& options, const OutputOptions& output) {
  if (!options.file.empty()) return options.file;
  if (!output.file.empty()) return output.file + ".journal";
  if (options.resume) {
    throw UsageError(
        "--resume: expected --journal FILE, or --output FILE, whose journal is FILE.journal");
  }
  return "";
}

void end_journal(const JournalOptions& options, const std::string& file) {
  if (options.file.empty() && !file.empty()) std::filesystem::remove(file);
}

void end_interrupted(const std::string& journal) {
  if (!journal.empty()) tell("note: --resume goes on with {}", journal);
  end_as_interrupted();
}

int threads_of(const CLI::App& verb, int jobs) {
  return base::under_mpirun() && verb.count("--jobs") == 0 ? 1 : jobs;
}

}  // namespace tilecast::sim::cli
