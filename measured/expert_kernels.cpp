#include "measured/expert_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <span>

#include "base/math.h"
#include "base/random.h"
#include "base/text.h"
#include "measured/op_sketch.h"

namespace tilecast::measured {
namespace {

using ir::DType;
using ir::Opcode;
using ir::OpId;
using Rows = std::vector<std::int64_t>;

std::int64_t sum(std::span<const std::int64_t> rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

// `total` rows in proportion to `shares`, each at most `most`: whole parts, the rest by size of the
// fractions.
Rows apportioned(const std::vector<double>& shares, std::int64_t total, std::int64_t most) {
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  Rows rows;
  std::vector<double> fractions;
  for (const double share : shares) {
    const double exact = share / all * static_cast<double>(total);
    rows.push_back(std::min(static_cast<std::int64_t>(exact), most));
    fractions.push_back(exact - static_cast<double>(rows.back()));
  }
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return fractions[i]; });
  std::int64_t left = total - sum(rows);
  while (left > 0) {
    for (const std::size_t i : order) {
      const std::int64_t more = std::int64_t{left > 0 && rows[i] < most};
      rows[i] += more;
      left -= more;
    }
  }
  return rows;
}

// As even as whole rows allow over `met` of the experts, which are spread over all of them.
Rows even(const ExpertChoice& choice, std::int64_t met) {
  Rows rows(static_cast<std::size_t>(choice.experts), 0);
  const std::int64_t total = choice.tokens * choice.topk;
  for (std::int64_t i = 0; i < met; ++i) {
    rows[static_cast<std::size_t>(i * choice.experts / met)] =
        (i + 1) * total / met - i * total / met;
  }
  return rows;
}

// Quantiles of the density x^-a between two bounds.
Rows power_law(const ExpertChoice& choice, double a) {
  constexpr double kShareOfTokens = 0.8, kFewLeast = 0.01, kFewMost = 2, kNearOne = 1e-6;
  constexpr std::uint64_t kSeed = 1;
  const auto tokens = static_cast<double>(choice.tokens);
  const bool few = choice.tokens * choice.topk <= choice.experts;
  const double least = few ? kFewLeast : 1;
  const double most = few ? kFewMost : std::max(kShareOfTokens * tokens, least);
  const double power = std::abs(1 - a) < kNearOne ? kNearOne : 1 - a;
  const double low = std::pow(least, power), high = std::pow(most, power);
  std::vector<double> shares;
  for (std::int64_t i = 0; i < choice.experts; ++i) {
    const double u = (static_cast<double>(i) + 0.5) / static_cast<double>(choice.experts);
    shares.push_back(std::pow(low + (high - low) * u, 1 / power));
  }
  std::mt19937_64 random(kSeed);
  base::shuffle(shares, random);
  return apportioned(shares, choice.tokens * choice.topk, choice.tokens);
}

constexpr int kHalf = 16;  // bits

struct Layer {
  ExpertChoice choice;
  std::int64_t hidden = 1, width = 1;  // width: of an expert on one device
  std::int64_t rows = 0;               // between the products
  std::int64_t blocks_elsewhere = 0;   // of rows, of experts on other devices
  Rows local;                          // rows of this device's experts
  DType dtype = DType::kBF16, weights = DType::kBF16, between = DType::kBF16;
  ir::Dims block;
};

// Those of the device with the most rows.
Rows fullest(const Rows& rows, std::int64_t devices) {
  const std::size_t each = rows.size() / static_cast<std::size_t>(devices);
  Rows best;
  for (std::size_t i = 0; i + each <= rows.size(); i += each) {
    Rows part(rows.begin() + static_cast<std::ptrdiff_t>(i),
              rows.begin() + static_cast<std::ptrdiff_t>(i + each));
    if (best.empty() || sum(part) > sum(best)) best = std::move(part);
  }
  return best;
}

std::int64_t divided(const OpRow& row, std::string_view column, std::int64_t size,
                     std::string_view of) {
  const std::int64_t by = row.integer(column, 1);
  if (size % by != 0) {
    row.fail(column, fmt::format("got {}, expected a divisor of {} {}", by, of, size));
  }
  return by;
}

// The library's own blocks, rows x columns.
ir::Dims usual_block(const Layer& layer, bool grouped) {
  constexpr std::int64_t kLeast = 16, kMost = 128;
  if (grouped) {
    const ExpertChoice& choice = layer.choice;
    const std::int64_t mean = base::ceil_div(choice.tokens * choice.topk, choice.experts);
    const auto rows = std::bit_ceil(static_cast<std::uint64_t>(std::min(mean, kMost)));
    return {std::max(static_cast<std::int64_t>(rows), kLeast), kMost};
  }
  if (ir::bits(layer.dtype) < kHalf) return {64, 128};
  return layer.choice.tokens > layer.choice.experts ? ir::Dims{64, 64} : ir::Dims{16, 32};
}

std::int64_t blocks_of(const Rows& rows, std::int64_t side) {
  std::int64_t blocks = 0;
  for (const std::int64_t each : rows) blocks += base::ceil_div(each, side);
  return blocks;
}

Layer layer_of(const OpRow& row, const OpDefaults& defaults) {
  const std::string_view skew = row.text("skew");
  Layer layer{.choice = {.tokens = row.integer("tokens"),
                         .topk = row.integer("topk"),
                         .experts = row.integer("experts"),
                         .skew = skew.empty() ? "balanced" : skew},
              .hidden = row.integer("hidden"),
              .dtype = row.dtype(),
              .weights = row.dtype("weight_dtype")};
  const ExpertChoice& choice = layer.choice;
  if (choice.topk > choice.experts) {
    row.fail("topk",
             fmt::format("got {}, expected at most experts {}", choice.topk, choice.experts));
  }
  const std::int64_t inter = row.integer("inter");
  layer.width = inter / divided(row, "tp", inter, "inter");
  const auto rows = rows_of_experts(choice);
  if (!rows) {
    row.fail("skew", fmt::format("got '{}', expected balanced, uniform or the exponent of a power "
                                 "law",
                                 skew));
  }
  layer.local = fullest(*rows, divided(row, "ep", choice.experts, "experts"));
  if (ir::bits(layer.dtype) >= kHalf) layer.between = layer.dtype;
  const std::string_view library = row.text("library");
  const bool grouped = library == "grouped";
  if (!grouped && !library.empty() && library != "triton") {
    row.fail("library", fmt::format("got '{}', expected triton, grouped or nothing", library));
  }
  layer.rows = sum(layer.local);
  if (!row.text("block").empty()) {
    layer.block = row.sizes("block");
    if (layer.block.size() != 2) row.fail("block", "expected rows and columns, as 128x64");
  } else if (defaults.thread_blocks) {
    layer.block = usual_block(layer, grouped);
  }
  if (!grouped && !layer.block.empty()) {
    layer.rows = choice.tokens * choice.topk;
    layer.blocks_elsewhere =
        blocks_of(*rows, layer.block[0]) - blocks_of(layer.local, layer.block[0]);
  }
  return layer;
}

class Launches {
 public:
  Launches(const Layer& layer, const OpDefaults& defaults) : layer_(layer), defaults_(defaults) {}

  void sort() {
    for (const char* name : {"experts_count", "experts_sort"}) {
      OpSketch sketch(name, Opcode::kCopy, defaults_.layout);
      const std::int64_t chosen = layer_.choice.tokens * layer_.choice.topk;
      add(sketch, sketch.copy(sketch.parameter(DType::kS32, {chosen})));
    }
  }

  void convert(std::string name, std::int64_t rows, std::int64_t columns) {
    if (layer_.dtype == layer_.between || rows == 0) return;
    OpSketch sketch(std::move(name), Opcode::kConvert, defaults_.layout);
    add(sketch, sketch.to(sketch.parameter(layer_.between, {rows, columns}), layer_.dtype));
  }

  void product(std::string name, std::int64_t columns, std::int64_t contraction) {
    const std::int64_t rows = sum(layer_.local);
    if (rows > 0) {
      OpSketch sketch(name, Opcode::kRaggedDot, defaults_.layout);
      const OpId lhs = sketch.parameter(layer_.dtype, {rows, contraction});
      const OpId rhs =
          sketch.parameter(layer_.weights, {std::ssize(layer_.local), contraction, columns});
      if (!layer_.block.empty()) sketch.set_block(layer_.block);
      add(sketch, sketch.ragged_dot(lhs, rhs, layer_.local, layer_.between));
    }
    if (layer_.rows == rows) return;
    OpSketch zeros(name + "_elsewhere", defaults_.layout);
    const std::int64_t elsewhere = layer_.rows - rows;
    if (layer_.blocks_elsewhere > 0) {  // as many as if they were multiplied
      zeros.set_block({std::max<std::int64_t>(elsewhere / layer_.blocks_elsewhere, 1),
                       std::min(layer_.block[1], columns)});
    }
    add(zeros, zeros.filled(layer_.between, {elsewhere, columns}));
  }

  // SiLU(gate) x up = gate / (1 + exp(-gate)) x up.
  void activation() {
    if (layer_.rows == 0) return;
    OpSketch sketch("experts_silu", defaults_.layout);
    const auto wide = [&] {
      return sketch.to(sketch.parameter(layer_.between, {layer_.rows, layer_.width}), DType::kF32);
    };
    const OpId gate = wide(), up = wide();
    const OpId share = sketch.elementwise(Opcode::kLogistic, {gate});
    add(sketch, sketch.to(sketch.times(sketch.times(gate, share), up), layer_.between));
  }

  // Tokens' rows, those that there are: a token's experts may be on other devices.
  void combine() {
    const std::int64_t tokens = layer_.choice.tokens, hidden = layer_.hidden;
    const std::int64_t each = std::max<std::int64_t>(base::ceil_div(layer_.rows, tokens), 1);
    OpSketch sketch("experts_sum", defaults_.layout);
    const OpId rows = sketch.parameter(layer_.between, {tokens, each, hidden});
    add(sketch, sketch.to(sketch.sum(sketch.to(rows, DType::kF32), 1), layer_.between));
  }

  std::vector<ir::Kernel> take() { return std::move(kernels_); }

 private:
  void add(OpSketch& sketch, OpId result) { kernels_.push_back(sketch.build({result})); }

  const Layer& layer_;
  const OpDefaults& defaults_;
  std::vector<ir::Kernel> kernels_;
};

}  // namespace

std::optional<Rows> rows_of_experts(const ExpertChoice& choice) {
  const std::int64_t total = choice.tokens * choice.topk;
  if (choice.skew == "balanced") return even(choice, std::min(total, choice.experts));
  if (choice.skew == "uniform") {
    const auto all = static_cast<double>(choice.experts);
    const double missed =
        std::pow(1 - static_cast<double>(choice.topk) / all, static_cast<double>(choice.tokens));
    return even(choice, std::clamp<std::int64_t>(std::llround(all * (1 - missed)), choice.topk,
                                                 std::min(total, choice.experts)));
  }
  const auto exponent = base::parse_number<double>(choice.skew);
  if (!exponent || !(*exponent > 0)) return std::nullopt;
  return power_law(choice, *exponent);
}

std::vector<ir::Kernel> expert_launches(const OpRow& row, const OpDefaults& defaults) {
  const Layer layer = layer_of(row, defaults);
  Launches launches(layer, defaults);
  launches.sort();
  launches.convert("experts_rows", layer.choice.tokens, layer.hidden);
  constexpr std::int64_t kGateAndUp = 2;
  launches.product("experts_gate_up", kGateAndUp * layer.width, layer.hidden);
  launches.activation();
  launches.convert("experts_activated", layer.rows, layer.width);
  launches.product("experts_down", layer.hidden, layer.width);
  launches.combine();
  return launches.take();
}

}  // namespace tilecast::measured
