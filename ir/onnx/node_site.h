// An ONNX node while it is lowered, with its inputs as terms and its attributes as typed values;
// and the tables of lowering functions per op.
//
// Accessors throw Error (message only) if an input or attribute is missing or of the wrong kind.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/onnx/terms.h"

namespace tilecast::ir::onnx_reader {

// Values by name, and a function's attributes, to which its nodes refer by `ref_attr_name`.
struct Scope {
  std::map<std::string, Term> values;
  std::map<std::string, const ::onnx::AttributeProto*> attributes;
};

class GraphLowering;

struct NodeSite {
  GraphLowering& graph;
  const ::onnx::NodeProto& node;
  Scope& scope;
  Emitter& emitter;
  std::int64_t version;  // of the node's operator set

  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(node.input_size()); }
  [[nodiscard]] bool has(std::size_t input) const;
  [[nodiscard]] bool gives(int output) const;  // whether the node names this output
  [[nodiscard]] Term operator[](std::size_t input) const;
  [[nodiscard]] Term or_zero(std::size_t input, Term like_this) const;  // a scalar 0 of its type
  [[nodiscard]] Terms inputs() const;  // fails if an input is omitted
  // The known integers of an input; nullopt if the input is omitted.
  [[nodiscard]] std::optional<Dims> known(std::size_t input) const;
  [[nodiscard]] Dims need_known(std::size_t input) const;
  [[nodiscard]] std::optional<Numbers> known_numbers(std::size_t input) const;
  // A value that is an attribute in older operator sets and an input in newer ones.
  [[nodiscard]] std::optional<Dims> attribute_or_input(const char* name, std::size_t input) const;

  [[nodiscard]] const ::onnx::AttributeProto* find(const std::string& name) const;
  [[nodiscard]] std::int64_t integer(const char* name, std::int64_t fallback) const;
  [[nodiscard]] bool flag(const char* name) const { return integer(name, 0) != 0; }
  [[nodiscard]] double number(const char* name, double fallback) const;
  [[nodiscard]] std::string text(const char* name, const std::string& fallback) const;
  [[nodiscard]] std::optional<Dims> integers(const char* name) const;
  [[nodiscard]] const ::onnx::GraphProto& subgraph(const char* name) const;
  // The axis given by an attribute; negative values count from the end.
  [[nodiscard]] std::int64_t axis(const char* name, std::int64_t fallback,
                                  std::int64_t rank) const {
    return normal_axis(integer(name, fallback), rank);
  }
};

using Lowering = Terms (*)(const NodeSite&);
struct OpRow {
  const char* op;  // "Conv"; with the domain if not ONNX's: "com.microsoft:FusedMatMul"
  Lowering lower;
};
[[nodiscard]] std::span<const OpRow> elementwise_rows();
[[nodiscard]] std::span<const OpRow> product_rows();
[[nodiscard]] std::span<const OpRow> quantised_rows();
[[nodiscard]] std::span<const OpRow> window_rows();
[[nodiscard]] std::span<const OpRow> normalisation_rows();
[[nodiscard]] std::span<const OpRow> movement_rows();
[[nodiscard]] std::span<const OpRow> resize_rows();
[[nodiscard]] std::span<const OpRow> index_rows();
[[nodiscard]] std::span<const OpRow> control_rows();
[[nodiscard]] std::span<const OpRow> recurrent_rows();
[[nodiscard]] std::span<const OpRow> attention_rows();
[[nodiscard]] std::span<const OpRow> training_rows();

// Throws Error for strings and other types that HLO does not have.
[[nodiscard]] DType element_type(std::int64_t onnx_type);
[[nodiscard]] int onnx_type(DType dtype);
// The numbers of a tensor of at most kMostFolded elements; nullopt if it is larger, not stored in
// the file or shorter than its shape.
[[nodiscard]] std::optional<Numbers> tensor_numbers(const ::onnx::TensorProto& tensor);
[[nodiscard]] Shape tensor_shape(const ::onnx::TensorProto& tensor);
[[nodiscard]] Term tensor_term(Emitter& emitter, const ::onnx::TensorProto& tensor,
                               const std::string& name);

}  // namespace tilecast::ir::onnx_reader
