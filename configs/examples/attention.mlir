// One head of attention over 1,024 positions, as `jax.jit(attention).lower(q, k, v).as_text()` prints it.
module @jit_attention attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%q: tensor<8x1024x128xbf16>, %k: tensor<8x1024x128xbf16>, %v: tensor<8x1024x128xbf16>) -> (tensor<8x1024x128xbf16> {jax.result_info = ""}) {
    %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x1024x128xbf16>, tensor<8x1024x128xbf16>) -> tensor<8x1024x1024xf32>
    %1 = call @softmax(%0) : (tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32>
    %2 = stablehlo.convert %1 : (tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xbf16>
    %3 = stablehlo.dot_general %2, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x1024x1024xbf16>, tensor<8x1024x128xbf16>) -> tensor<8x1024x128xbf16>
    return %3 : tensor<8x1024x128xbf16>
  }
  func.func private @softmax(%x: tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32> {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<8x1024x1024xf32>, tensor<f32>) -> tensor<8x1024xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<8x1024xf32>) -> tensor<8x1024x1024xf32>
    %2 = stablehlo.subtract %x, %1 : tensor<8x1024x1024xf32>
    %3 = stablehlo.exponential %2 : tensor<8x1024x1024xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<8x1024x1024xf32>, tensor<f32>) -> tensor<8x1024xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<8x1024xf32>) -> tensor<8x1024x1024xf32>
    %6 = stablehlo.divide %3, %5 : tensor<8x1024x1024xf32>
    return %6 : tensor<8x1024x1024xf32>
  }
}
