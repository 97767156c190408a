// Converts shardings, metadata and frontend attributes of HLO protos to text.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ir/proto/proto_text.h"
#include "ir/text/hlo_lexer.h"

namespace tilecast::ir::proto_text {
namespace {

// Indexed by XLA's OpSharding::Type; tuples and tilings have no keyword.
constexpr std::array<std::string_view, 7> kKinds = {"replicated", "maximal", "",         "",
                                                    "manual",     "unknown", "unreduced"};

template <class List>
std::string metadata_list(const List& items) {
  if (items.empty()) return {};
  if (items.size() == 1) return " metadata=" + metadata(items.Get(0));
  std::string text;
  for (const hlo_proto::Metadata& item : items) {
    text += text.empty() ? "" : ", ";
    text += metadata(item);
  }
  return " metadata={" + text + "}";
}

// The text after the tiles: the meaning of their last dimensions.
std::string last_dims(const hlo_proto::Sharding& sharding) {
  const auto& types = sharding.last_tile_dims();
  const bool replicated = types.size() == 1 && types.Get(0) == 0;
  if (replicated || (types.empty() && sharding.replicate_on_last_tile_dim())) {
    return " last_tile_dim_replicate";
  }
  if (types.empty()) return {};
  std::string text;
  for (const std::int32_t type : types) {
    text += text.empty() ? "" : ", ";
    text += word(kKinds, type, "kind of sharding");
  }
  return " last_tile_dims={" + text + "}";
}

std::string tiles(const hlo_proto::Sharding& sharding) {
  std::string text =
      fmt::format("devices=[{}]", fmt::join(sharding.tile_assignment_dimensions(), ","));
  if (sharding.iota_reshape_dims_size() > 0) {
    return text + iota(sharding.iota_reshape_dims(), sharding.iota_transpose_perm());
  }
  return text + fmt::format("{}", fmt::join(sharding.tile_assignment_devices(), ","));
}

using Axes = google::protobuf::RepeatedPtrField<hlo_proto::AxisRef>;

// `{a, b:(2)2}`, with `?` if more axes may be added.
std::string axes(const hlo_proto::Mesh& mesh, const Axes& refs, bool open) {
  std::string text;
  for (const hlo_proto::AxisRef& ref : refs) {
    if (ref.mesh_axis_index() < 0 || ref.mesh_axis_index() >= mesh.axes_size()) {
      fail_unknown("axis of a mesh", ref.mesh_axis_index());
    }
    text += text.empty() ? "" : ", ";
    text += mesh.axes(static_cast<int>(ref.mesh_axis_index())).name();
    if (!ref.has_sub_axis_info()) continue;
    text += fmt::format(":({}){}", ref.sub_axis_info().pre_size(), ref.sub_axis_info().size());
  }
  if (open) text += text.empty() ? "?" : ", ?";
  return "{" + text + "}";
}

std::string named(const hlo_proto::NamedSharding& sharding);

template <class List>
std::string tuple(const List& parts, std::string (*print)(const typename List::value_type&)) {
  std::string text;
  for (const auto& part : parts) {
    text += text.empty() ? "" : ", ";
    text += print(part);
  }
  return "{" + text + "}";
}

std::string named(const hlo_proto::NamedSharding& sharding) {
  if (!sharding.tuple_shardings().empty()) return tuple(sharding.tuple_shardings(), named);
  const hlo_proto::Mesh& mesh = sharding.mesh();
  if (mesh.axes().empty() && mesh.device_ids_size() == 1) {
    return fmt::format("{{maximal_mesh[device_id={}]}}", mesh.device_ids(0));
  }
  std::string text;
  for (const hlo_proto::MeshAxis& axis : mesh.axes()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name(), axis.size());
  }
  text = "{mesh[" + text + "]";
  if (!mesh.device_ids().empty()) {
    text += fmt::format(", device_ids=({})", fmt::join(mesh.device_ids(), ","));
  }
  std::string dims;
  for (const hlo_proto::DimensionSharding& dim : sharding.dim_shardings()) {
    dims += dims.empty() ? "" : ", ";
    dims += axes(mesh, dim.axes(), !dim.is_closed());
  }
  const bool plain =
      dims.empty() && sharding.replicated_axes().empty() && sharding.unreduced_axes().empty();
  text += plain ? ", replicated" : ", [" + dims + "]";
  for (const auto& [key, refs] : {std::pair{"replicated", &sharding.replicated_axes()},
                                  std::pair{"unreduced", &sharding.unreduced_axes()}}) {
    if (!refs->empty()) text += fmt::format(", {}={}", key, axes(mesh, *refs, /*open=*/false));
  }
  const std::string origin = metadata_list(sharding.metadata());
  return text + (origin.empty() ? "" : "," + origin) + "}";
}

}  // namespace

std::string iota(const Numbers& reshape,
                 const google::protobuf::RepeatedField<std::int32_t>& permutation) {
  std::string text = fmt::format("<=[{}]", fmt::join(reshape, ","));
  return reshape.size() < 2 ? text : text + fmt::format("T({})", fmt::join(permutation, ","));
}

std::string sharding(const hlo_proto::Sharding& value) {
  constexpr std::int32_t kMaximal = 1;
  constexpr std::int32_t kTuple = 2;
  constexpr std::int32_t kTiled = 3;
  if (value.has_named_sharding()) return named(value.named_sharding());
  if (value.type() == kTuple) return tuple(value.tuple_shardings(), sharding);
  std::string text = word(kKinds, value.type(), "kind of sharding");
  if (value.type() == kTiled) text = tiles(value) + last_dims(value);
  if (value.type() == kMaximal && value.tile_assignment_devices_size() > 0) {
    text += fmt::format(" device={}", value.tile_assignment_devices(0));
  }
  if (value.is_shard_group()) {
    text += fmt::format(" shard_{} {}", value.shard_group_type() == 0 ? "as" : "like",
                        value.shard_group_id());
  }
  return "{" + text + metadata_list(value.metadata()) + "}";
}

std::string metadata(const hlo_proto::Metadata& value) {
  std::string text;
  const auto put = [&text](std::string_view key, std::string item) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, item);
  };
  const auto put_text = [&put](std::string_view key, const std::string& item) {
    if (!item.empty()) put(key, quoted_text(item));
  };
  const auto put_number = [&put](std::string_view key, std::int64_t item) {
    if (item != 0) put(key, std::to_string(item));
  };
  put_text("op_type", value.op_type());
  put_text("op_name", value.op_name());
  put_text("source_file", value.source_file());
  put_number("source_line", value.source_line());
  put_number("source_end_line", value.source_end_line());
  put_number("source_column", value.source_column());
  put_number("source_end_column", value.source_end_column());
  if (!value.profile_type().empty()) {
    put("profile_type", fmt::format("{{{}}}", fmt::join(value.profile_type(), ",")));
  }
  put_text("deduplicated_name", value.deduplicated_name());
  if (value.preserve_layout()) put("preserve_layout", "true");
  put_text("scheduling_name", value.scheduling_name());
  put_number("stack_frame_id", value.stack_frame_id());
  return "{" + text + "}";
}

std::string frontend_attributes(const hlo_proto::FrontendAttributes& value) {
  const auto is_word = [](std::string_view key) {
    return !key.empty() &&
           (std::isalpha(static_cast<unsigned char>(key[0])) != 0 || key[0] == '_') &&
           std::all_of(key.begin(), key.end(), [](char c) {
             return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
                    c == '-';
           });
  };
  if (value.map().empty()) return {};
  std::map<std::string, std::string> items;  // in the proto they are unordered
  for (const hlo_proto::TextEntry& entry : value.map()) {
    items.emplace(is_word(entry.key()) ? entry.key() : quoted_text(entry.key()),
                  dict_or_quoted(entry.value()));
  }
  std::string text;
  for (const auto& [key, item] : items) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, item);
  }
  return "{" + text + "}";
}

std::string list(const Numbers& values) {
  return fmt::format("{{{}}}", fmt::join(values, ","));
}

std::string quoted_text(std::string_view text) {
  return "\"" + escape(text) + "\"";
}

std::string dict_or_quoted(std::string_view text) {
  const bool dict = !text.empty() && text[0] == '{' && json_dict_end(text, 0) == text.size();
  return dict ? std::string(text) : quoted_text(text);
}

}  // namespace tilecast::ir::proto_text
