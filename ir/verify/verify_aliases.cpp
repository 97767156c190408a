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

void check_random_seed(const Site& site) {
  const Shape& shape = site.instruction.shape;
  fail_if(site.count() != 0, "GetRngSeed custom call must have 0 operands, but has {}",
          site.count());
  fail_if(shape.dtype != DType::kU64, "GetRngSeed custom call must return U64 type, but got {}",
          human(shape));
  fail_if(!shape.is_scalar(), "GetRngSeed custom call must return a scalar, but got {}",
          human(shape));
}

// ---- the entry ---------------------------------------------------------------------------------

// Tiles and memory spaces of entry_computation_layout are set later than those of the program.
bool fits_entry(const VerifyOptions& options, const Shape& own, const Shape& declared) {
  return match(
      own, declared,
      {.layout = options.layout_sensitive, .ignore_tiles = true, .ignore_memory_space = true});
}

void check_entry_layout(const Module& module, const VerifyOptions& options) {
  const Computation& entry = module.entry_computation();
  const bool show_layout = options.layout_sensitive;
  const Shape& root = entry.root_instruction().shape;
  fail_if(module.entry_result_layout && !fits_entry(options, root, *module.entry_result_layout),
          "Shape of the root instruction of entry computation ({}) should be compatible to one "
          "specified in module's entry computation layout ({})",
          ShapeText{root, show_layout}, ShapeText{*module.entry_result_layout, show_layout});
  if (!module.entry_result_layout && module.entry_parameter_layouts.empty()) return;
  fail_if(module.entry_parameter_layouts.size() != entry.parameters.size(),
          "Number of parameters in entry computation layout ({}) must be same as number of "
          "parameters of entry computation ({})",
          module.entry_parameter_layouts.size(), entry.parameters.size());
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const Shape& own = entry.at(entry.parameters[i]).shape;
    const Shape& declared = module.entry_parameter_layouts[i];
    fail_if(!fits_entry(options, own, declared),
            "Shape of the entry computation parameter {} is {} should be compatible to the one "
            "specified in module's entry computation layout {}",
            i, ShapeText{own, show_layout}, ShapeText{declared, show_layout});
  }
}

const Shape& declared_parameter(const Module& module, std::size_t number) {
  if (number < module.entry_parameter_layouts.size()) return module.entry_parameter_layouts[number];
  const Computation& entry = module.entry_computation();
  return entry.at(entry.parameters[number]).shape;
}

void check_entry_alias(const Module& module, const VerifyOptions& options, const Alias& alias) {
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
  fail_if(!match(*output, *input, {.layout = true}),
          "Shape and memory space of the result at index {} ({}) must be the same as the shape and "
          "memory spaceof aliased parameter {} at index {} ({})",
          shown(alias.output_index), ShapeText{*output, options.layout_sensitive}, number,
          shown(alias.operand_index), ShapeText{*input, options.layout_sensitive});
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
  if (target == "GetRngSeed") check_random_seed(site);
  const bool moves_buffer = target == "Pin" || target == "Unpin";
  const bool skip_shapes =
      !site.instruction.aliasing->empty() &&
      frontend_attribute(site.instruction, "xla_skip_custom_call_alias_shape_check").has_value();
  for (const Alias& alias : *site.instruction.aliasing) {
    const AliasedShapes shapes = aliased_shapes(site, alias);
    if (skip_shapes) continue;
    const bool scalar = shapes.operand.is_array() && element_count(shapes.operand) == 1;
    check_alias(site, alias,
                {.layout = site.options.layout_sensitive,
                 .ignore_memory_space = scalar,
                 .ignore_buffer = moves_buffer});
  }
}

void check_fusion_aliasing(const Site& site) {
  const bool nested = site.facts.called_by_fusion[site.computation_id.index()];
  for (const Alias& alias : *site.instruction.aliasing) {
    check_alias(site, alias,
                {.layout = site.options.layout_sensitive,
                 .ignore_tiles = nested,
                 .ignore_memory_space = nested});
  }
}

void check_entry(const Module& module, const VerifyOptions& options) {
  check_entry_layout(module, options);
  for (const Alias& alias : module.input_output_alias) check_entry_alias(module, options, alias);
  check_aliased_once(module);
}

}  // namespace tilecast::ir::verification
