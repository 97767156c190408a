// The plugin loaded by ir/onnx/onnx.cpp: its C symbols, and parsing a ModelProto.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>

#include <filesystem>

#include "base/error.h"
#include "base/plugin.h"
#include "base/text.h"
#include "ir/onnx/graph_lowering.h"
#include "ir/onnx/onnx_module_abi.h"
#include "ir/verify/verifier.h"

namespace tilecast::ir::onnx_reader {
namespace {

constexpr int kDeepestMessage = 100;

::onnx::ModelProto parsed(std::string_view bytes) {
  if (bytes.size() > INT32_MAX) throw Error("more than 2 GiB; keep the weights as external data");
  google::protobuf::LogSilencer quiet;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kDeepestMessage);
  ::onnx::ModelProto model;
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    throw Error("the ONNX model is cut off or damaged");
  }
  if (!model.has_graph()) throw Error("the ONNX model has no graph");
  return model;
}

std::optional<Shape> declared_shape(const ::onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape())
    return std::nullopt;
  Shape shape = Shape::array(DType::kPred, {});
  for (const auto& dim : value.type().tensor_type().shape().dim())
    shape.dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  return shape;
}

// Checks that shapes declared in the file equal the lowered ones. ONNX's own inference is not used
// here, because libonnx 1.12 crashes on damaged graphs; tests compare with it.
void compare_shapes(const ::onnx::ModelProto& model, const std::map<std::string, Shape>& lowered,
                    Module& module) {
  int different = 0;
  std::string first;
  const auto check = [&](const ::onnx::ValueInfoProto& value) {
    const auto found = lowered.find(value.name());
    const auto shape = declared_shape(value);
    if (found == lowered.end() || !shape) return;
    bool same = shape->dims.size() == found->second.dims.size();
    for (std::size_t i = 0; same && i < shape->dims.size(); ++i) {
      same = shape->dims[i] < 0 || shape->dims[i] == found->second.dims[i];
    }
    if (same || ++different > 1) return;
    first = fmt::format("`{}` is [{}], the file says [{}]", value.name(),
                        fmt::join(found->second.dims, ","), fmt::join(shape->dims, ","));
  };
  for (const auto& value : model.graph().value_info()) check(value);
  for (const auto& value : model.graph().output()) check(value);
  if (different > 0) {
    module.warnings.push_back(
        fmt::format("{} shapes differ from those declared; {}", different, first));
  }
}

Module read(std::string_view bytes, const std::string& file, const ReadOptions& options) {
  const ::onnx::ModelProto model = parsed(bytes);
  Module module;
  module.file = file;
  const std::string stem = std::filesystem::path(file).stem().string();
  module.name = model.graph().name().empty() ? stem : model.graph().name();
  if (module.name.empty()) module.name = "onnx";
  for (char& c : module.name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) == 0 && c != '_' && c != '.' && c != '-') c = '_';
  }
  GraphLowering lowering(model, options, module);
  lowering.run();
  compare_shapes(model, lowering.shapes(), module);
  verify(module);
  return module;
}

Module read_or_refuse(std::string_view bytes, const std::string& file, const ReadOptions& options) {
  try {
    return read(bytes, file, options);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", file, base::printable(error.what())));
  } catch (const std::exception& error) {  // thrown by libonnx and its dependencies
    throw Error(fmt::format("{}: ONNX: {}", file, base::printable(error.what())));
  }
}

}  // namespace
}  // namespace tilecast::ir::onnx_reader

TILECAST_PLUGIN(onnx, tilecast::ir::kOnnxModuleAbi, &tilecast::ir::onnx_reader::read_or_refuse)
