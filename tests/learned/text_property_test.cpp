// Text of random kernels: tokens equal those of the printed text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "ir/counts/work_counts.h"
#include "ir/kernels/kernel_module.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_printer.h"
#include "ir/verify/verifier.h"
#include "learned/kernel_graph.h"
#include "learned/table_features.h"
#include "tests/host/random_kernels.h"

namespace tilecast::learned {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::TileConfig;

constexpr std::uint64_t kTextSeeds = 1000;

using Words = std::vector<std::string>;

Words tokens_of(const analytical::KernelQuery& query, const TextSpec& spec) {
  static const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  Words words;
  for_each_token(query, device, spec, [&](const Token& token) { words.emplace_back(token.text); });
  return words;
}

// --- tokens from the printed text, line by line

// Every tensor<...> in the text, including nested types.
Words tensors_in(std::string_view text) {
  Words found;
  for (std::size_t at = text.find("tensor<"); at != std::string_view::npos;
       at = text.find("tensor<", at)) {
    std::size_t end = at + 7;
    for (int depth = 1; depth > 0; ++end) {
      depth += text[end] == '<' ? 1 : text[end] == '>' ? -1 : 0;
    }
    found.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

std::string without_strings(std::string_view text) {
  std::string kept;
  bool inside = false;
  for (const char c : text) {
    if (c == '"') inside = !inside;
    if (!inside) kept += c;
  }
  return kept;
}

class PrintedText {
 public:
  explicit PrintedText(bool operands) : operands_(operands) {}

  Words read(const std::string& text) {
    bool reads = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      std::string line = text.substr(at, end - at);
      line.erase(0, line.find_first_not_of(' '));
      if (line.starts_with("func.func")) reads = line.starts_with("func.func public");
      if (reads) this->line(line);
      at = end + 1;
    }
    return words_;
  }

 private:
  void line(const std::string& line) {
    if (line.starts_with("func.func")) {
      const std::size_t arrow = line.rfind(" -> ");
      arguments(line.substr(0, arrow));
      words_.emplace_back("->");
      add_types(line.substr(arrow));
    } else if (line.starts_with("^bb0")) {
      arguments(line);
    } else if (line.starts_with("})")) {
      result_types(line);
    } else if (line.starts_with("%")) {
      op(line);
    }
  }

  void arguments(const std::string& text) {
    for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at)) {
      const std::size_t colon = text.find(": ", at);
      define(text.substr(at, colon - at));
      std::size_t next = text.find('%', colon);
      next = std::min(next, text.size());
      add_types(without_strings(text.substr(colon, next - colon)));
      at = next;
    }
  }

  void op(const std::string& line) {
    const std::size_t equals = line.find(" = ");
    const std::string name = line.substr(0, std::min(line.find(':'), equals));
    std::string rest = line.substr(equals + 3);
    const bool quoted = rest.starts_with('"');
    if (quoted) rest.erase(0, 1);
    const std::size_t end = rest.find_first_of(quoted ? "\"" : " ");
    define(name);
    words_.push_back(rest.substr(0, end));
    rest = without_strings(rest.substr(end + (quoted ? 1 : 0)));
    const bool opens = rest.ends_with("({");
    const std::string values = opens ? rest : rest.substr(0, rest.rfind(" : "));
    for (std::size_t at = values.find('%'); at != std::string::npos; at = values.find('%', at)) {
      const std::size_t stop = std::min(values.find_first_of(",) {<", at), values.size());
      use(values.substr(at, stop - at));
      at = stop;
    }
    if (!opens) result_types(line);
  }

  void result_types(const std::string& line) {
    const std::string types = line.substr(line.rfind(" : "));
    const std::size_t arrow = types.rfind("-> ");
    add_types(arrow == std::string::npos ? types : types.substr(arrow));
  }

  void add_types(const std::string& text) {
    for (std::string& type : tensors_in(text)) words_.push_back(std::move(type));
  }
  void define(const std::string& name) {
    numbers_[name] = "%" + std::to_string(next_++);
    if (operands_) words_.push_back(numbers_[name]);
  }
  void use(const std::string& name) {
    const std::size_t part = name.find('#');
    if (operands_) {
      words_.push_back(numbers_.at(name.substr(0, part)) +
                       (part == std::string::npos ? "" : name.substr(part)));
    }
  }

  bool operands_;
  Words words_;
  std::map<std::string, std::string> numbers_;
  int next_ = 0;
};

// StableHLO has no copy and no bitcast: a printed module leaves them out.
bool has_only_stablehlo(const ir::Kernel& kernel) {
  return std::ranges::none_of(kernel.ops(), [](const ir::Op& op) {
    return ir::is_one_of(op.opcode, {ir::Opcode::kCopy, ir::Opcode::kBitcast});
  });
}

TEST(TextProperty, TokensAreThoseOfThePrintedText) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < kTextSeeds; ++seed) {
    const ir::Kernel kernel = host::random_kernel(seed).kernel;
    if (!has_only_stablehlo(kernel)) continue;
    ++compared;
    const std::string text = ir::print_stablehlo(ir::module_of(kernel));
    for (const TextTokens tokens : {TextTokens::kOps, TextTokens::kOperands}) {
      ASSERT_EQ(tokens_of({.kernel = kernel}, {.tokens = tokens}),
                PrintedText(tokens == TextTokens::kOperands).read(text))
          << seed << "\n"
          << text;
    }
  }
  EXPECT_GT(compared, 500);
}

Words sorted(Words words) {
  std::ranges::sort(words);
  return words;
}

// Whether all applied computations are known, so that module_of(kernel) is a complete program.
bool is_whole(const ir::Kernel& kernel) {
  using enum ir::Opcode;
  return std::ranges::all_of(kernel.ops(), [](const ir::Op& op) {
    return op.applied ||
           !ir::is_one_of(op.opcode, {kReduce, kReduceWindow, kScatter, kAllReduce, kReduceScatter,
                                      kMap, kSort, kSelectAndScatter});
  });
}

TEST(TextProperty, TheModuleOfAKernelIsAProgramWhoseTextReadsBack) {
  int whole = 0;
  for (std::uint64_t seed = 0; seed < kTextSeeds; ++seed) {
    const ir::Kernel kernel = host::random_kernel(seed).kernel;
    if (!is_whole(kernel)) continue;
    ++whole;
    const ir::Module module = ir::module_of(kernel);
    ASSERT_NO_THROW(ir::verify(module)) << seed;
    const std::string text = ir::print_stablehlo(module);
    const std::string again = ir::print_stablehlo(ir::parse_stablehlo({"text.mlir", text}));
    ASSERT_EQ(sorted(PrintedText(false).read(again)), sorted(PrintedText(false).read(text)))
        << seed;
  }
  EXPECT_GT(whole, 500);
}

TEST(TextProperty, EveryTextOfLoopsHasWordsOnly) {
  const TextSpec spec{.level = TextLevel::kLoops, .tokens = TextTokens::kOperands};
  for (std::uint64_t seed = 0; seed < kTextSeeds / 2; ++seed) {
    std::mt19937_64 random(seed);
    const ir::Kernel kernel = host::random_kernel(seed).kernel;
    const analytical::TileConfig tile = host::random_tile(kernel, random);
    const Words words = tokens_of({.kernel = kernel, .tile = &tile}, spec);
    ASSERT_FALSE(words.empty());
    for (const std::string& word : words) {
      ASSERT_EQ(word.find_first_of(" \n"), std::string::npos) << seed << " '" << word << "'";
      ASSERT_FALSE(word.empty()) << seed;
    }
    const auto opened = std::ranges::count_if(words, [](const std::string& word) {
      return word == "loop" || word == "parallel" || word == "unroll" || word == "vector" ||
             word == "guard";
    });
    ASSERT_EQ(opened, std::ranges::count(words, "}")) << seed;
  }
}

// --- Graphs of random kernels: networks can read the graph of any kernel.

constexpr std::uint64_t kSeeds = 1000;

TEST(KernelGraphProperty, FeaturesAreFiniteAndOpcodesKnown) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const ir::Kernel kernel = host::random_kernel(seed).kernel;
    constexpr GraphEncoding kOfOps = GraphEncoding::kTilecast;
    const KernelGraph graph = make_graph(kernel, kOfOps);
    ASSERT_EQ(graph.nodes(), kernel.ops().size());
    ASSERT_EQ(graph.features.size(), graph.nodes() * node_schema(kOfOps).columns.size());
    for (const float value : graph.features) ASSERT_TRUE(std::isfinite(value)) << seed;
    for (const std::int32_t opcode : graph.opcodes) {
      ASSERT_GE(opcode, 0) << seed;
      ASSERT_LT(opcode, opcode_count(kOfOps)) << seed;
    }
  }
}

TEST(KernelGraphProperty, EdgesAreTheOperandsOnce) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const ir::Kernel kernel = host::random_kernel(seed).kernel;
    std::set<std::pair<std::int32_t, std::int32_t>> expected, found;
    for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
      for (const ir::OpId operand : kernel.ops()[i].operands) {
        expected.emplace(static_cast<std::int32_t>(operand.index()), static_cast<std::int32_t>(i));
      }
    }
    const KernelGraph graph = make_graph(kernel, GraphEncoding::kTilecast);
    for (const GraphEdge& edge : graph.edges) found.emplace(edge.producer, edge.consumer);
    ASSERT_EQ(found, expected) << seed;
    ASSERT_EQ(graph.edges.size(), expected.size()) << seed;
  }
}

TEST(KernelGraphProperty, ProducersStandBeforeConsumers) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const KernelGraph graph =
        make_graph(host::random_kernel(seed).kernel, GraphEncoding::kTilecast);
    std::vector<std::size_t> position(graph.nodes(), graph.nodes());
    ASSERT_EQ(graph.topological.size(), graph.nodes());
    for (std::size_t i = 0; i < graph.topological.size(); ++i) {
      position.at(static_cast<std::size_t>(graph.topological[i])) = i;
    }
    for (const std::size_t place : position) ASSERT_LT(place, graph.nodes()) << "every node once";
    for (const GraphEdge& edge : graph.edges) {
      ASSERT_LT(position[static_cast<std::size_t>(edge.producer)],
                position[static_cast<std::size_t>(edge.consumer)])
          << seed;
    }
  }
}

// The kernel with its ops renumbered: the last possible op first. `place[i]`: the new number of op
// i.
ir::Kernel renumbered(const ir::Kernel& kernel, std::vector<std::size_t>& place) {
  const std::size_t count = kernel.ops().size();
  ir::KernelBuilder builder(kernel.name(), kernel.opcode());
  place.assign(count, count);
  for (std::size_t added = 0; added < count; ++added) {
    for (std::size_t i = count; i-- > 0;) {
      if (place[i] != count) continue;
      ir::Op op = kernel.ops()[i];
      bool ready = true;
      for (ir::OpId& operand : op.operands) {
        const std::size_t moved = place[operand.index()];
        ready = ready && moved != count;
        operand = ir::OpId(moved);
      }
      if (!ready) continue;
      place[i] = added;
      if (op.opcode == ir::Opcode::kParameter) {
        builder.parameter(op.shape, kernel.name_of(ir::OpId(i)));
      } else {
        builder.add(std::move(op));
      }
      break;
    }
  }
  std::vector<ir::OpId> outputs;
  for (const ir::OpId id : kernel.outputs()) outputs.emplace_back(place[id.index()]);
  return builder.build(std::move(outputs));
}

TEST(KernelGraphProperty, RenumberingOpsMovesRowsAndKeepsTheSequence) {
  const std::size_t width = node_schema(GraphEncoding::kTilecast).columns.size();
  std::size_t moved = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const ir::Kernel kernel = host::random_kernel(seed).kernel;
    std::vector<std::size_t> place;
    const ir::Kernel other = renumbered(kernel, place);
    const KernelGraph before = make_graph(kernel, GraphEncoding::kTilecast);
    const KernelGraph after = make_graph(other, GraphEncoding::kTilecast);
    for (std::size_t i = 0; i < before.nodes(); ++i) {
      moved += place[i] == i ? 0U : 1U;
      ASSERT_EQ(before.opcodes[i], after.opcodes[place[i]]) << seed;
      for (std::size_t c = 0; c < width; ++c) {
        ASSERT_EQ(before.features[i * width + c], after.features[place[i] * width + c]) << seed;
      }
      const auto next = static_cast<std::size_t>(before.topological[i]);
      ASSERT_EQ(place[next], static_cast<std::size_t>(after.topological[i])) << seed;
    }
  }
  EXPECT_GT(moved, kSeeds) << "the orders differ";
}

// --- On random kernels: numbers are never infinite, and only depend on the query.

constexpr std::size_t kKernels = 60;
constexpr std::size_t kTiles = 4;  // per kernel; one of them is the empty tile

struct Queries {
  std::deque<ir::Kernel> kernels;
  std::deque<TileConfig> tiles;
  std::vector<KernelQuery> all;
  std::vector<std::optional<Estimate>> priors;
};

Queries random_queries(std::uint64_t seed, const hwdesc::Device& device) {
  Queries queries;
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < kKernels; ++i) {
    const ir::Kernel& kernel =
        queries.kernels.emplace_back(host::random_kernel(seed * kKernels + i).kernel);
    queries.all.push_back({kernel});
    for (std::size_t t = 1; t < kTiles; ++t) {
      queries.all.push_back(
          {kernel, &queries.tiles.emplace_back(host::random_tile(kernel, random))});
    }
  }
  queries.priors = analytical::AnalyticalModel().estimate(queries.all, device);
  return queries;
}

TableFeatures all_features() {
  using enum FeatureGroup;
  return TableFeatures({.groups = {kStatic, kOps, kShape, kTile, kPrior, kMachine, kAlignment}});
}

std::vector<float> extracted(const TableFeatures& features, const Queries& queries,
                             const hwdesc::Device& device) {
  std::vector<float> rows(queries.all.size() * features.width());
  features.extract(queries.all, device, queries.priors, rows);
  return rows;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(TableFeaturesProperty, ValuesAreFiniteOrMissingOnEveryMachine) {
  const TableFeatures features = all_features();
  for (const char* name : {"cpu_generic", "tpu_v3", "a100_sxm_40gb"}) {
    const hwdesc::Device device = hwdesc::load_device(name);
    const Queries queries = random_queries(1, device);
    const std::vector<float> rows = extracted(features, queries, device);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_FALSE(std::isinf(rows[i]))
          << name << ": " << features.schema().columns[i % features.width()].name << " of "
          << queries.all[i / features.width()].kernel.name();
    }
  }
}

// Every column varies between kernels, except those of ops that random kernels do not have.
TEST(TableFeaturesProperty, ColumnsThatDescribeKernelsDiffer) {
  const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  const TableFeatures features({.groups = {FeatureGroup::kStatic, FeatureGroup::kTile}});
  const Queries queries = random_queries(2, device);
  const std::vector<float> rows = extracted(features, queries, device);
  for (std::size_t column = 0; column < features.width(); ++column) {
    const std::string& name = features.schema().columns[column].name;
    if (name.starts_with("tile.input")) continue;  // tiles of kernels do not cut inputs
    std::set<float> values;
    for (std::size_t row = 0; row < queries.all.size(); ++row) {
      const float value = rows[row * features.width() + column];
      if (!std::isnan(value)) values.insert(value);
    }
    const bool deep = name.ends_with(".4") || name.ends_with(".5");
    EXPECT_GE(values.size(), deep ? 1U : 2U) << name;
  }
}

TEST(TableFeaturesProperty, AnswersDoNotDependOnTheRestOfTheBatch) {
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  const TableFeatures features = all_features();
  Queries queries = random_queries(3, device);
  const std::vector<float> rows = extracted(features, queries, device);
  const std::size_t width = features.width();
  for (std::size_t i = queries.all.size(); i-- > 0;) {
    std::vector<float> alone(width);
    features.extract(std::span(queries.all).subspan(i, 1), device,
                     std::span(queries.priors).subspan(i, 1), alone);
    ASSERT_EQ(std::memcmp(alone.data(), &rows[i * width], width * sizeof(float)), 0) << i;
  }
}

TEST(TableFeaturesProperty, AnswersDoNotDependOnTheNumberOfThreads) {
  const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  const TableFeatures features = all_features();
  const Queries queries = random_queries(4, device);
  const std::vector<float> rows = extracted(features, queries, device);
  std::vector<std::vector<float>> answers(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& answer : answers) {
    threads.emplace_back([&] { answer = extracted(features, queries, device); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& answer : answers) EXPECT_TRUE(same_bits(answer, rows));
}
}  // namespace
}  // namespace tilecast::learned
