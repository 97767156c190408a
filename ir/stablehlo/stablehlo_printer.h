// Part of the implementation of ir/stablehlo/stablehlo.h: prints a module as text. Single use.
//
// Computations become functions or regions of ops. If HLO has one tuple value where StableHLO has
// several values, the tuple is unpacked before the op and packed again after it.
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

// Whether the computations called by `instruction`, which is printed in `form`, become regions of
// the op.
[[nodiscard]] bool has_regions(const Instruction& instruction, const OpForm* form);

class StablehloPrinter {
 public:
  explicit StablehloPrinter(const Module& module);
  std::string print();

 private:
  using Names = std::vector<std::string>;  // by InstrId, including the `%`

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
  // `instruction` with fusions and asynchronous starts replaced by calls.
  [[nodiscard]] Instruction plain(const Computation& computation,
                                  const Instruction& instruction) const;
  // Null if the instruction (a result of plain()) is printed as a custom call.
  const OpForm* form_of(const Computation& computation, const Instruction& instruction);

  // print_regions.cpp The computations that are printed as functions: all that are called other
  // than as regions.
  [[nodiscard]] std::vector<bool> needed_functions();
  [[nodiscard]] bool is_region(const Instruction& instruction);
  [[nodiscard]] bool is_control(const Instruction& instruction) const;
  [[nodiscard]] bool fits_region(const Computation& computation) const;
  // Whether several ops call the computation, so that regions call a function instead of containing
  // its body.
  [[nodiscard]] bool is_shared(ComputationId id) const { return calls_[id.index()] != 1; }
  void print_regions(const Instruction& instruction, std::string_view indent);
  // `captured`: for each branch, the values from which its parameter is built; unused for loops,
  // whose regions have arguments.
  void print_control_regions(const Instruction& instruction, std::span<const Names> captured,
                             std::string_view indent);
  void print_control_body(ComputationId id, const Names& elements, std::string_view indent);
  void print_return(const std::string& value, const Shape& shape, std::string_view indent);
  void forget_names(std::size_t outside);  // all but the first `outside`
  // The names of the leaves of the tuple `value`, or of the value itself.
  Names unpack(const std::string& value, const Shape& shape, std::string_view indent);
  // Packs the next of `leaves` into one value of `shape` and returns its name, for a tuple derived
  // from `name`.
  std::string pack(std::string_view name, const Shape& shape, std::span<const std::string>& leaves,
                   std::string_view indent);

  const Module& module_;
  PrintPlan plan_;
  std::vector<int> calls_;                    // number of calls of each computation
  std::vector<std::optional<bool>> regions_;  // by computation: whether it can be a region
  std::unordered_set<std::string> taken_;     // names used in the current function
  std::vector<std::string> taken_in_order_;
  std::unordered_map<std::string, Names> parts_;  // of the tuples packed so far
  std::string out_;
};

}  // namespace tilecast::ir::stablehlo
