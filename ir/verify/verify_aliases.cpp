// Aliasing of results with operands and parameters, custom calls, and the entry's layouts.
#include <algorithm>

#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

struct AliasedShapes {
  const Shape& output;
  const Shape& operand;
};

AliasedShapes aliased_shapes(const Site& site, const Alias& alias) {
  fail_if(alias.operand < 0 || static_cast<std::size_t>(alias.operand) >= site.count(),
          "Invalid aliasing operand index. Got {}, {} has {} operands", alias.operand,
          site.instruction.name, site.count());
  const Shape& whole = site.operand(static_cast<std::size_t>(alias.operand));
  const Shape* operand = subshape(whole, alias.operand_index);
  fail_if(operand == nullptr, "Invalid aliasing operand shape index. Got {} of {}",
          shown(alias.operand_index), human(whole));
  const Shape* output = subshape(site.instruction.shape, alias.output_index);
  fail_if(output == nullptr, "Invalid aliasing output shape index. Got {} of {}",
          shown(alias.output_index), human(site.instruction.shape));
  return {*output, *operand};
}

void check_alias(const Site& site, const Alias& alias, const Match& how) {
  const AliasedShapes shapes = aliased_shapes(site, alias);
  fail_if(!match(shapes.operand, shapes.output, how), "Different aliasing shapes: {} vs {}",
          ShapeText{shapes.operand}, ShapeText{shapes.output});
}

std::string_view target_of(const Site& site) {
  const CustomCallAttrs* attrs = site.instruction.get<CustomCallAttrs>();
  return attrs == nullptr ? std::string_view() : std::string_view(attrs->target);
}

// ---- the entry ---------------------------------------------------------------------------------

void check_entry_layout(const Module& module) {
  const Computation& entry = module.entry_computation();
  const Shape& root = entry.root_instruction().shape;
  fail_if(module.entry_result_layout && !match(root, *module.entry_result_layout),
          "Shape of the root instruction of entry computation ({}) should be compatible to one "
          "specified in module's entry computation layout ({})",
          human(root), human(*module.entry_result_layout));
  if (!module.entry_result_layout && module.entry_parameter_layouts.empty()) return;
  fail_if(module.entry_parameter_layouts.size() != entry.parameters.size(),
          "Number of parameters in entry computation layout ({}) must be same as number of "
          "parameters of entry computation ({})",
          module.entry_parameter_layouts.size(), entry.parameters.size());
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const Shape& own = entry.at(entry.parameters[i]).shape;
    const Shape& declared = module.entry_parameter_layouts[i];
    fail_if(!match(own, declared),
            "Shape of the entry computation parameter {} is {} should be compatible to the one "
            "specified in module's entry computation layout {}",
            i, human(own), human(declared));
  }
}

const Shape& declared_parameter(const Module& module, std::size_t number) {
  if (number < module.entry_parameter_layouts.size()) return module.entry_parameter_layouts[number];
  const Computation& entry = module.entry_computation();
  return entry.at(entry.parameters[number]).shape;
}

void check_entry_alias(const Module& module, const Alias& alias) {
  const Computation& entry = module.entry_computation();
  fail_if(alias.operand < 0 || static_cast<std::size_t>(alias.operand) >= entry.parameters.size(),
          "input_output_alias names parameter {}; the entry has {}", alias.operand,
          entry.parameters.size());
  const auto number = static_cast<std::size_t>(alias.operand);
  const Shape& result =
      module.entry_result_layout ? *module.entry_result_layout : entry.root_instruction().shape;
  const Shape* output = subshape(result, alias.output_index);
  const Shape* input = subshape(declared_parameter(module, number), alias.operand_index);
  fail_if(output == nullptr, "input_output_alias names result {}, which {} does not have",
          shown(alias.output_index), human(result));
  fail_if(input == nullptr,
          "input_output_alias names part {} of parameter {}, which {} does not have",
          shown(alias.operand_index), number, human(declared_parameter(module, number)));
  if (!alias.must_alias) return;
  fail_if(!match(*output, *input),
          "Shape and memory space of the result at index {} ({}) must be the same as the shape and "
          "memory spaceof aliased parameter {} at index {} ({})",
          shown(alias.output_index), human(*output), number, shown(alias.operand_index),
          human(*input));
}

using ParameterPart = std::pair<std::int64_t, Dims>;

void check_aliased_once(const Module& module) {
  std::vector<ParameterPart> parts;
  for (const Alias& alias : module.input_output_alias) {
    parts.emplace_back(alias.operand, alias.operand_index);
  }
  std::sort(parts.begin(), parts.end());
  const auto twice = std::adjacent_find(parts.begin(), parts.end());
  if (twice != parts.end()) {
    fail("input_output_alias: parameter {} at index {} is aliased with several results",
         twice->first, shown(twice->second));
  }
}

}  // namespace

void check_custom_call(const Site& site) {
  const std::string_view target = target_of(site);
  const bool moves_buffer = target == "Pin" || target == "Unpin";
  const std::string* notes = site.instruction.find_raw("frontend_attributes");
  const bool skip_shapes =
      notes != nullptr &&
      notes->find("xla_skip_custom_call_alias_shape_check") != std::string::npos;
  for (const Alias& alias : *site.instruction.aliasing) {
    if (skip_shapes) {
      aliased_shapes(site, alias);
    } else {
      check_alias(site, alias, {.ignore_buffer = moves_buffer});
    }
  }
}

void check_fusion_aliasing(const Site& site) {
  for (const Alias& alias : *site.instruction.aliasing) check_alias(site, alias, {});
}

void check_entry(const Module& module) {
  check_entry_layout(module);
  for (const Alias& alias : module.input_output_alias) check_entry_alias(module, alias);
  check_aliased_once(module);
}

}  // namespace tilecast::ir::verification
