"""One step of Adam with weight decay and clipping by the global norm: elementwise work and sums.

Kingma and Ba, arXiv:1412.6980, Algorithm 1; the decay as in Loshchilov and Hutter,
arXiv:1711.05101. The bias corrections of this step are inputs.
"""
from hlo_builder import Builder

SHAPES = ((512, 1024), (1024,), (1024, 256), (256,), (64, 12, 256), (3, 3, 64, 96))
RATE, DECAY, EPSILON = 0.001, 0.01, 1e-8
BETA1, BETA2 = 0.9, 0.999
LARGEST_NORM = 1


def _clip_factor(b, grads):
    squares = [b.reduce(b.multiply(g, g), tuple(range(g.rank))) for g in grads]
    total = squares[0]
    for square in squares[1:]:
        total = b.add(total, square)
    norm = b.unary("sqrt", total)
    limit = b.constant("f32", LARGEST_NORM)
    return b.divide(limit, b.maximum(norm, limit))


def _update(b, weights, first, second, grad, corrections):
    dims = weights.dims
    first = b.add(b.scale(first, BETA1), b.scale(grad, 1 - BETA1))
    second = b.add(b.scale(second, BETA2), b.scale(b.multiply(grad, grad), 1 - BETA2))
    mean, variance = (b.multiply(m, b.broadcast(c, dims, ()))
                      for m, c in zip((first, second), corrections))
    root = b.add(b.unary("sqrt", variance), b.fill("f32", EPSILON, dims))
    step = b.add(b.divide(mean, root), b.scale(weights, DECAY))
    return b.subtract(weights, b.scale(step, RATE)), first, second


def step(name="jit_adam"):
    b = Builder(name)
    weights, firsts, seconds, grads = (
        [b.parameter("f32", dims) for dims in SHAPES] for _ in range(4))
    corrections = [b.parameter("f32", ()) for _ in range(2)]
    with b.scope("clip"):
        factor = _clip_factor(b, grads)
        grads = [b.multiply(g, b.broadcast(factor, g.dims, ())) for g in grads]
    results = []
    with b.scope("adam"):
        for state in zip(weights, firsts, seconds, grads):
            results += _update(b, *state, corrections)
    return b.module(results)
