"""A training step of one transformer block: forward, backward and SGD.

Pre-norm block of a decoder (causal attention, GELU). Weights are kept in f32; matrix products run
in bf16, softmax and layer normalisation in f32. The block stands inside a model, so the cotangent
of its output is an input, and that of its input is a result.

Matrix FLOPs with T = batch x sequence tokens: forward 2 T (4 d^2 + 2 d f) + 4 T s d; each product
is followed by two of the same size on the way back.
"""
from gradients import gradients
from hlo_builder import Builder

BATCH = 8
SEQUENCE = 512
MODEL = 1024
HEADS = 16
HEAD = MODEL // HEADS
FEED_FORWARD = 4096
EPSILON = 1e-5
LEARNING_RATE = 0.001


def _layer_norm(b, x, scale, bias):
    """In f32 over the last dimension; the result is bf16 again."""
    wide = b.convert(x, "f32")
    kept, last = tuple(range(wide.rank - 1)), wide.rank - 1

    def mean(v):
        return b.broadcast(b.scale(b.reduce(v, (last,)), 1 / wide.dims[last]), wide.dims, kept)

    centred = b.subtract(wide, mean(wide))
    variance = mean(b.multiply(centred, centred))
    inverse = b.unary("rsqrt", b.add(variance, b.fill("f32", EPSILON, wide.dims)))
    y = b.multiply(b.multiply(centred, inverse), b.broadcast(scale, wide.dims, (last,)))
    return b.convert(b.add(y, b.broadcast(bias, wide.dims, (last,))), "bf16")


def _softmax(b, x):
    kept, last = tuple(range(x.rank - 1)), x.rank - 1
    largest = b.broadcast(b.reduce(x, (last,), "maximum"), x.dims, kept)
    exponential = b.unary("exponential", b.subtract(x, largest))
    return b.divide(exponential, b.broadcast(b.reduce(exponential, (last,)), x.dims, kept))


def _gelu(b, x):
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): Hendrycks and Gimpel, arXiv:1606.08415."""
    cube = b.multiply(x, b.multiply(x, x))
    inner = b.scale(b.add(x, b.scale(cube, 0.044715)), 0.7978846)
    gate = b.add(b.unary("tanh", inner), b.fill(x.dtype, 1, x.dims))
    return b.multiply(b.scale(x, 0.5), gate)


def _attention(b, h, weights):
    """h is (batch, sequence, model); scores are (batch, head, query, key)."""
    query, key, value = (b.dot(h, b.convert(w, "bf16"), contract=((2,), (0,)))
                         for w in weights[:3])
    scores = b.dot(query, key, contract=((3,), (3,)), batch=((0, 2), (0, 2)))
    scores = b.scale(b.convert(scores, "f32"), HEAD**-0.5)
    rows, columns = (b.iota("s32", scores.dims, d) for d in (2, 3))
    masked = b.select(b.compare(rows, columns, "GE"), scores,
                      b.fill("f32", "-1e+30", scores.dims))
    p = b.convert(_softmax(b, masked), "bf16")
    context = b.dot(p, value, contract=((3,), (1,)), batch=((0, 1), (0, 2)))
    return b.dot(context, b.convert(weights[3], "bf16"), contract=((1, 3), (0, 1)))


def _feed_forward(b, h, w_in, w_out):
    inner = _gelu(b, b.dot(h, b.convert(w_in, "bf16"), contract=((2,), (0,))))
    return b.dot(inner, b.convert(w_out, "bf16"), contract=((2,), (0,)))


def training_step():
    b = Builder("jit_transformer_block_train")
    projections = [b.parameter("f32", (MODEL, HEADS, HEAD)) for _ in range(3)]
    projections.append(b.parameter("f32", (HEADS, HEAD, MODEL)))
    feed_forward = [b.parameter("f32", (MODEL, FEED_FORWARD)),
                    b.parameter("f32", (FEED_FORWARD, MODEL))]
    norms = [b.parameter("f32", (MODEL,)) for _ in range(4)]
    x = b.parameter("bf16", (BATCH, SEQUENCE, MODEL))
    dy = b.parameter("bf16", (BATCH, SEQUENCE, MODEL))

    with b.scope("attention"):
        y = b.add(x, _attention(b, _layer_norm(b, x, *norms[:2]), projections))
    with b.scope("feed_forward"):
        y = b.add(y, _feed_forward(b, _layer_norm(b, y, *norms[2:]), *feed_forward))
    weights = projections + feed_forward + norms
    with b.scope("backward"):
        dx, *grads = gradients(b, y, dy, [x, *weights])
    with b.scope("sgd"):
        updated = [b.subtract(w, b.scale(g, LEARNING_RATE)) for w, g in zip(weights, grads)]
    return b.module([y, dx, *updated])
