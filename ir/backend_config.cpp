#include "ir/backend_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/text/hlo_lexer.h"

namespace tilecast::ir {
namespace {

using Json = nlohmann::json;

constexpr int kMaxNesting = 64;

// Removes the quoting of a configuration written as a string literal.
std::string unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::string(text);
  return unescape(text.substr(1, text.size() - 2));
}

// The JSON parser recurses, so deeply nested input is rejected first.
bool nests_too_deeply(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') {
      if (++depth > kMaxNesting) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

const Json* find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

std::optional<double> number(const Json& value) {
  double parsed = 0;
  if (value.is_number()) {
    parsed = value.get<double>();
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  } else {
    return std::nullopt;
  }
  if (!std::isfinite(parsed) || parsed < 0) return std::nullopt;
  return parsed;
}

// False if the list holds anything but positive counts.
bool read_bounds(const Json& window, const char* key, Dims& bounds) {
  constexpr double kMaxBound = 1e15;
  const Json* list = find(window, key);
  if (list == nullptr) return true;
  if (!list->is_array()) return false;
  for (const Json& item : *list) {
    const std::optional<double> value = number(item);
    if (!value || *value < 1 || *value > kMaxBound) return false;
    bounds.push_back(static_cast<std::int64_t>(*value));
  }
  return true;
}

void read_tile(const Json& window, BackendConfig& config) {
  CompilerTile tile;
  const bool readable = read_bounds(window, "kernel_window_bounds", tile.kernel_bounds) &&
                        read_bounds(window, "output_window_bounds", tile.output_bounds) &&
                        read_bounds(window, "input_window_bounds", tile.input_bounds) &&
                        read_bounds(window, "iteration_bounds", tile.iteration_bounds);
  if (!readable) {
    config.unreadable = true;
    return;
  }
  if (const Json* cycles = find(window, "estimated_cycles"))
    tile.estimated_cycles = number(*cycles);
  const bool says_something = !tile.kernel_bounds.empty() || !tile.output_bounds.empty() ||
                              !tile.input_bounds.empty() || !tile.iteration_bounds.empty();
  if (says_something || tile.estimated_cycles) config.tile = std::move(tile);
}

// nullopt if the list holds anything but dimensions. An absent list is empty.
std::optional<Dims> dimension_list(const Json& numbers, const char* key) {
  constexpr double kMaxRank = 64;
  Dims dims;
  const Json* list = find(numbers, key);
  if (list == nullptr) return dims;
  if (!list->is_array()) return std::nullopt;
  for (const Json& item : *list) {
    const std::optional<double> value = number(item);
    if (!value || *value != std::floor(*value) || *value >= kMaxRank) return std::nullopt;
    dims.push_back(static_cast<std::int64_t>(*value));
  }
  return dims;
}

// nullopt if the text is not JSON or too deeply nested.
std::optional<Json> parsed(std::string_view text) {
  const std::string plain = unquoted(text);
  if (nests_too_deeply(plain)) return std::nullopt;
  Json json = Json::parse(plain, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

// Up to the first character that is none of base64's.
std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr unsigned kDigitBits = 6, kByteBits = 8;
  std::string bytes;
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    held = held << kDigitBits | static_cast<std::uint32_t>(digit);
    bits += kDigitBits;
    if (bits < kByteBits) continue;
    bits -= kByteBits;
    bytes.push_back(static_cast<char>(held >> bits & 0xFFU));
  }
  return bytes;
}

void read_cost(const Json& estimate, BackendConfig& config) {
  CustomCallCost cost;
  const auto read = [&](const char* key, double& field) {
    const Json* value = find(estimate, key);
    if (value == nullptr) return;
    const std::optional<double> parsed = number(*value);
    if (parsed) field = *parsed;
    config.unreadable |= !parsed.has_value();
  };
  read("flops", cost.flops);
  read("transcendentals", cost.transcendentals);
  read("bytes_accessed", cost.bytes_accessed);
  if (!config.unreadable) config.cost = cost;
}

}  // namespace

BackendConfig read_backend_config(std::string_view text) {
  BackendConfig config;
  const bool says = std::ranges::any_of(
      std::array{"window_config", "cost_estimate", "custom_call_config"},
      [&](const char* key) { return text.find(key) != std::string_view::npos; });
  if (!says) return config;
  const std::optional<Json> json = parsed(text);
  if (!json) return {.unreadable = true};
  if (const Json* window = find(*json, "window_config")) read_tile(*window, config);
  const Json* call = find(*json, "custom_call_config");
  const Json* estimate = find(call != nullptr ? *call : *json, "cost_estimate");
  if (estimate == nullptr) estimate = find(*json, "cost_estimate");
  if (estimate != nullptr) read_cost(*estimate, config);
  const Json* body = call != nullptr ? find(*call, "body") : nullptr;
  if (body != nullptr && body->is_string()) {
    config.body = from_base64(body->get_ref<const std::string&>());
  }
  return config;
}

std::optional<GpuCode> read_gpu_code(const Instruction& instruction) {
  using enum GpuCode::Emitter;
  if (instruction.opcode == Opcode::kReduce) return GpuCode{.emitter = kHero, .tile = {}};
  const auto* fusion = instruction.get<FusionAttrs>();
  if (instruction.opcode != Opcode::kFusion || fusion == nullptr) return std::nullopt;
  if (fusion->kind == FusionKind::kLoop) return GpuCode{.emitter = kLoop, .tile = {}};
  if (fusion->kind == FusionKind::kInput) return GpuCode{.emitter = kHero, .tile = {}};
  const std::string& text = *instruction.backend_config;
  if (text.find("block_level_fusion_config") == std::string::npos) return std::nullopt;
  const std::optional<Json> json = parsed(text);
  const Json* backend = json ? find(*json, "fusion_backend_config") : nullptr;
  const Json* kind = backend ? find(*backend, "kind") : nullptr;
  if (kind == nullptr || *kind != "__triton") return std::nullopt;
  const Json* block = find(*backend, "block_level_fusion_config");
  const Json* tiles = block ? find(*block, "output_tiles") : nullptr;
  GpuCode code{.emitter = kTriton, .tile = {}};
  if (tiles == nullptr || !tiles->is_array() || tiles->empty()) return std::nullopt;
  if (!read_bounds(tiles->front(), "sizes", code.tile)) return std::nullopt;
  constexpr double kMostWarps = 32;  // of a block
  const Json* warps = find(*block, "num_warps");
  const std::optional<double> count = warps ? number(*warps) : std::nullopt;
  if (!count || *count < 1 || *count > kMostWarps) return std::nullopt;
  code.warps = static_cast<int>(*count);
  return code;
}

void state_code(const GpuCode& code, Instruction& fusion) {
  using enum GpuCode::Emitter;
  const bool by_tiles = code.emitter == kTriton;
  fusion.attrs = FusionAttrs{by_tiles                ? FusionKind::kCustom
                             : code.emitter == kHero ? FusionKind::kInput
                                                     : FusionKind::kLoop};
  if (!by_tiles) return;
  Json sizes = Json::array();
  for (const std::int64_t size : code.tile) sizes.push_back(std::to_string(size));
  Json tile, block, backend, all;
  tile["sizes"] = std::move(sizes);
  block["num_warps"] = std::to_string(code.warps);
  block["output_tiles"] = Json::array({std::move(tile)});
  backend["kind"] = "__triton";
  backend["block_level_fusion_config"] = std::move(block);
  all["fusion_backend_config"] = std::move(backend);
  fusion.backend_config = all.dump();
}

std::optional<AttentionConfig> read_attention(std::string_view text) {
  constexpr std::string_view kKey = "cudnn_fmha_backend_config";
  if (text.find(kKey) == std::string_view::npos) return std::nullopt;
  const std::optional<Json> json = parsed(text);
  const Json* config = json ? find(*json, kKey.data()) : nullptr;
  const Json* scores = config ? find(*config, "intermediate_tensor_shape") : nullptr;
  AttentionConfig attention;
  if (scores == nullptr || !read_bounds(*scores, "dimensions", attention.scores)) {
    return std::nullopt;
  }
  if (attention.scores.empty()) return std::nullopt;
  constexpr std::string_view kProduct = "_dot_dimension_numbers", kGradient = "grad";
  bool backward = false;
  for (const auto& [key, value] : config->items()) {
    if (!key.ends_with(kProduct)) continue;
    ++attention.products;
    backward |= key.find(kGradient) != std::string::npos;
  }
  if (backward) ++attention.products;  // the scores are recomputed
  const Json* mask = find(*config, "mask_type");
  attention.causal = mask != nullptr && mask->is_string() &&
                     mask->get_ref<const std::string&>().find("CAUSAL") != std::string::npos;
  const Json* window = find(*config, "sliding_window_length");
  attention.window = window ? number(*window).value_or(0) : 0;
  return attention.products > 0 ? std::optional(attention) : std::nullopt;
}

namespace {

struct AttentionSize {
  const char* key;
  std::int64_t Attention::*size;
};
constexpr AttentionSize kAttentionSizes[] = {
    {"batch", &Attention::batch},          {"heads", &Attention::heads},
    {"kv_heads", &Attention::kv_heads},    {"q_len", &Attention::queries},
    {"kv_len", &Attention::keys},          {"head_dim", &Attention::width},
    {"value_dim", &Attention::value_width}};

}  // namespace

std::optional<Attention> read_attention_call(std::string_view text) {
  const std::optional<Json> json = parsed(text);
  const Json* said = json ? find(*json, "attention") : nullptr;
  if (said == nullptr) return std::nullopt;
  Attention attention;
  constexpr double kMostSize = 1e15;
  for (const auto& [key, size] : kAttentionSizes) {
    const Json* value = find(*said, key);
    const std::optional<double> read = value ? number(*value) : std::nullopt;
    if (!read || *read < 1 || *read > kMostSize) return std::nullopt;
    attention.*size = static_cast<std::int64_t>(*read);
  }
  const auto whole = [&](const char* key) {
    const Json* value = find(*said, key);
    return value ? std::clamp(number(*value).value_or(0), 0.0, kMostSize) : 0;
  };
  attention.window = static_cast<std::int64_t>(whole("window"));
  attention.causal = whole("causal") > 0;
  attention.backward = whole("backward") > 0;
  attention.unread_mask = whole("unread_mask") > 0;
  const auto dtype = [&](const char* key, DType& into) {
    const Json* value = find(*said, key);
    if (value == nullptr || !value->is_string()) return;
    into = parse_dtype(value->get_ref<const std::string&>()).value_or(into);
  };
  dtype("dtype", attention.dtype);
  dtype("kv_dtype", attention.kv_dtype);
  return misfit(attention).empty() ? std::optional(attention) : std::nullopt;
}

std::string attention_config(const Attention& attention) {
  Json said;
  for (const auto& [key, size] : kAttentionSizes) said[key] = attention.*size;
  said["window"] = attention.window;
  said["causal"] = attention.causal ? 1 : 0;
  said["backward"] = attention.backward ? 1 : 0;
  if (attention.unread_mask) said["unread_mask"] = 1;
  said["dtype"] = name(attention.dtype);
  said["kv_dtype"] = name(attention.kv_dtype);
  return Json{{"attention", said}}.dump();
}

std::optional<DotDims> read_gemm_dims(std::string_view text) {
  if (text.find("dot_dimension_numbers") == std::string_view::npos) return std::nullopt;
  const std::optional<Json> json = parsed(text);
  if (!json) return std::nullopt;
  const Json* gemm = find(*json, "gemm_backend_config");
  const Json* numbers = find(gemm != nullptr ? *gemm : *json, "dot_dimension_numbers");
  if (numbers == nullptr) return std::nullopt;
  auto lhs = dimension_list(*numbers, "lhs_contracting_dimensions");
  auto rhs = dimension_list(*numbers, "rhs_contracting_dimensions");
  auto lhs_batch = dimension_list(*numbers, "lhs_batch_dimensions");
  auto rhs_batch = dimension_list(*numbers, "rhs_batch_dimensions");
  if (!lhs || !rhs || !lhs_batch || !rhs_batch) return std::nullopt;
  return DotDims{.lhs_contracting = *std::move(lhs),
                 .rhs_contracting = *std::move(rhs),
                 .lhs_batch = *std::move(lhs_batch),
                 .rhs_batch = *std::move(rhs_batch),
                 .lhs_ragged = {},
                 .rhs_group = {}};
}

}  // namespace tilecast::ir
