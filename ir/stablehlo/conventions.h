// What StableHLO text that we print holds beside StableHLO, so that reading it back gives the
// module that was printed. Attributes are discardable: other readers may drop them.
//
//   module @jit_f attributes {hlo.module = "HloModule jit_f, is_scheduled=true"} {
//     func.func public @main.5(%x: tensor<8x4xf32> {mhlo.xla_shape = "f32[8,4]{0,1}"}) -> ... {
//       %y.1 = stablehlo.add %x, %x {xla_shape = "f32[8,4]{0,1}"} : tensor<8x4xf32> loc("f/add")
//       %z = "mhlo.fusion"(%y.1) {called_computations = [@fused], hlo.attributes = "kind=kLoop"}
//
// A computation is a function of its name, or the region of an op. An instruction is the value of
// its name. What HLO has as one value of a tuple type, StableHLO has as several: they are taken
// apart in front of an op and put together behind it,
//
//       %t_0 = stablehlo.get_tuple_element %t[0] {hlo.pack} : (tuple<...>) -> tensor<i32>
//       %loop:2 = "stablehlo.while"(%t_0, %t_1) ({
//       ^bb0(%state_0: tensor<i32>, %state_1: tensor<16xf32>):
//         %state = stablehlo.tuple %state_0, %state_1 {hlo.parameter} : tuple<...>
//       ...
//       %loop_all = stablehlo.tuple %loop#0, %loop#1 {hlo.pack} : tuple<...>
//
// Opcodes that StableHLO has no op for, and forms that it cannot say, are `mhlo.` with the opcode's
// name in underscores: one instruction, its computations as symbols.
#pragma once

#include <string_view>

namespace tilecast::ir::stablehlo {

// On the module: the header of HLO text. Its presence marks text that we printed.
inline constexpr std::string_view kModuleAttribute = "hlo.module";
// The instruction's name where it is no SSA name.
inline constexpr std::string_view kNameAttribute = "hlo.name";
// The shape in HLO's words where it has layouts that are not row-major, or no MLIR type.
inline constexpr std::string_view kShapeAttribute = "xla_shape";
// As above, of a function's argument, where MLIR wants the name of a dialect.
inline constexpr std::string_view kArgumentShapeAttribute = "mhlo.xla_shape";
// `key=value, ...`: the attributes that the op itself does not hold, as HLO text prints them.
inline constexpr std::string_view kHloAttributes = "hlo.attributes";
// Names of the instructions that must run before: control predecessors.
inline constexpr std::string_view kAfterAttribute = "hlo.after";
// The literal of a constant in HLO's words, where `dense` would be long or inexact.
inline constexpr std::string_view kLiteralAttribute = "hlo.literal";
inline constexpr std::string_view kCalledAttribute = "called_computations";
inline constexpr std::string_view kThreadAttribute = "hlo.execution_thread";  // of a function
// The names of the computations that are regions of the op: those of one name are one.
inline constexpr std::string_view kRegionsAttribute = "hlo.regions";
// HLO attributes of the arguments of these regions, one after the other.
inline constexpr std::string_view kArgumentsAttribute = "hlo.arguments";
// On `tuple` and `get_tuple_element` that only take apart and put together: no instructions.
inline constexpr std::string_view kPackAttribute = "hlo.pack";
// On the op that is the parameter of the computation that its region is.
inline constexpr std::string_view kParameterAttribute = "hlo.parameter";
// Of a conditional: the names of the operands behind the first, which StableHLO captures.
inline constexpr std::string_view kOperandsAttribute = "hlo.operands";
// Ops of the fallback form.
inline constexpr std::string_view kFallbackDialect = "mhlo.";

}  // namespace tilecast::ir::stablehlo
