#include "ir/onnx/onnx.h"

#include "base/plugin.h"
#include "ir/onnx/onnx_module_abi.h"

namespace tilecast::ir {
namespace {

constexpr base::Plugin kOnnx = {"onnx", "the module that reads ONNX", kOnnxModuleAbi, "onnx"};

// Removes and returns the varint at the front of `bytes`; nullopt if there is none.
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10 && i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

// Fields of ModelProto: ir_version = 1 and model_version = 5 are varints, the others (strings,
// graph = 7, opset_import = 8, metadata = 14, training = 20, functions = 25) are length-delimited.
bool is_onnx(std::string_view bytes) {
  bool has_version = false;
  while (!bytes.empty()) {
    const auto tag = take_varint(bytes);
    if (!tag) return false;
    const std::uint64_t field = *tag >> 3;
    const auto value = take_varint(bytes);
    if (!value) return false;
    if ((*tag & 7) == 0 && (field == 1 || field == 5)) {
      has_version = has_version || (field == 1 && *value > 0 && *value < 100);
    } else if ((*tag & 7) == 2 && field > 1 && field <= 25 && field != 5) {
      if (field == 7) return has_version;
      if (*value > bytes.size()) return false;
      bytes.remove_prefix(*value);
    } else {
      return false;
    }
  }
  return false;
}

Module read_onnx(std::string_view bytes, const std::string& file, const ReadOptions& options) {
  return reinterpret_cast<OnnxReader*>(base::load_plugin(kOnnx))(bytes, file, options);
}

}  // namespace tilecast::ir
