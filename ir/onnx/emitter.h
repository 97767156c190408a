// Writes the instructions of one HLO computation while ONNX nodes are lowered onto it.
//
// A Term is a value of the graph: an instruction, or numbers that are known and cost nothing until
// an instruction needs them. Instructions whose operands are all known are evaluated instead of
// written, so computed shapes (Shape, Gather, Concat, Reshape ...) vanish. Shapes of results by
// ir/infer/shape_inference.h; throws Error where operands do not fit. Single-threaded.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir::onnx_reader {

class Emitter;
using Numbers = std::vector<double>;  // of an array, row-major; integers are exact to 2^53

struct Term {
  Emitter* emitter = nullptr;
  std::size_t index = 0;

  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] DType dtype() const { return shape().dtype; }
  [[nodiscard]] const Dims& dims() const { return shape().dims; }
  [[nodiscard]] std::int64_t dim(std::size_t index_of_dim) const { return dims().at(index_of_dim); }
  [[nodiscard]] int rank() const { return shape().rank(); }
  // Null when they are not known.
  [[nodiscard]] const Numbers* numbers() const;
  // Known numbers that become a `constant`; others are passed to computations as operands.
  [[nodiscard]] bool is_literal() const;
};
using Terms = std::vector<Term>;

// One instruction to write; the result's shape is needed only where it is not inferred.
struct Spec {
  Opcode opcode;
  Terms operands = {};
  OpAttrs attrs = {};
  Dims dimensions = {};
  Shape shape = {};
  std::vector<ComputationId> called = {};
  std::vector<RawAttr> raw = {};
};

// Most elements that are evaluated while reading; larger arrays are computed by the device.
inline constexpr std::int64_t kMostFolded = 4096;

class Emitter {
 public:
  // Only the entry can have weights; elsewhere they are constants without contents.
  Emitter(Module& module, std::string name, bool is_entry = false)
      : module_(module), is_entry_(is_entry) {
    computation_.name = std::move(name);
  }
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  [[nodiscard]] Term parameter(Shape shape, const std::string& name);
  // An array that is a parameter from its first use on.
  [[nodiscard]] Term weight(Shape shape, std::string name);
  // Known numbers; with a name they are a tensor of the file, and a parameter unless small.
  [[nodiscard]] Term constant(const Shape& shape, Numbers numbers, std::string name = {});
  [[nodiscard]] Term emit(Spec spec);

  // A computation of one tuple of arrays like `operands`, which `body` gets.
  using Body = std::function<Terms(Emitter&, const Terms&)>;
  [[nodiscard]] ComputationId computation(const std::string& name, const Terms& operands,
                                          const Body& body, bool gives_tuple = true);
  // One of parameters like `shapes`, as reductions and sorts have it; one for each name.
  [[nodiscard]] ComputationId reduction(const std::string& name, const std::vector<Shape>& shapes,
                                        const Body& body);
  // Of scalars: `opcode` of two parameters.
  [[nodiscard]] ComputationId reducer(Opcode opcode, DType dtype);
  [[nodiscard]] ComputationId finish(const Terms& results, bool gives_tuple);

  // What the following instructions are written for: metadata of `op_type` and `op_name`.
  void set_origin(const std::string& op_type, const std::string& op_name);
  [[nodiscard]] const Module& module() const { return module_; }

 private:
  friend struct Term;
  struct Entry {
    Shape shape;
    InstrId id;  // invalid until an instruction needs it
    std::unique_ptr<const Numbers> numbers;
    std::string name;         // of the tensor in the file
    bool is_written = false;  // by an instruction or a parameter of its own
  };
  struct Folded {
    Shape shape;
    Numbers numbers;
    bool literal;  // as all of its operands
  };

  [[nodiscard]] Term add(Entry entry);
  [[nodiscard]] InstrId write(Instruction instruction, const std::string& name);
  [[nodiscard]] InstrId materialise(const Term& term);
  [[nodiscard]] bool is_small(const Entry& entry) const;
  [[nodiscard]] std::optional<Folded> folded(const Spec& spec, Instruction instruction) const;
  [[nodiscard]] std::string unique_name(std::string name);
  void remove_dead();

  Module& module_;
  bool is_entry_;
  Computation computation_;
  std::deque<Entry> entries_;  // shapes stay where they are
  std::set<InstrId> weights_;  // parameters that are no inputs of the graph
  std::unordered_set<std::string> names_;
  std::map<std::string, int> name_counts_;
  std::string metadata_;
};

// The result of `instruction` (elementwise, movement, small reductions) from its operands' shapes
// and numbers; nothing where it has no rule or the result is not exact.
struct Known {
  const Shape& shape;
  const Numbers& numbers;
};
[[nodiscard]] std::optional<Numbers> fold(const Module& module, const Instruction& instruction,
                                          const std::vector<Known>& operands);

}  // namespace tilecast::ir::onnx_reader
