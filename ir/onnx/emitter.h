// Emits the instructions of one HLO computation while ONNX nodes are lowered.
//
// A Term is a value of the graph: an instruction, or known numbers that are not emitted until an
// instruction needs them. Instructions whose operands are all known are folded rather than emitted,
// so shape computations (Shape, Gather, Concat, Reshape ...) disappear. Result shapes come from
// ir/infer/shape_inference.h. Throws Error if operands do not fit. Not thread-safe.
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
using Numbers = std::vector<double>;  // elements in row-major order; integers are exact up to 2^53

struct Term {
  Emitter* emitter = nullptr;
  std::size_t index = 0;

  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] DType dtype() const { return shape().dtype; }
  [[nodiscard]] const Dims& dims() const { return shape().dims; }
  [[nodiscard]] std::int64_t dim(std::size_t index_of_dim) const { return dims().at(index_of_dim); }
  [[nodiscard]] int rank() const { return shape().rank(); }
  // Null if unknown.
  [[nodiscard]] const Numbers* numbers() const;
  // True if the term is emitted as a `constant`. Other known numbers are passed to computations as
  // operands.
  [[nodiscard]] bool is_literal() const;
};
using Terms = std::vector<Term>;

// An instruction to emit. `shape` is needed only if it cannot be inferred.
struct Spec {
  Opcode opcode;
  Terms operands = {};
  OpAttrs attrs = {};
  Dims dimensions = {};
  Shape shape = {};
  std::vector<ComputationId> called = {};
  std::vector<RawAttr> raw = {};
};

// Largest array, in elements, that is folded while reading; larger ones are computed on the device.
inline constexpr std::int64_t kMostFolded = 4096;

class Emitter {
 public:
  // Only the entry can have weights as parameters; elsewhere they are constants without contents.
  Emitter(Module& module, std::string name, bool is_entry = false)
      : module_(module), is_entry_(is_entry) {
    computation_.name = std::move(name);
  }
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  [[nodiscard]] Term parameter(Shape shape, const std::string& name);
  // An array that becomes a parameter when it is first used.
  [[nodiscard]] Term weight(Shape shape, std::string name);
  // Known numbers. With a name they are a tensor of the file, which becomes a parameter unless
  // small.
  [[nodiscard]] Term constant(const Shape& shape, Numbers numbers, std::string name = {});
  [[nodiscard]] Term emit(Spec spec);

  // A computation with one tuple parameter whose elements have the shapes of `operands`; `body`
  // receives the elements.
  using Body = std::function<Terms(Emitter&, const Terms&)>;
  [[nodiscard]] ComputationId computation(const std::string& name, const Terms& operands,
                                          const Body& body, bool gives_tuple = true);
  // A computation with one parameter per shape, as reductions and sorts need; created once per
  // name.
  [[nodiscard]] ComputationId reduction(const std::string& name, const std::vector<Shape>& shapes,
                                        const Body& body);
  // A computation that applies `opcode` to two scalar parameters.
  [[nodiscard]] ComputationId reducer(Opcode opcode, DType dtype);
  [[nodiscard]] ComputationId finish(const Terms& results, bool gives_tuple);

  // Sets the metadata (`op_type` and `op_name`) of the instructions that follow.
  void set_origin(const std::string& op_type, const std::string& op_name);
  [[nodiscard]] const Module& module() const { return module_; }

 private:
  friend struct Term;
  struct Entry {
    Shape shape;
    InstrId id;  // invalid until an instruction needs it
    std::unique_ptr<const Numbers> numbers;
    std::string name;         // of the tensor in the file
    bool is_written = false;  // already emitted, as an instruction or parameter of its own
  };
  struct Folded {
    Shape shape;
    Numbers numbers;
    bool literal;  // true if all operands are
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
  std::deque<Entry> entries_;  // a deque, because references to shapes must stay valid
  std::set<InstrId> weights_;  // parameters that are not inputs of the graph
  std::unordered_set<std::string> names_;
  std::map<std::string, int> name_counts_;
  std::string metadata_;
};

// Evaluates `instruction` (elementwise, data movement, small reductions) from its operands' shapes
// and numbers; nullopt if there is no rule for it or the result is not exact.
struct Known {
  const Shape& shape;
  const Numbers& numbers;
};
[[nodiscard]] std::optional<Numbers> fold(const Module& module, const Instruction& instruction,
                                          const std::vector<Known>& operands);

}  // namespace tilecast::ir::onnx_reader
