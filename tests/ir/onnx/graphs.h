// The graphs that make_graphs.py wrote, and what ONNX's shape inference says of them.
#pragma once

#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tilecast::ir {

inline std::filesystem::path graphs_dir() {
  return TILECAST_ONNX_GRAPHS;
}

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The model with the shapes that ONNX's own inference finds, as declarations: reading it warns of
// those that come out differently.
inline std::string with_inferred_shapes(const std::string& bytes) {
  ::onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return bytes;
  for (const auto& set : model.opset_import()) {
    if (set.domain().empty() && set.version() > 17) return bytes;  // newer than libonnx 1.12
  }
  try {
    ::onnx::shape_inference::InferShapes(model);
  } catch (const std::exception&) {  // what the file declares contradicts it
    return bytes;
  }
  return model.SerializeAsString();
}

}  // namespace tilecast::ir
