// Inside of ir/stablehlo/stablehlo.h: the text while it is made from a module. One printer prints
// one module once.
//
// A computation is a function, or the region of an op. What HLO has as one value of a tuple type
// and StableHLO as several is taken apart in front of an op and put together behind it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/hlo.h"
#include "ir/stablehlo/print_forms.h"
#include "ir/text/print_order.h"

namespace tilecast::ir::stablehlo {

// Whether the computations of `instruction`, which has `form`, are regions of the op.
[[nodiscard]] bool has_regions(const Instruction& instruction, const OpForm* form);

class StablehloPrinter {
 public:
  explicit StablehloPrinter(const Module& module);
  std::string print();

 private:
  using Names = std::vector<std::string>;  // by InstrId, with the sign

  // print_stablehlo.cpp
  void print_function(ComputationId id);
  void print_body(ComputationId id, Names& names, std::string_view indent);
  void print_instruction(const Computation& computation, InstrId id, Names& names,
                         std::string_view indent);
  void print_native(const OpSite& site, const OpForm& form, std::span<const Names> captured,
                    std::string_view indent);
  void print_custom_call(const OpSite& site);
  void print_types(const OpSite& site, const OpForm* form);
  [[nodiscard]] std::string symbol(ComputationId id) const;
  std::string fresh_name(std::string_view name);
  // The instruction as one that StableHLO has: fusions and asynchronous starts are calls.
  [[nodiscard]] Instruction plain(const Computation& computation,
                                  const Instruction& instruction) const;
  // Null where the instruction, a plain one, is a custom call there.
  const OpForm* form_of(const Computation& computation, const Instruction& instruction);

  // print_regions.cpp
  // Which computations functions are needed for: all that are called but as regions.
  [[nodiscard]] std::vector<bool> needed_functions();
  [[nodiscard]] bool is_region(const Instruction& instruction);
  [[nodiscard]] bool is_control(const Instruction& instruction) const;
  [[nodiscard]] bool fits_region(const Computation& computation) const;
  // Whether the region calls the function instead of being its body: several ops run it.
  [[nodiscard]] bool is_shared(ComputationId id) const { return calls_[id.index()] != 1; }
  void print_regions(const Instruction& instruction, std::string_view indent);
  // `captured`: what the parameters of branches are made of; a loop has arguments.
  void print_control_regions(const Instruction& instruction, std::span<const Names> captured,
                             std::string_view indent);
  void print_control_body(ComputationId id, const Names& elements, std::string_view indent);
  void print_return(const std::string& value, const Shape& shape, std::string_view indent);
  void forget_names(std::size_t outside);  // all but the first `outside`
  // The leaves of the tuple `value`, or the value itself: their names.
  Names unpack(const std::string& value, const Shape& shape, std::string_view indent);
  // The next of `leaves` as one value of `shape`: its name, for a tuple one made of `name`.
  std::string pack(std::string_view name, const Shape& shape, std::span<const std::string>& leaves,
                   std::string_view indent);

  const Module& module_;
  PrintPlan plan_;
  std::vector<int> calls_;                    // of each computation
  std::vector<std::optional<bool>> regions_;  // by computation: whether it can be a region
  std::unordered_set<std::string> taken_;     // names of the function that is printed
  std::vector<std::string> taken_in_order_;
  std::unordered_map<std::string, Names> parts_;  // of the tuples that were put together
  std::string out_;
};

}  // namespace tilecast::ir::stablehlo
