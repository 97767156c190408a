// The graphs written by make_graphs.py, and the results of ONNX's shape inference on them.
#pragma once

#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <filesystem>
#include <string>

namespace tilecast::ir {

inline std::filesystem::path graphs_dir() {
  return TILECAST_ONNX_GRAPHS;
}

// The model with shapes declared by ONNX's own inference, so that reading it warns of different
// results.
inline std::string with_inferred_shapes(const std::string& bytes) {
  ::onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return bytes;
  for (const auto& set : model.opset_import()) {
    if (set.domain().empty() && set.version() > 17) return bytes;  // newer than libonnx 1.12
  }
  try {
    ::onnx::shape_inference::InferShapes(model);
  } catch (const std::exception&) {  // the file's declarations contradict it
    return bytes;
  }
  return model.SerializeAsString();
}

}  // namespace tilecast::ir
