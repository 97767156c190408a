// Called computations: signatures.
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

void check_callee_count(const Site& site, std::size_t expected) {
  fail_if(site.instruction.called.size() != expected,
          "{} has a wrong number of called computations; got {}, expected {}",
          name(site.instruction.opcode), site.instruction.called.size(), expected);
}

void check_parameter_count(const Site& site, const Computation& callee, std::size_t expected) {
  fail_if(callee.parameters.size() != expected,
          "Expected computation {} called from {} to have {} parameters, has {}", callee.name,
          site.instruction.name, expected, callee.parameters.size());
}

void check_argument(const Site& site, std::size_t operand, const Computation& callee,
                    std::size_t parameter) {
  const Shape& given = site.operand(operand);
  const Shape& expected = infer::parameter_shape(callee, parameter);
  if (!match(given, expected)) {
    fail("Operand {} shape does not match parameter's {} in {}: {} vs {}",
         site.operand_instruction(operand).name, callee.at(callee.parameters[parameter]).name,
         site.instruction.name, human(given), human(expected));
  }
}

void check_result(const Site& site, const Shape& result) {
  fail_if(!match(site.instruction.shape, result),
          "Expected instruction to have shape equal to {}, actual shape is {}", human(result),
          human(site.instruction.shape));
}

bool is_scalar_pred(const Shape& shape) {
  return shape.is_scalar() && shape.dtype == DType::kPred;
}

// ---- fusion ------------------------------------------------------------------------------------

void check_fusion(const Site& site) {
  check_callee_count(site, 1);
  const Computation& callee = site.callee(0);
  const Shape& root = infer::root_shape(callee);
  fail_if(!match(site.instruction.shape, root),
          "Fused computation shape ({}) is not equal to the fusion shape ({})", ShapeText{root},
          ShapeText{site.instruction.shape});
  fail_if(callee.parameters.size() > site.count(),
          "Fused parameter count ({}) is greater than the number of operands ({}) passed to the "
          "fusion instruction in: {}.",
          callee.parameters.size(), site.count(), site.instruction.name);
  for (std::size_t i = 0; i < callee.parameters.size(); ++i) {
    const Shape& parameter = infer::parameter_shape(callee, i);
    fail_if(!match(parameter, site.operand(i)),
            "Shape mismatch between parameter number {} and its operand in {}. ({} != {})", i,
            site.instruction.name, ShapeText{parameter}, ShapeText{site.operand(i)});
  }
  check_fusion_aliasing(site);
}

// ---- call, while, conditional ------------------------------------------------------------------

void check_call(const Site& site) {
  check_callee_count(site, 1);
  const Computation& callee = site.callee(0);
  check_parameter_count(site, callee, site.count());
  for (std::size_t i = 0; i < site.count(); ++i) check_argument(site, i, callee, i);
  check_result(site, infer::root_shape(callee));
  fail_if(!site.instruction.aliasing->empty() ||
              site.instruction.find_raw("output_to_operand_aliasing") != nullptr,
          "Call instruction {} may not have an output-to-operand aliasing set.",
          site.instruction.name);
}

void check_while(const Site& site) {
  check_callee_count(site, 2);
  const Computation& condition = site.callee(0);
  const Computation& body = site.callee(1);
  check_parameter_count(site, body, 1);
  check_parameter_count(site, condition, 1);
  check_argument(site, 0, body, 0);
  check_argument(site, 0, condition, 0);
  fail_if(!is_scalar_pred(infer::root_shape(condition)),
          "Conditional computation shape does not lead to a scalar predicate shape: {}",
          human(infer::root_shape(condition)));
  check_result(site, infer::root_shape(body));
}

void check_conditional(const Site& site) {
  const Shape& selector = site.operand(0);
  const std::size_t branches = site.instruction.called.size();
  infer::check_selector(selector);
  if (selector.dtype == DType::kPred) check_callee_count(site, 2);
  fail_if(branches == 0, "conditional has no branches");
  fail_if(site.count() != branches + 1,
          "Expected {} operands for conditional instruction: {} has {}", branches + 1,
          site.instruction.name, site.count());
  for (std::size_t i = 0; i < branches; ++i) {
    const Computation& branch = site.callee(i);
    check_parameter_count(site, branch, 1);
    check_argument(site, i + 1, branch, 0);
    check_result(site, infer::root_shape(branch));
  }
}

// ---- sort --------------------------------------------------------------------------------------

void check_sort(const Site& site) {
  check_callee_count(site, 1);
  const Computation& compare = site.callee(0);
  fail_if(!is_scalar_pred(infer::root_shape(compare)),
          "The Sort compare computation shape does not lead to a scalar predicate shape: {}",
          human(infer::root_shape(compare)));
  check_parameter_count(site, compare, site.count() * 2);
  for (std::size_t i = 0; i < compare.parameters.size(); ++i) {
    const Shape& parameter = infer::parameter_shape(compare, i);
    const DType expected = site.operand(i / 2).dtype;
    fail_if(
        !parameter.is_scalar() || !infer::same_type_ignoring_fp(parameter.dtype, expected),
        "Expected the {}-th parameter of the compare computation of sort to have shape {}[], but "
        "got {}",
        i, name(expected), human(parameter));
  }
  const std::int64_t dimension = site.single_dimension();
  fail_if(
      dimension < 0 || dimension >= site.operand(0).rank(),
      "Expected the sort_dimension {} of sort to be smaller than the rank {} of the operand(s).",
      dimension, site.operand(0).rank());
}

}  // namespace

void check_callees(const Site& site) {
  using enum Opcode;
  const Opcode opcode = site.instruction.opcode;
  if (is_async_chain(opcode)) return;
  if (opcode == kFusion) return check_fusion(site);
  if (opcode == kCall) return check_call(site);
  if (opcode == kWhile) return check_while(site);
  if (opcode == kConditional) return check_conditional(site);
  if (opcode == kSort) check_sort(site);
}

}  // namespace tilecast::ir::verification
