#include "validation/experiment_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/source_text.h"
#include "measured/importers/importer.h"
#include "measured/importers/set_writer.h"

namespace tilecast::validation {
namespace {

namespace fs = std::filesystem;

// One module and its time as a set of one row.
void import_program(const ExperimentSource& source, const std::string& file,
                    const std::string& device, const measured::ImportOptions& options) {
  constexpr double kNanosecondsPerSecond = 1e9;
  const std::string name = fs::path(file).filename().string();
  const auto text = base::SourceText::read_file(file);
  measured::SetWriter writer(options);
  writer.begin_rows({"program", "runtime_ns"});
  writer.add({name, fmt::format("{:.0f}", source.runtime_s * kNanosecondsPerSecond)});
  writer.add_file(name, text.text());
  measured::Manifest manifest;
  manifest.name = source.name;
  manifest.device = device;
  manifest.source = source.source;
  manifest.licence = source.licence;
  manifest.how_timed = source.how_timed;
  writer.commit(manifest);
}

}  // namespace

ExperimentData::ExperimentData(std::string folder) : folder_(std::move(folder)) {
  std::string made = (fs::temp_directory_path() / "tilecast-validate-XXXXXX").string();
  if (mkdtemp(made.data()) == nullptr) {
    throw Error(fmt::format("{}: cannot make a temporary folder: {}", made, std::strerror(errno)));
  }
  temporary_ = made;
}

ExperimentData::~ExperimentData() {
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

std::string ExperimentData::path(const std::string& from) const {
  return (fs::path(folder_) / from).lexically_normal().string();
}

std::optional<std::string> ExperimentData::missing(const Experiment& experiment) const {
  std::error_code failure;
  for (const ExperimentSource& source : experiment.data) {
    for (const std::string& from : source.from) {
      if (!fs::exists(path(from), failure)) return path(from);
    }
  }
  return std::nullopt;
}

void ExperimentData::import(const ExperimentSource& source, const std::string& device,
                            const std::string& target) const {
  measured::ImportOptions options;
  options.output = target;
  std::vector<std::string> inputs;
  for (const std::string& from : source.from) inputs.push_back(path(from));
  if (source.importer == "program") {
    import_program(source, inputs.front(), device, options);
  } else {
    static_cast<void>(measured::import_operators(inputs, source.mapping, options));
  }
}

measured::MeasurementSet ExperimentData::read(const ExperimentSource& source,
                                              const std::string& device) {
  if (source.importer == "set") return measured::read_measurement_set(path(source.from.front()));
  const std::string key = fmt::format(
      "{}\n{}\n{}\n{}\n{}", source.importer, source.mapping, fmt::join(source.from, "\n"),
      source.runtime_s, source.importer == "program" ? source.name + "\n" + device : "");
  const auto known = imported_.find(key);
  if (known != imported_.end()) return measured::read_measurement_set(known->second);
  const std::string target =
      (fs::path(temporary_) / fmt::format("set{}", imported_.size())).string();
  import(source, device, target);
  imported_.emplace(key, target);
  return measured::read_measurement_set(target);
}

}  // namespace tilecast::validation
