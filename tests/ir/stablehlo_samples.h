// Small StableHLO modules for tests of their translation and of damaged copies.
#pragma once

#include <string>

namespace tilecast::ir {

inline const std::string kFunctions = R"(#loc1 = loc("f.py":12:3)
module @m attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 4 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {mhlo.sharding = "{replicated}", tf.aliasing_output = 1 : i32}, %arg1: tensor<3x4xf32> {jax.buffer_donor = true}) -> (tensor<2x4xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32> loc("jit(f)/dot"(#loc1))
    %1:2 = call @twice(%0, %arg0) : (tensor<2x4xf32>, tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>)
    %2:2 = call @twice(%1#0, %1#1) : (tensor<2x4xf32>, tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>)
    return %2#0, %2#1 : tensor<2x4xf32>, tensor<2x3xf32>
  }
  func.func private @twice(%arg0: tensor<2x4xf32>, %arg1: tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2x4xf32>
    return %0, %arg1 : tensor<2x4xf32>, tensor<2x3xf32>
  }
  func.func private @unused() -> tensor<f32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    return %cst : tensor<f32>
  }
}
)";

inline const std::string kLoop =
    R"(func.func @main(%arg0: tensor<i32>, %arg1: tensor<4xf32>, %arg2: tensor<i1>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<10> : tensor<i32>
  %c_0 = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_1 = %arg1) : tensor<i32>, tensor<4xf32>
    cond {
      %2 = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.add %iterArg, %c_0 : tensor<i32>
      %3 = stablehlo.multiply %iterArg_1, %arg1 : tensor<4xf32>
      stablehlo.return %2, %3 : tensor<i32>, tensor<4xf32>
    }
  %1 = "stablehlo.if"(%arg2) ({
    %2 = stablehlo.add %0#1, %arg1 : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }, {
    stablehlo.return %0#1 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
)";

inline const std::string kDynamic =
    R"(func.func @main(%arg0: tensor<i64>, %arg1: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = stablehlo.get_dimension_size %arg1, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %c = stablehlo.constant dense<2> : tensor<i32>
  %1 = stablehlo.multiply %0, %c : tensor<i32>
  %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
  %c_0 = stablehlo.constant dense<3> : tensor<1xi32>
  %3 = stablehlo.concatenate %2, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %4 = stablehlo.dynamic_broadcast_in_dim %cst, %3, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
  %5 = stablehlo.concatenate %arg1, %arg1, dim = 0 : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %6 = stablehlo.add %4, %5 : tensor<?x3xf32>
  return %6 : tensor<?x3xf32>
}
)";

inline const std::string kDevices = R"(module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%arg0: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<4x32xf32>, tensor<8x32xf32>) {
    %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#sdy.axis_ref<"x">]>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = "stablehlo.all_to_all"(%arg0) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x16xf32>) -> tensor<4x32xf32>
    %2 = "stablehlo.all_gather"(%0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#sdy.axis_ref<"y":(2)2>]>, use_global_device_ids}> : (tensor<8x16xf32>) -> tensor<8x32xf32>
    return %0, %1, %2 : tensor<8x16xf32>, tensor<4x32xf32>, tensor<8x32xf32>
  }
}
)";

inline const std::string kWindows =
    R"(func.func @main(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<3x3x3x4xf32>, %arg2: tensor<5x4xf32>, %arg3: tensor<2x1xi32>, %arg4: tensor<2x4xf32>) -> (tensor<1x3x3x4xf32>, tensor<2x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>) {
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = "stablehlo.reduce_window"(%0, %cst) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x4x4x4xf32>, tensor<f32>) -> tensor<1x3x3x4xf32>
  %2 = "stablehlo.gather"(%arg2, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = true}> : (tensor<5x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  %3 = "stablehlo.scatter"(%arg2, %arg3, %arg4) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5x4xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  %4 = "stablehlo.sort"(%arg2) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<5x4xf32>) -> tensor<5x4xf32>
  return %1, %2, %3, %4 : tensor<1x3x3x4xf32>, tensor<2x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>
}
)";

inline const std::string kCustomCalls =
    R"(func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<4x4xf64>) -> (tensor<2x3xf32>, tensor<4x4xf64>) {
  %0 = stablehlo.uniform_quantize %arg0 : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>>
  %1 = stablehlo.negate %0 : (tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.25,0.5,1.0:2}>>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<2x3x!quant.uniform<i8:f32:1, {0.25,0.5,1.0:2}>>) -> tensor<2x3xf32>
  %3:2 = stablehlo.custom_call @cusolver_potrf_ffi(%arg1) {api_version = 4 : i32, backend_config = {lower = true}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<i32>)
  return %2, %3#0 : tensor<2x3xf32>, tensor<4x4xf64>
}
)";

inline const std::string kManual = R"(module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x4xf32>) {
      %1 = chlo.erf %arg1 : tensor<4x4xf32> -> tensor<4x4xf32>
      sdy.return %1 : tensor<4x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = sdy.sharding_constraint %0 <@mesh, [{}, {"x"}]> : tensor<8x4xf32>
    %values, %indices = chlo.top_k(%2, k = 2) : tensor<8x4xf32> -> (tensor<8x2xf32>, tensor<8x2xi32>)
    %3 = stablehlo.broadcast_in_dim %values, dims = [0, 1] : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %4 = stablehlo.concatenate %3, %values, dim = 1 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
    return %4 : tensor<8x4xf32>
  }
}
)";

}  // namespace tilecast::ir
