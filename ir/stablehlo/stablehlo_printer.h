// Inside of ir/stablehlo/stablehlo.h: the text while it is made from a module. One printer prints
// one module once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  void print_parameters(const Computation& computation, Names& names);
  void print_body(ComputationId id, Names& names, std::string_view indent);
  void print_instruction(const Computation& computation, InstrId id, Names& names,
                         std::string_view indent);
  void print_native(const OpSite& site, const OpForm& form, const std::string& others,
                    std::span<const Names> captured, std::string_view indent);
  void print_fallback(const OpSite& site);
  void print_types(const OpSite& site, const OpForm* form);
  // The discardable attributes, ` {...}` or nothing; `name`: the value's, `form`: null = fallback;
  // `mark`: a unit attribute to have among them.
  [[nodiscard]] std::string discardable(const Computation& computation,
                                        const Instruction& instruction, std::string_view name,
                                        const OpForm* form, std::string_view mark = {});
  [[nodiscard]] std::string other_attributes(const Computation& computation,
                                             const Instruction& instruction,
                                             std::string_view holds);
  void add_regions(const Instruction& instruction, std::vector<std::string>& items);
  std::string fresh_name(std::string_view name);
  // Null where the instruction is printed in the fallback form.
  const OpForm* form_of(const Computation& computation, const Instruction& instruction);

  // print_regions.cpp
  // Which computations functions are needed for: all that are called but as regions.
  [[nodiscard]] std::vector<bool> needed_functions();
  [[nodiscard]] bool is_region(const Instruction& instruction);
  [[nodiscard]] bool is_control(const Instruction& instruction) const;
  [[nodiscard]] bool fits_region(const Computation& computation) const;
  void print_regions(const Instruction& instruction, std::string_view indent);
  // `captured`: what the parameters of branches are made of; a loop has arguments.
  void print_control_regions(const Instruction& instruction, std::span<const Names> captured,
                             std::string_view indent);
  void print_region_parameter(const Computation& computation, const Names& elements, Names& names,
                              std::string_view indent);
  void print_return(const Computation& computation, const Names& names, std::string_view indent);
  void forget_names(std::size_t outside);  // all but the first `outside`
  // The elements of the tuple `value`, or the value itself: their names.
  Names unpack(const std::string& value, const Shape& shape, std::string_view indent);
  // The results of the op `name` as one tuple: its name.
  std::string pack(const std::string& name, const Shape& shape, std::string_view indent);

  const Module& module_;
  PrintPlan plan_;
  std::vector<int> calls_;                    // of each computation
  std::vector<std::optional<bool>> regions_;  // by computation: whether it can be a region
  std::unordered_set<std::string> taken_;     // names of the function that is printed
  std::vector<std::string> taken_in_order_;
  std::string out_;
};

}  // namespace tilecast::ir::stablehlo
