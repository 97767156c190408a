#include "learned/torch/checkpoint.h"

#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/output_file.h"
#include "ir/op_hash.h"
#include "learned/torch/binary_file.h"

namespace tilecast::learned::torch_module {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpointMagic = "tilecast checkpoint 3\n";

template <class T>
void add_values(ir::Hash128& hash, std::span<const T> values) {
  hash.add(std::uint64_t{values.size()});
  hash.add({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

template <class Spec>
void add_settings(ir::Hash128& hash, const ParameterTable<Spec>& table, const Spec& spec) {
  for (const Parameter<Spec>& parameter : table.parameters()) {
    hash.add(parameter.name);
    hash.add(parameter.get(spec));
  }
}

// Each graph is hashed once, and then referred to by the order of first use.
void add_examples(ir::Hash128& hash, std::span<const GraphExample> examples) {
  std::map<const KernelGraph*, std::uint64_t> known;
  hash.add(std::uint64_t{examples.size()});
  for (const GraphExample& example : examples) {
    const KernelGraph& graph = *example.input.graph;
    const auto [at, is_new] = known.try_emplace(&graph, known.size());
    hash.add(at->second);
    if (is_new) {
      add_values(hash, std::span<const std::int32_t>(graph.opcodes));
      add_values(hash, std::span<const float>(graph.features));
      add_values(hash, std::span<const GraphEdge>(graph.edges));
      add_values(hash, std::span<const std::int32_t>(graph.topological));
    }
    add_values(hash, example.input.at_nodes);
    add_values(hash, example.input.at_kernel);
    hash.add(std::uint64_t{std::bit_cast<std::uint32_t>(example.target)});
    hash.add(std::uint64_t{example.kernel} << 32 | example.family);
    if (example.margin != 0) hash.add(std::uint64_t{std::bit_cast<std::uint32_t>(example.margin)});
    if (example.weight != 1) hash.add(std::uint64_t{std::bit_cast<std::uint32_t>(example.weight)});
  }
}

}  // namespace

Fingerprint fingerprint(const NetworkSpec& spec, const NetworkWidths& widths,
                        const TrainingSpec& training, std::span<const GraphExample> train,
                        std::span<const GraphExample> validation) {
  TrainingSpec settings = training;
  settings.epochs = 1;
  settings.patience = 0;
  ir::Hash128 hash;
  add_settings(hash, network_parameters(), spec);
  add_settings(hash, training_parameters(), settings);
  hash.add(training.seed);
  for (const std::size_t width : {widths.node, widths.at_nodes, widths.at_kernel}) {
    hash.add(std::uint64_t{width});
  }
  hash.add(static_cast<std::uint64_t>(widths.opcodes));
  add_examples(hash, train);
  add_examples(hash, validation);
  return hash.result();
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  BinaryWriter writer(kCheckpointMagic);
  for (const std::uint64_t part : checkpoint.fingerprint) writer.number(part);
  writer.number(checkpoint.history.size());
  for (const EpochReport& report : checkpoint.history) {
    writer.number(static_cast<std::uint64_t>(report.epoch));
    writer.number(static_cast<std::uint64_t>(report.steps));
    for (const double value : {report.loss, report.validation, report.best, report.seconds}) {
      writer.real(value);
    }
  }
  writer.number(static_cast<std::uint64_t>(checkpoint.best_epoch));
  writer.text(checkpoint.weights);
  writer.text(checkpoint.best_weights);
  writer.number(checkpoint.adam.steps);
  for (const std::vector<float>* moments : {&checkpoint.adam.mean, &checkpoint.adam.square}) {
    writer.number(moments->size());
    writer.values(std::span<const float>(*moments));
  }
  base::replace_file(path, std::move(writer).finish());
}

std::optional<Checkpoint> load_checkpoint(const std::string& path, const Fingerprint& expected) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  std::ostringstream text;
  std::ifstream in(path, std::ios::binary);
  text << in.rdbuf();
  if (!in) throw Error(fmt::format("{}: cannot read it: {}", path, std::strerror(errno)));
  const std::string bytes = std::move(text).str();

  BinaryReader reader(path + ": checkpoint", bytes, kCheckpointMagic,
                      "; remove the file to train anew");
  Checkpoint checkpoint;
  for (std::uint64_t& part : checkpoint.fingerprint) part = reader.number();
  if (checkpoint.fingerprint != expected) {
    reader.fail("of another training; its settings or its data are not these");
  }
  for (std::uint64_t count = reader.number(); count > 0; --count) {
    EpochReport& report = checkpoint.history.emplace_back();
    report.epoch = static_cast<int>(reader.number());
    report.steps = static_cast<int>(reader.number());
    for (double* value : {&report.loss, &report.validation, &report.best, &report.seconds}) {
      *value = reader.real();
    }
  }
  checkpoint.best_epoch = static_cast<int>(reader.number());
  checkpoint.weights = reader.text();
  checkpoint.best_weights = reader.text();
  checkpoint.adam.steps = reader.number();
  checkpoint.adam.mean = reader.vector<float>();
  checkpoint.adam.square = reader.vector<float>();
  reader.require_end();
  return checkpoint;
}

}  // namespace tilecast::learned::torch_module
