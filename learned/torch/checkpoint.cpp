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
#include "ir/op_hash.h"

namespace tilecast::learned::torch_module {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "numbers are written as they stand");

constexpr std::string_view kMagic = "tilecast checkpoint 1\n";

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

Fingerprint checksum(std::string_view bytes) {
  ir::Hash128 hash;
  hash.add(bytes);
  return hash.result();
}

class Writer {
 public:
  template <class T>
  void put(const T& value) {
    bytes_ += bytes_of(std::span<const T>(&value, 1));
  }
  template <class T>
  void put_all(std::span<const T> values) {
    put(std::uint64_t{values.size()});
    bytes_ += bytes_of(values);
  }
  [[nodiscard]] std::string finish() && {
    put(checksum(bytes_));
    return std::move(bytes_);
  }

 private:
  std::string bytes_{kMagic};
};

class Reader {
 public:
  Reader(const std::string& path, std::string_view bytes) : path_(path), rest_(bytes) {}

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fmt::format("{}: {}; remove the file to train anew", path_, what));
  }
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> get_all() {
    const auto count = get<std::uint64_t>();
    if (count > rest_.size() / sizeof(T)) fail("truncated checkpoint");
    std::vector<T> values(static_cast<std::size_t>(count));
    const std::string_view bytes = take(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::string get_text() {
    const std::vector<char> text = get_all<char>();
    return {text.begin(), text.end()};
  }
  [[nodiscard]] bool done() const { return rest_.empty(); }

 private:
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) fail("truncated checkpoint");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string path_;
  std::string_view rest_;
};

void put_report(Writer& writer, const EpochReport& report) {
  writer.put(std::int64_t{report.epoch});
  for (const double value : {report.loss, report.validation, report.best, report.seconds}) {
    writer.put(value);
  }
}

EpochReport get_report(Reader& reader) {
  EpochReport report;
  report.epoch = static_cast<int>(reader.get<std::int64_t>());
  report.loss = reader.get<double>();
  report.validation = reader.get<double>();
  report.best = reader.get<double>();
  report.seconds = reader.get<double>();
  return report;
}

// The part of `bytes` between the first line and the checksum.
std::string_view checked(const std::string& path, std::string_view bytes) {
  const Reader reader(path, bytes);
  if (!bytes.starts_with(kMagic)) {
    reader.fail(fmt::format("not a checkpoint; expected '{}' at its start",
                            kMagic.substr(0, kMagic.size() - 1)));
  }
  if (bytes.size() < kMagic.size() + sizeof(Fingerprint)) reader.fail("truncated checkpoint");
  const std::string_view body = bytes.substr(0, bytes.size() - sizeof(Fingerprint));
  if (Reader(path, bytes.substr(body.size())).get<Fingerprint>() != checksum(body)) {
    reader.fail("corrupted or truncated checkpoint; its checksum is another");
  }
  return body.substr(kMagic.size());
}

template <class T>
void add_values(ir::Hash128& hash, std::span<const T> values) {
  hash.add(std::uint64_t{values.size()});
  hash.add(bytes_of(values));
}

template <class Spec>
void add_settings(ir::Hash128& hash, const ParameterTable<Spec>& table, const Spec& spec) {
  for (const Parameter<Spec>& parameter : table.parameters()) {
    hash.add(parameter.name);
    hash.add(parameter.get(spec));
  }
}

// Graphs are hashed once each, and named by the order of their first use.
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
    if (example.weight != 1) hash.add(std::uint64_t{std::bit_cast<std::uint32_t>(example.weight)});
  }
}

}  // namespace

Fingerprint fingerprint(const NetworkSpec& spec, const NetworkWidths& widths,
                        const TrainingSpec& training, std::span<const GraphExample> train,
                        std::span<const GraphExample> validation, std::string_view start) {
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
  if (!start.empty()) hash.add(start);
  return hash.result();
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  Writer writer;
  writer.put(checkpoint.fingerprint);
  writer.put(std::uint64_t{checkpoint.history.size()});
  for (const EpochReport& report : checkpoint.history) put_report(writer, report);
  writer.put(std::int64_t{checkpoint.best_epoch});
  writer.put_all(std::span<const char>(checkpoint.weights));
  writer.put_all(std::span<const char>(checkpoint.best_weights));
  writer.put(checkpoint.adam.steps);
  writer.put_all(std::span<const float>(checkpoint.adam.mean));
  writer.put_all(std::span<const float>(checkpoint.adam.square));
  const std::string bytes = std::move(writer).finish();

  const std::string temporary = path + ".tmp";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  if (!out) throw Error(fmt::format("{}: cannot write it: {}", temporary, std::strerror(errno)));
  std::error_code failure;
  fs::rename(temporary, path, failure);
  if (failure) throw Error(fmt::format("{}: cannot write it: {}", path, failure.message()));
}

std::optional<Checkpoint> load_checkpoint(const std::string& path, const Fingerprint& expected) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  std::ostringstream text;
  std::ifstream in(path, std::ios::binary);
  text << in.rdbuf();
  if (!in) throw Error(fmt::format("{}: cannot read it: {}", path, std::strerror(errno)));
  const std::string bytes = std::move(text).str();

  Reader reader(path, checked(path, bytes));
  Checkpoint checkpoint;
  checkpoint.fingerprint = reader.get<Fingerprint>();
  if (checkpoint.fingerprint != expected) {
    reader.fail("checkpoint of another training; its settings or its data are not these");
  }
  for (auto count = reader.get<std::uint64_t>(); count > 0; --count) {
    checkpoint.history.push_back(get_report(reader));
  }
  checkpoint.best_epoch = static_cast<int>(reader.get<std::int64_t>());
  checkpoint.weights = reader.get_text();
  checkpoint.best_weights = reader.get_text();
  checkpoint.adam.steps = reader.get<std::uint64_t>();
  checkpoint.adam.mean = reader.get_all<float>();
  checkpoint.adam.square = reader.get_all<float>();
  if (!reader.done()) reader.fail("corrupted checkpoint; it goes on after its end");
  return checkpoint;
}

}  // namespace tilecast::learned::torch_module
