"""Inference of a small U of residual blocks with group normalisation and attention, in f32.

The parts of the denoising networks of Ho et al., arXiv:2006.11239, Appendix B: convolution blocks
that add a projected time step, attention over the positions of the coarse level, a step down by a
strided convolution and back up by repeating positions.
"""
from hlo_builder import Builder
from transformer import softmax

SIZE, CHANNELS, TIME, GROUPS = 32, 64, 128, 8
EPSILON = 1e-5


def _silu(b, x):
    return b.multiply(x, b.unary("logistic", x))


def _group_norm(b, x):
    n, h, w, c = x.dims
    dims = (n, h, w, GROUPS, c // GROUPS)
    grouped = b.reshape(x, dims)

    def mean(v):
        total = b.reduce(v, (1, 2, 4))
        return b.broadcast(b.scale(total, 1 / (h * w * dims[4])), dims, (0, 3))

    centred = b.subtract(grouped, mean(grouped))
    variance = mean(b.multiply(centred, centred))
    inverse = b.unary("rsqrt", b.add(variance, b.fill("f32", EPSILON, dims)))
    y = b.reshape(b.multiply(centred, inverse), x.dims)
    y = b.multiply(y, b.broadcast(b.parameter("f32", (c,)), x.dims, (3,)))
    return b.add(y, b.broadcast(b.parameter("f32", (c,)), x.dims, (3,)))


def _convolution(b, x, channels, size=3, stride=1):
    kernel = b.parameter("f32", (size, size, x.dims[3], channels))
    y = b.convolution(x, kernel, stride, padding=size // 2)
    return b.add(y, b.broadcast(b.parameter("f32", (channels,)), y.dims, (3,)))


def _residual(b, x, time, channels):
    y = _convolution(b, _silu(b, _group_norm(b, x)), channels)
    shift = b.dot(_silu(b, time), b.parameter("f32", (TIME, channels)), contract=((1,), (0,)))
    y = b.add(y, b.broadcast(shift, y.dims, (0, 3)))
    y = _convolution(b, _silu(b, _group_norm(b, y)), channels)
    shortcut = x if x.dims[3] == channels else _convolution(b, x, channels, size=1)
    return b.add(y, shortcut)


def _attention(b, x):
    n, h, w, c = x.dims
    flat = b.reshape(_group_norm(b, x), (n, h * w, c))
    query, key, value = (b.dot(flat, b.parameter("f32", (c, c)), contract=((2,), (0,)))
                         for _ in range(3))
    scores = b.scale(b.dot(query, key, contract=((2,), (2,)), batch=((0,), (0,))), c**-0.5)
    context = b.dot(softmax(b, scores), value, contract=((2,), (1,)), batch=((0,), (0,)))
    y = b.dot(context, b.parameter("f32", (c, c)), contract=((2,), (0,)))
    return b.add(x, b.reshape(y, x.dims))


def twice_as_large(b, x):
    n, h, w, c = x.dims
    repeated = b.broadcast(x, (n, h, 2, w, 2, c), (0, 1, 3, 5))
    return b.reshape(repeated, (n, 2 * h, 2 * w, c))


def inference(name="jit_diffusion"):
    b = Builder(name)
    x, time = b.parameter("f32", (1, SIZE, SIZE, CHANNELS)), b.parameter("f32", (1, TIME))
    with b.scope("down"):
        fine = _residual(b, x, time, CHANNELS)
        y = _convolution(b, fine, 2 * CHANNELS, stride=2)
    with b.scope("middle"):
        y = _attention(b, _residual(b, y, time, 2 * CHANNELS))
    with b.scope("up"):
        y = b.concatenate([twice_as_large(b, y), fine], 3)
        y = _residual(b, y, time, CHANNELS)
    with b.scope("out"):
        y = _convolution(b, _silu(b, _group_norm(b, y)), 4)
    return b.module([y])
