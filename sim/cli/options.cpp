#include "sim/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "hwdesc/device_yaml.h"

namespace tilecast::sim::cli {
namespace {

constexpr double kMaxTripCount = 1e12;
constexpr int kMaxJobs = 1024;

// "data=1x3x224x224"; nothing after the sign: a scalar.
std::pair<std::string, ir::Dims> input_shape(const std::string& text) {
  const auto fail = [&] {
    throw UsageError(fmt::format(
        "--shape: got '{}', expected NAME=SIZES; example: --shape input=1x3x224x224", text));
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

}  // namespace

void add_device_options(CLI::App& verb, DeviceOptions& options, Devices count) {
  const bool several = count == Devices::kOneOrMore || count == Devices::kAnyNumber;
  auto* device = verb.add_option(
      "-d,--device", options.names,
      several ? "device preset or YAML file; repeat it to compare" : "device preset or YAML file");
  device->allow_extra_args(false)->type_name("DEVICE");
  if (count == Devices::kOne || count == Devices::kOneOrMore) device->required();
  if (!several) device->expected(1);
  verb.add_option("--set", options.set, "override a device value; example: hbm.bandwidth=1.2TB/s")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
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
  verb.add_option(
          "--fusion", arguments.fusion,
          "default: fuse programs that are not optimised yet; none: take ops as they are; or "
          "a file of decisions, as tune fusion writes it")
      ->type_name("FILE")
      ->capture_default_str();
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
  verb.add_option("--shape", arguments.shapes,
                  "ONNX: the shape of an input with free dimensions; example: x=1x3x224x224")
      ->allow_extra_args(false)
      ->type_name("NAME=SIZES");
}

ir::LoadOptions load_options(const LoadArguments& arguments) {
  const double count = arguments.trip_count;
  if (!(count >= 0 && count <= kMaxTripCount)) {
    throw UsageError(
        fmt::format("--trip-count: got {}, expected a number from 0 to {}", count, kMaxTripCount));
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
    throw UsageError(fmt::format("{}: {}", option, error.what()));
  }
}

void add_model_option(CLI::App& verb, std::string& model) {
  model = kDefaultModel;
  verb.add_option("--model", model,
                  "what predicts the time of a kernel: analytical, roofline, bottleneck, hybrid "
                  "(the shipped "
                  "model that fits the device), learned (its correction, believed everywhere), "
                  "default (hybrid where one fits, else analytical) or the folder of a model")
      ->check(is_model_name())
      ->type_name("MODEL")
      ->capture_default_str();
}

CLI::Option* add_listing_option(CLI::App& verb, std::string& listing) {
  return verb
      .add_option(
          "--list", listing,
          "tiles listed of a kernel: ladder (powers of two), all (every number of pieces of "
          "equal size), or schedules (products on GPUs: blocks with stages and warps, as "
          "Tilecast's own CUDA is written)")
      ->check(CLI::IsMember({"ladder", "all", "schedules"}))
      ->capture_default_str();
}

analytical::TileSet tile_set(const std::string& listing) {
  using enum analytical::TileSet;
  return listing == "all" ? kAll : listing == "schedules" ? kSchedules : kLadder;
}

void note_listing(const std::string& listing) {
  if (listing != "schedules") return;
  tell(
      "note: tiles of --list schedules are blocks as Tilecast's own CUDA is written "
      "(explain --loops cuda), no library's or other compiler's");
}

Error nothing_listed(const std::string& what, const std::string& listing,
                     const hwdesc::Device& device) {
  const bool blocks = device.execution == hwdesc::Execution::kSimt;
  const std::string_view why =
      listing != "schedules" ? ""
      : blocks               ? "; stages and warps are of products; try --list ladder"
                             : "; stages and warps are of machines that run thread blocks; try "
                               "--list ladder";
  return Error(fmt::format("{} of the list '{}' on {}{}", what, listing, device.name, why));
}

void add_ranker_option(CLI::App& verb, TileArguments& arguments) {
  verb.add_option("--choose-tiles", arguments.ranker,
                  "what chooses tiles where the program states none: a model as of --model, or "
                  "the folder of one that was trained to rank; without it: physics")
      ->check(is_model_name())
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
  if (model.name != "analytical") tell(fmt::format("note: times by {}", model.name));
  if (!model.note.empty()) tell(fmt::format("note: {}", model.note));
}

}  // namespace tilecast::sim::cli
