// Shardings: checked and reprinted as XLA prints them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/text/value_readers.h"

namespace tilecast::ir {

std::int64_t product_of(const Cursor& cursor, const Dims& dims, std::size_t begin) {
  constexpr std::int64_t kMostTiledDevices = std::int64_t{1} << 24;
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) {
    cursor.fail_at_if(__builtin_mul_overflow(product, dim, &product) || product > kMostTiledDevices,
                      begin, "more than {} devices", kMostTiledDevices);
  }
  return product;
}

std::vector<std::int64_t> expand_iota(const Dims& reshape, const Dims& permutation,
                                      std::int64_t count) {
  const std::size_t rank = reshape.size();
  Dims stride(rank, 1);
  for (std::size_t i = rank - 1; i > 0; --i) stride[i - 1] = stride[i] * reshape[i];
  Dims position(rank, 0);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  for (std::int64_t& id : ids) {
    id = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      id += position[i] * stride[static_cast<std::size_t>(permutation[i])];
    }
    for (std::size_t i = rank; i-- > 0;) {
      if (++position[i] < reshape[static_cast<std::size_t>(permutation[i])]) break;
      position[i] = 0;
    }
  }
  return ids;
}

Dims read_permutation(Cursor& cursor, std::size_t rank) {
  const std::size_t begin = cursor.token().begin;
  Dims permutation;
  cursor.advance();
  cursor.expect(Tok::kLeftParen, "expects '(' after T");
  std::uint64_t seen = 0;
  do {
    const std::int64_t dim = cursor.integer_from(0, "transposed dimension");
    cursor.fail_at_if(dim >= static_cast<std::int64_t>(rank) || (seen >> dim & 1U) != 0, begin,
                      "expects a permutation of the reshaped dimensions after T");
    seen |= std::uint64_t{1} << dim;
    permutation.push_back(dim);
  } while (cursor.accept(Tok::kComma));
  cursor.expect(Tok::kRightParen, "expects ')' after the permutation");
  cursor.fail_at_if(permutation.size() != rank, begin,
                    "expects a permutation of the reshaped dimensions after T");
  return permutation;
}

namespace {

std::string square(const Dims& dims) {
  return fmt::format("[{}]", fmt::join(dims, ","));
}

void check_explicit_devices(const Cursor& cursor, std::vector<std::int64_t> ids, std::int64_t count,
                            std::size_t begin) {
  cursor.fail_at_if(static_cast<std::int64_t>(ids.size()) != count, begin,
                    "tile assignment has {} devices, but its dimensions need {}", ids.size(),
                    count);
  std::sort(ids.begin(), ids.end());
  cursor.fail_at_if(std::adjacent_find(ids.begin(), ids.end()) != ids.end(), begin,
                    "tile assignment devices must be unique");
}

// `[2,4]<=[8]` or `[2,4]0,1,2,...`.
std::string read_tile_assignment(Cursor& cursor) {
  const std::size_t begin = cursor.token().begin;
  const Dims dims = read_square_dims(cursor);
  const std::int64_t count = product_of(cursor, dims, begin);
  if (cursor.at(Tok::kLessEqual)) {
    return "devices=" + square(dims) + read_iota(cursor, count, /*expand=*/false).text;
  }
  std::vector<std::int64_t> ids;
  do {
    ids.push_back(cursor.integer());  // the verifier judges the sign, as XLA's does
  } while (cursor.accept(Tok::kComma));
  check_explicit_devices(cursor, ids, count, begin);
  return fmt::format("devices={}{}", square(dims), fmt::join(ids, ","));
}

// `{manual, replicated}` after last_tile_dims=.
std::string read_subgroup_types(Cursor& cursor) {
  std::string out;
  cursor.list("a list of sharding types", [&] {
    const std::string_view type = cursor.identifier("expects a sharding type");
    cursor.fail_if(type != "maximal" && type != "replicated" && type != "manual" &&
                       type != "unreduced" && type != "unknown",
                   "unexpected sharding type");
    out += fmt::format("{}{}", out.empty() ? "" : ", ", type);
  });
  return "last_tile_dims={" + out + "}";
}

struct SingleSharding {
  std::string kind;     // replicated, maximal, manual, unknown, unreduced, or empty: tiled
  std::string devices;  // device=3 or devices=[...]...
  std::string last_dims, shard_group, metadata;
  bool one_device = false;
};

void read_sharding_attribute(Cursor& cursor, SingleSharding& sharding) {
  const Token key = cursor.token();
  cursor.advance();
  if (key.text == "device") {
    cursor.fail_if(!cursor.at(Tok::kInteger), "device= attribute must be an integer");
    sharding.devices = fmt::format("device={}", cursor.integer());
    sharding.one_device = true;
  } else if (key.text == "devices") {
    sharding.devices = read_tile_assignment(cursor);
  } else if (key.text == "metadata") {
    sharding.metadata = "metadata=" + read_metadata_list(cursor);
  } else if (key.text == "last_tile_dims") {
    sharding.last_dims = read_subgroup_types(cursor);
  } else {
    cursor.fail_at(key.begin,
                   "unknown attribute in sharding: expected device=, devices= metadata= or "
                   "last_tile_dims= ");
  }
}

void read_sharding_keyword(Cursor& cursor, SingleSharding& sharding) {
  const std::string_view word = cursor.token().text;
  if (word == "last_tile_dim_replicate") {
    sharding.last_dims = word;
    cursor.advance();
  } else if (word == "shard_as" || word == "shard_like") {
    cursor.advance();
    cursor.fail_if(!cursor.at(Tok::kInteger), "expects an integer after shard_as or shard_like");
    sharding.shard_group = fmt::format("{} {}", word, cursor.integer());
  } else if (word == "replicated" || word == "maximal" || word == "manual" || word == "unknown" ||
             word == "unreduced") {
    sharding.kind = word;
    cursor.advance();
  } else {
    cursor.fail("unexpected token in sharding");
  }
}

void check_single(const Cursor& cursor, const SingleSharding& sharding, std::size_t begin) {
  if (sharding.kind == "maximal") {
    cursor.fail_at_if(!sharding.one_device, begin,
                      "maximal shardings should have exactly one device assigned");
  } else if (!sharding.kind.empty()) {
    cursor.fail_at_if(!sharding.devices.empty(), begin,
                      "{} shardings should not have any devices assigned", sharding.kind);
  } else if (sharding.devices.empty() || sharding.one_device) {
    cursor.fail_at(begin,
                   "non-maximal shardings must have a tile assignment list including dimensions");
  }
}

// The items after the opening brace, up to and with the closing one.
std::string read_classic_sharding(Cursor& cursor, std::size_t begin) {
  SingleSharding sharding;
  while (!cursor.at(Tok::kRightBrace)) {
    if (cursor.at(Tok::kAttributeName)) {
      read_sharding_attribute(cursor, sharding);
    } else if (cursor.at(Tok::kKeyword)) {
      read_sharding_keyword(cursor, sharding);
    } else {
      cursor.fail("unexpected token in sharding");
    }
  }
  check_single(cursor, sharding, begin);
  cursor.advance();
  std::string out;
  for (const std::string* part : {&sharding.kind, &sharding.devices, &sharding.last_dims,
                                  &sharding.shard_group, &sharding.metadata}) {
    if (!part->empty()) out += (out.empty() ? "" : " ") + *part;
  }
  return "{" + out + "}";
}

std::string read_one(Cursor& cursor) {
  const std::size_t begin = cursor.token().begin;
  cursor.expect(Tok::kLeftBrace, "expected '{' to start sharding attribute");
  const bool named = cursor.at(Tok::kIdentifier) &&
                     (cursor.token().text == "mesh" || cursor.token().text == "maximal_mesh");
  return named ? read_named_sharding(cursor) : read_classic_sharding(cursor, begin);
}

}  // namespace

IotaList read_iota(Cursor& cursor, std::int64_t count, bool expand) {
  IotaList list;
  const std::size_t begin = cursor.token().begin;
  cursor.expect(Tok::kLessEqual, "expects '<=' before the reshaped dimensions");
  const Dims reshape = read_square_dims(cursor);
  cursor.fail_at_if(product_of(cursor, reshape, begin) != count, begin,
                    "the reshaped dimensions hold {} devices, expected {}",
                    product_of(cursor, reshape, begin), count);
  Dims permutation(reshape.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  list.text = "<=" + square(reshape);
  if (reshape.size() > 1) {
    cursor.fail_if(!cursor.at(Tok::kIdentifier) || cursor.token().text != "T",
                   "expects 'T(...)' after more than one reshaped dimension");
    permutation = read_permutation(cursor, reshape.size());
    list.text += fmt::format("T({})", fmt::join(permutation, ","));
  }
  if (expand) list.ids = expand_iota(reshape, permutation, count);
  return list;
}

std::vector<std::vector<std::int64_t>> in_groups_of(std::int64_t size,
                                                    std::span<const std::int64_t> ids) {
  std::vector<std::vector<std::int64_t>> groups;
  for (; !ids.empty(); ids = ids.subspan(static_cast<std::size_t>(size))) {
    const auto group = ids.first(static_cast<std::size_t>(size));
    groups.emplace_back(group.begin(), group.end());
  }
  return groups;
}

std::string read_sharding(Cursor& cursor) {
  cursor.fail_if(!cursor.at(Tok::kLeftBrace), "expected '{' to start sharding attribute");
  const char next = cursor.peek_char();
  if (next != '{' && next != '}') return read_one(cursor);
  std::string out;
  cursor.list("the shardings of a tuple",
              [&] { out += (out.empty() ? "" : ", ") + read_one(cursor); });
  return "{" + out + "}";
}

}  // namespace tilecast::ir
