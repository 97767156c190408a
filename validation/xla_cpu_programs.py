"""The programs that xla_cpu.py times: what small models are made of, a function and arguments each."""
import jax
import jax.numpy as jnp
import numpy

RANDOM = numpy.random.default_rng(1)


def array(*shape, dtype=jnp.float32):
    return jnp.asarray(RANDOM.standard_normal(shape) * 0.1, dtype)


def indices(limit, *shape):
    return jnp.asarray(RANDOM.integers(0, limit, shape), jnp.int32)


def mlp_loss(weights, x, y):
    hidden = jax.nn.relu(x @ weights[0] + weights[1])
    return jnp.mean((hidden @ weights[2] - y) ** 2)


def mlp_train(weights, x, y):
    gradients = jax.grad(mlp_loss)(weights, x, y)
    return [w - 0.01 * g for w, g in zip(weights, gradients, strict=True)]


def adam(w, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - 0.001 * m / (jnp.sqrt(v) + 1e-8), m, v


def layernorm_gelu(x, scale, shift):
    centred = x - x.mean(-1, keepdims=True)
    return jax.nn.gelu(centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * scale
                       + shift)


def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)


def decode_step(x, weights, keys, values, position):
    """One token through one layer with a cache of keys and values."""
    heads, _, size = keys.shape
    q, k, v = jnp.split(x @ weights[0], 3, axis=-1)
    keys = jax.lax.dynamic_update_slice(keys, k.reshape(heads, 1, size), (0, position, 0))
    values = jax.lax.dynamic_update_slice(values, v.reshape(heads, 1, size), (0, position, 0))
    scores = jnp.einsum("hd,htd->ht", q.reshape(heads, size), keys) / size ** 0.5
    scores = jnp.where(jnp.arange(keys.shape[1])[None] <= position, scores, -1e9)
    mixed = jnp.einsum("ht,htd->hd", jax.nn.softmax(scores, -1), values).reshape(1, -1)
    x = x + mixed @ weights[1]
    return x + jax.nn.silu(x @ weights[2]) @ weights[3], keys, values


def convolution(x, w, groups=1, stride=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", feature_group_count=groups,
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))


def depthwise_block(x, depthwise, pointwise):
    return jax.nn.relu(convolution(jax.nn.relu(convolution(x, depthwise, x.shape[-1])), pointwise))


def residual_block(x, first, second):
    return jax.nn.relu(x + convolution(jax.nn.relu(convolution(x, first)), second))


def pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def embedding_step(table, tokens, gradient):
    rows = table[tokens]
    return table.at[tokens].add(-0.01 * (rows - gradient))


def lstm(xs, wx, wh):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ wx + h @ wh, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    zeros = jnp.zeros((xs.shape[1], wh.shape[0]))
    return jax.lax.scan(step, (zeros, zeros), xs)[1]


def associative(a, b):
    """Linear recurrence as a scan of pairs, as state-space models have it."""
    return jax.lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b))[1]


def selective_scan(x, decay, b, c):
    """State-space model, one step after the other: state [channels, size]."""
    def step(state, inputs):
        x_t, d_t, b_t, c_t = inputs
        state = state * jnp.exp(-d_t)[:, None] + x_t[:, None] * b_t[None]
        return state, state @ c_t
    return jax.lax.scan(step, jnp.zeros((x.shape[1], b.shape[1])), (x, decay, b, c))[1]


def batchnorm_train(x, scale, shift):
    mean, square = x.mean((0, 1, 2)), (x * x).mean((0, 1, 2))
    return (x - mean) * jax.lax.rsqrt(square - mean * mean + 1e-5) * scale + shift


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))


def rotate(x, angles):
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), b * jnp.cos(angles) + a * jnp.sin(angles)],
                           -1)


def matmul(a, b):
    return a @ b


def mlp_weights(width, hidden, out):
    return [array(width, hidden), array(hidden), array(hidden, out)]


def programs():
    """name -> a call that gives (function, arguments). FAMILY-SIZE; a family is a row of results."""
    bf16 = jnp.bfloat16
    return {
        "mlp_train-256": lambda: (mlp_train, (mlp_weights(512, 1024, 64), array(256, 512), array(256, 64))),
        "adam-2m": lambda: (adam, tuple(array(1024, 2048) ** 2 for _ in range(4))),
        "layernorm_gelu-512x1024": lambda: (layernorm_gelu, (array(512, 1024), array(1024), array(1024))),
        "layernorm_gelu-bf16": lambda: (layernorm_gelu, (array(512, 1024, dtype=bf16), array(1024, dtype=bf16),
                                                         array(1024, dtype=bf16))),
        "softmax-1024x1000": lambda: (lambda x: jax.nn.softmax(x, -1), (array(1024, 1000),)),
        "attention-4x8x128x64": lambda: (attention, tuple(array(4, 8, 128, 64) for _ in range(3))),
        "attention-1x8x512x64": lambda: (attention, tuple(array(1, 8, 512, 64) for _ in range(3))),
        "decode-512": lambda: (decode_step, (
            array(1, 512), [array(512, 1536), array(512, 512), array(512, 2048), array(2048, 512)],
            array(8, 256, 64), array(8, 256, 64), jnp.int32(100))),
        "decode-1024": lambda: (decode_step, (
            array(1, 1024), [array(1024, 3072), array(1024, 1024), array(1024, 4096), array(4096, 1024)],
            array(16, 512, 64), array(16, 512, 64), jnp.int32(300))),
        "conv-56x64": lambda: (residual_block, (array(1, 56, 56, 64), array(3, 3, 64, 64), array(3, 3, 64, 64))),
        "conv-14x256": lambda: (residual_block, (array(2, 14, 14, 256), array(3, 3, 256, 256),
                                                 array(3, 3, 256, 256))),
        "conv_stem-224": lambda: (lambda x, w: convolution(x, w, 1, 2), (array(1, 224, 224, 3),
                                                                         array(7, 7, 3, 64))),
        "depthwise-56x128": lambda: (depthwise_block, (array(1, 56, 56, 128), array(3, 3, 1, 128),
                                                       array(1, 1, 128, 128))),
        "depthwise-14x512": lambda: (depthwise_block, (array(2, 14, 14, 512), array(3, 3, 1, 512),
                                                       array(1, 1, 512, 512))),
        "maxpool-112x64": lambda: (pool, (array(1, 112, 112, 64),)),
        "transpose-2d": lambda: (lambda x: x.T + 1, (array(1024, 1024),)),
        "transpose-0213": lambda: (lambda x: x.transpose(0, 2, 1, 3) + 1, (array(4, 256, 16, 64),)),
        "transpose-nchw": lambda: (lambda x: x.transpose(0, 3, 1, 2) + 1, (array(4, 56, 56, 64),)),
        "sort-64x4096": lambda: (lambda x: jnp.sort(x, -1), (array(64, 4096),)),
        "sort-100k": lambda: (jnp.argsort, (array(100000),)),
        "topk-64x32000": lambda: (lambda x: jax.lax.top_k(x, 40), (array(64, 32000),)),
        "cumsum-256x4096": lambda: (lambda x: jnp.cumsum(x, -1), (array(256, 4096),)),
        "associative_scan-1024x256": lambda: (associative, (array(1024, 256), array(1024, 256))),
        "selective_scan-256": lambda: (selective_scan, (array(256, 256), array(256, 256), array(256, 16),
                                                        array(256, 16))),
        "lstm-64x32x256": lambda: (lstm, (array(64, 32, 256), array(256, 1024), array(256, 1024))),
        "embedding-8192": lambda: (embedding_step, (array(8192, 256), indices(8192, 2048), array(2048, 256))),
        "cross_entropy-256x8192": lambda: (cross_entropy, (array(256, 8192), indices(8192, 256))),
        "batchnorm-8x28x128": lambda: (batchnorm_train, (array(8, 28, 28, 128), array(128), array(128))),
        "rotate-512x64": lambda: (rotate, (array(16, 512, 64), array(512, 32))),
        "reduce-rows": lambda: (lambda x: x.sum(1), (array(1024, 2048),)),
        "reduce-columns": lambda: (lambda x: x.sum(0), (array(1024, 2048),)),
        "exp-1m": lambda: (lambda x: jnp.exp(x) * jnp.sin(x), (array(1024, 1024),)),
        "matmul-256": lambda: (matmul, (array(256, 256), array(256, 256))),
        "matmul-1024": lambda: (matmul, (array(1024, 1024), array(1024, 1024))),
        "matmul-8x4096": lambda: (matmul, (array(8, 1024), array(1024, 4096))),
        "matmul-bf16": lambda: (matmul, (array(512, 1024, dtype=bf16), array(1024, 512, dtype=bf16))),
        "matmul-vector": lambda: (matmul, (array(1, 2048), array(2048, 2048))),
    }
