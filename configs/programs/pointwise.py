"""A training step of pointwise convolutions with batch normalisation, in f32.

Two residual blocks of 1 x 1 convolutions (as products over channels), each normalised over batch
and positions (Ioffe and Szegedy, arXiv:1502.03167), a mean over positions and a dense layer.
"""
from gradients import gradients
from hlo_builder import Builder

BATCH, SIZE, CHANNELS, WIDTH, CLASSES = 4, 20, 64, 128, 100
BLOCKS = 2
EPSILON, LEARNING_RATE = 1e-5, 0.01


def _mean(b, x):
    """Per channel, over batch and positions."""
    count = x.dims[0] * x.dims[1] * x.dims[2]
    return b.scale(b.reduce(x, (0, 1, 2)), 1 / count)


def _normalised(b, x, scale, bias):
    def spread(v):
        return b.broadcast(v, x.dims, (3,))
    centred = b.subtract(x, spread(_mean(b, x)))
    variance = _mean(b, b.multiply(centred, centred))
    inverse = b.unary("rsqrt", b.add(variance, b.fill("f32", EPSILON, variance.dims)))
    y = b.multiply(centred, spread(b.multiply(inverse, scale)))
    return b.add(y, spread(bias))


def _layer(b, x, weights, scale, bias):
    return _normalised(b, b.dot(x, weights, contract=((3,), (0,))), scale, bias)


def _relu(b, x):
    return b.maximum(x, b.fill("f32", 0, x.dims))


def training_step(name="jit_pointwise_train"):
    b, trained = Builder(name), []

    def parameter(*dims):
        trained.append(b.parameter("f32", dims))
        return trained[-1]

    x = b.parameter("f32", (BATCH, SIZE, SIZE, CHANNELS))
    y = x
    for i in range(BLOCKS):
        with b.scope(f"block{i}"):
            inner = _relu(b, _layer(b, y, parameter(CHANNELS, WIDTH), parameter(WIDTH),
                                    parameter(WIDTH)))
            outer = _layer(b, inner, parameter(WIDTH, CHANNELS), parameter(CHANNELS),
                           parameter(CHANNELS))
            y = _relu(b, b.add(y, outer))
    with b.scope("head"):
        pooled = b.scale(b.reduce(y, (1, 2)), 1 / SIZE**2)
        logits = b.dot(pooled, parameter(CHANNELS, CLASSES), contract=((1,), (0,)))
    dy = b.parameter("f32", logits.dims)
    with b.scope("backward"):
        grads = gradients(b, logits, dy, trained)
    with b.scope("sgd"):
        updated = [b.subtract(w, b.scale(g, LEARNING_RATE)) for w, g in zip(trained, grads)]
    return b.module([logits, *updated])
