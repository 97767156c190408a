"""A training step of one transformer block: forward, backward and SGD.

Pre-norm block of a decoder (causal attention, GELU). Weights are kept in f32; matrix products run
in bf16, softmax and layer normalisation in f32. The block stands inside a model, so the cotangent
of its output is an input, and that of its input is a result.

Matrix FLOPs with T = batch x sequence tokens: forward 2 T (4 d^2 + 2 d f) + 4 T s d; each product
is followed by two of the same size on the way back.
"""
import dataclasses

from gradients import gradients
from hlo_builder import Builder

EPSILON = 1e-5
LEARNING_RATE = 0.001


@dataclasses.dataclass(frozen=True)
class Sizes:
    batch: int = 8
    sequence: int = 512
    model: int = 1024
    heads: int = 16
    feed_forward: int = 4096
    products: str = "bf16"  # type of the matrix products

    @property
    def head(self):
        return self.model // self.heads


# Some milliseconds per matrix product on one processor core.
SMALL = Sizes(batch=4, sequence=64, model=256, heads=4, feed_forward=1024, products="f32")


def layer_norm(b, x, scale, bias):
    """In f32 over the last dimension; the result has the type of x again."""
    wide = b.convert(x, "f32")
    kept, last = tuple(range(wide.rank - 1)), wide.rank - 1

    def mean(v):
        return b.broadcast(b.scale(b.reduce(v, (last,)), 1 / wide.dims[last]), wide.dims, kept)

    centred = b.subtract(wide, mean(wide))
    variance = mean(b.multiply(centred, centred))
    inverse = b.unary("rsqrt", b.add(variance, b.fill("f32", EPSILON, wide.dims)))
    y = b.multiply(b.multiply(centred, inverse), b.broadcast(scale, wide.dims, (last,)))
    return b.convert(b.add(y, b.broadcast(bias, wide.dims, (last,))), x.dtype)


def softmax(b, x):
    kept, last = tuple(range(x.rank - 1)), x.rank - 1
    largest = b.broadcast(b.reduce(x, (last,), "maximum"), x.dims, kept)
    exponential = b.unary("exponential", b.subtract(x, largest))
    return b.divide(exponential, b.broadcast(b.reduce(exponential, (last,)), x.dims, kept))


def gelu(b, x):
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): Hendrycks and Gimpel, arXiv:1606.08415."""
    cube = b.multiply(x, b.multiply(x, x))
    inner = b.scale(b.add(x, b.scale(cube, 0.044715)), 0.7978846)
    gate = b.add(b.unary("tanh", inner), b.fill(x.dtype, 1, x.dims))
    return b.multiply(b.scale(x, 0.5), gate)


def _attention(b, h, weights):
    """h is (batch, sequence, model); scores are (batch, head, query, key)."""
    query, key, value = (b.dot(h, b.convert(w, h.dtype), contract=((2,), (0,)))
                         for w in weights[:3])
    scores = b.dot(query, key, contract=((3,), (3,)), batch=((0, 2), (0, 2)))
    scores = b.scale(b.convert(scores, "f32"), query.dims[3]**-0.5)
    rows, columns = (b.iota("s32", scores.dims, d) for d in (2, 3))
    masked = b.select(b.compare(rows, columns, "GE"), scores,
                      b.fill("f32", "-1e+30", scores.dims))
    p = b.convert(softmax(b, masked), h.dtype)
    context = b.dot(p, value, contract=((3,), (1,)), batch=((0, 1), (0, 2)))
    return b.dot(context, b.convert(weights[3], h.dtype), contract=((1, 3), (0, 1)))


def _feed_forward(b, h, w_in, w_out):
    inner = gelu(b, b.dot(h, b.convert(w_in, h.dtype), contract=((2,), (0,))))
    return b.dot(inner, b.convert(w_out, h.dtype), contract=((2,), (0,)))


def _weights(b, sizes, kept):
    """Of type `kept`: projections, feed-forward matrices; and norms, which are f32."""
    model = sizes.model
    projections = [b.parameter(kept, (model, sizes.heads, sizes.head)) for _ in range(3)]
    projections.append(b.parameter(kept, (sizes.heads, sizes.head, model)))
    feed_forward = [b.parameter(kept, (model, sizes.feed_forward)),
                    b.parameter(kept, (sizes.feed_forward, model))]
    return projections, feed_forward, [b.parameter("f32", (model,)) for _ in range(4)]


def _block(b, x, projections, feed_forward, norms):
    with b.scope("attention"):
        y = b.add(x, _attention(b, layer_norm(b, x, *norms[:2]), projections))
    with b.scope("feed_forward"):
        return b.add(y, _feed_forward(b, layer_norm(b, y, *norms[2:]), *feed_forward))


def training_step(name="jit_transformer_block_train", sizes=Sizes()):
    b = Builder(name)
    projections, feed_forward, norms = _weights(b, sizes, "f32")
    x = b.parameter(sizes.products, (sizes.batch, sizes.sequence, sizes.model))
    dy = b.parameter(sizes.products, (sizes.batch, sizes.sequence, sizes.model))
    y = _block(b, x, projections, feed_forward, norms)
    weights = projections + feed_forward + norms
    with b.scope("backward"):
        dx, *grads = gradients(b, y, dy, [x, *weights])
    with b.scope("sgd"):
        updated = [b.subtract(w, b.scale(g, LEARNING_RATE)) for w, g in zip(weights, grads)]
    return b.module([y, dx, *updated])


def inference(name, sizes):
    """The block alone, its matrices of the products' type."""
    b = Builder(name)
    weights = _weights(b, sizes, sizes.products)
    x = b.parameter(sizes.products, (sizes.batch, sizes.sequence, sizes.model))
    return b.module([_block(b, x, *weights)])
