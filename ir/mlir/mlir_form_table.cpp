// Table of pretty forms. Most are a list of items followed by types:
//
//   stablehlo.pad %0, %1, low = [0], high = [1], interior = [0] {attributes} : (t, u) -> v
//
// Each row of kForms maps the items of an op to attributes of its generic form, as
// `item=attribute:kind`. An item is a key (`low`), the n-th bare word (`0`), an opening bracket,
// `@` (a symbol), `"` (a string) or `$` (a constant's value). A kind is a row of kKinds; text after
// its dot is the argument. Sources: the assembly formats of StablehloOps.td, ChloOps.td and of the
// upstream dialects.
#include <unordered_map>

#include "ir/mlir/mlir_reader.h"

namespace tilecast::ir::mlir {

constinit const Form FormTable::kForms[] = {
    // stablehlo, mhlo, chlo; unlisted ops have operands and one type
    {"broadcast", kSame, "sizes=broadcast_sizes:ints"},
    {"broadcast_in_dim", kSame, "dims=broadcast_dimensions:ints"},
    {"cholesky", kSame, "lower=lower:attr"},
    {"compare", kSame,
     "0=comparison_direction:enum.comparison_direction "
     "1=compare_type:enum.comparison_type"},
    {"complex", kResult},
    {"composite", kSame, "\"=name:string"},
    {"concatenate", kSame, "dim=dimension:i64"},
    {"constant", kSame, "$=value:attr"},
    {"convolution", kSame, "dim_numbers=dimension_numbers:conv window=:window"},
    {"custom_call", kSame, "@=call_target_name:name"},
    {"dot", kSame, "precision=precision_config:enums.precision"},
    {"dot_general", kSame,
     "batching_dims=batching:dims contracting_dims=contracting:dims "
     "precision=precision_config:enums.precision "
     "algorithm=algorithm:custom.dot_algorithm"},
    {"dynamic_broadcast_in_dim", kSame, "dims=broadcast_dimensions:ints"},
    {"dynamic_conv", kSame, "dim_numbers=dimension_numbers:conv window=:window"},
    {"dynamic_iota", kSame, "dim=iota_dimension:i64"},
    {"dynamic_slice", kSame, "sizes=slice_sizes:ints"},
    {"einsum", kSame, "config=einsum_config:attr"},
    {"fft", kSame, "type=fft_type:enum.fft_type length=fft_length:ints"},
    {"get_dimension_size", kSame, "dim=dimension:i64"},
    {"get_tuple_element", kSame, "[=index:bracketed"},
    {"iota", kSame, "dim=iota_dimension:i64"},
    {"optimization_barrier", kPairwise},
    {"pad", kSame,
     "low=edge_padding_low:ints high=edge_padding_high:ints "
     "interior=interior_padding:ints"},
    {"reduce_precision", kSame, "format=:format"},
    {"return", kReturn},
    {"reverse", kSame, "dims=dimensions:ints"},
    {"rng", kSame, "distribution=rng_distribution:enum.rng_distribution"},
    {"rng_bit_generator", kSame, "algorithm=rng_algorithm:enum.rng_algorithm"},
    {"scan", kSame, "0=:keyword dimension=dimension:i64 {=:region"},
    {"select", kSelect},
    {"set_dimension_size", kSame, "dim=dimension:i64"},
    {"slice", kSame, "[=:ranges"},
    {"top_k", kSame, "k=k:i64"},
    {"topk", kSame, "k=k:i64 largest=largest:attr"},
    {"trace", kNone, "\"=tag:string"},
    {"transpose", kSame, "dims=permutation:ints"},
    {"tuple", kResult},
    {"unary_einsum", kSame, "config=einsum_config:attr"},
    {"reduce", kSame, {}, &Reader::reduce_form},
    {"while", kSame, {}, &Reader::while_form},
    // other dialects
    {"builtin.module", kNone, {}, &Reader::module_form},
    {"func.func", kNone, {}, &Reader::function_form},
    {"func.call", kSame, "@=callee:symbol"},
    {"func.return", kReturn},
    {"arith.cmpf", kPredicate, "0=predicate:word"},
    {"arith.cmpi", kPredicate, "0=predicate:word"},
    {"arith.constant", kSame, "$=value:attr"},
    {"arith.select", kSelect},
    {"cf.br", kNone},
    {"cf.cond_br", kNone},
    {"check.expect_almost_eq", kNone},
    {"check.expect_almost_eq_const", kNone, "$=value:attr"},
    {"check.expect_close", kNone},
    {"check.expect_eq", kNone},
    {"check.expect_eq_const", kNone, "$=value:attr"},
    {"enzyme.autodiff", kSame, "@=fn:symbol"},
    {"enzyme.batch", kSame, "@=fn:symbol"},
    {"enzyme.fwddiff", kSame, "@=fn:symbol"},
    {"sdy.constant", kSame, "$=value:attr"},
    {"sdy.manual_computation", kSame, {}, &Reader::manual_computation_form},
    {"sdy.mesh", kNone, "@=sym_name:name <=mesh:raw.mesh"},
    {"sdy.named_computation", kSame, {}, &Reader::manual_computation_form},
    {"sdy.reshard", kSame, "<=sharding:raw.sharding"},
    {"sdy.return", kReturn},
    {"sdy.sharding_constraint", kSame, "<=sharding:raw.sharding"},
    {"shape.assuming", kSame, {}, &Reader::assuming_form},
    {"shape.assuming_yield", kReturn},
    {"shape.const_shape", kResult, "[=shape:ints"},
    {"shape.cstr_broadcastable", kWitness},
    {"shape.cstr_eq", kWitness},
    {"tensor.dim", kIndex},
    {"tensor.empty", kResult},
    {"tensor.extract", kElement, "[=:indices"},
    {"tensor.from_elements", kResult},
    {"tensor.splat", kResult},
    {"util.global", kNone, "@=sym_name:name $=initial_value:attr"},
    {"util.global.address", kResult, "@=global:symbol"},
    {"util.global.load", kResult, "@=global:symbol"},
    {"util.optimization_barrier", kPairwise},
    {"util.unfoldable_constant", kSame, "$=value:attr"},
};

const Form* find_form(std::string_view op_name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Form*> table;
    for (const Form& form : FormTable::kForms) table.emplace(form.name, &form);
    return table;
  }();
  static const Form plain{};
  const std::string_view dialect = op_name.substr(0, op_name.find('.'));
  const bool is_hlo = dialect == "stablehlo" || dialect == "mhlo" || dialect == "chlo";
  const auto form = by_name.find(is_hlo ? op_name.substr(dialect.size() + 1) : op_name);
  if (form != by_name.end()) return form->second;
  return is_hlo ? &plain : nullptr;
}

}  // namespace tilecast::ir::mlir
