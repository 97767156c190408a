"""A training step of one decoder block with rotary positions, shared keys and a gated unit, in f32.

Root-mean-square norm before attention and before the feed-forward part; positions turn pairs of
query and key elements (Su et al., arXiv:2104.09864); several queries share one key and value head
(Ainslie et al., arXiv:2305.13245); x W1 sigmoid(x W1) * x W2 (Shazeer, arXiv:2002.05202).
"""
from gradients import gradients
from hlo_builder import Builder
from transformer import softmax

BATCH, SEQUENCE, MODEL = 2, 96, 256
HEADS, GROUPS, HEAD, FEED_FORWARD = 8, 2, 32, 688
EPSILON, LEARNING_RATE = 1e-6, 0.001


def _norm(b, x, scale):
    kept, last = tuple(range(x.rank - 1)), x.rank - 1
    mean = b.scale(b.reduce(b.multiply(x, x), (last,)), 1 / x.dims[last])
    inverse = b.unary("rsqrt", b.add(mean, b.fill("f32", EPSILON, mean.dims)))
    return b.multiply(b.multiply(x, b.broadcast(inverse, x.dims, kept)),
                      b.broadcast(scale, x.dims, (last,)))


def _turn(b, x, cosine, sine):
    """x is (batch, sequence, heads, head)."""
    half = x.dims[3] // 2
    low, high = b.slice(x, 3, 0, half), b.slice(x, 3, half, 2 * half)
    turned = b.concatenate([b.unary("negate", high), low], 3)
    cosine, sine = (b.broadcast(v, x.dims, (1, 3)) for v in (cosine, sine))
    return b.add(b.multiply(x, cosine), b.multiply(turned, sine))


def _attention(b, h, weights, positions):
    query, key, value = (b.dot(h, w, contract=((2,), (0,))) for w in weights[:3])
    query, key = _turn(b, query, *positions), _turn(b, key, *positions)
    grouped = b.reshape(query, (BATCH, SEQUENCE, GROUPS, HEADS // GROUPS, HEAD))
    scores = b.dot(grouped, key, contract=((4,), (3,)), batch=((0, 2), (0, 2)))
    scores = b.scale(scores, HEAD**-0.5)  # (batch, group, query, head of the group, key)
    rows, columns = (b.iota("s32", scores.dims, d) for d in (2, 4))
    masked = b.select(b.compare(rows, columns, "GE"), scores,
                      b.fill("f32", "-1e+30", scores.dims))
    context = b.dot(softmax(b, masked), value, contract=((4,), (1,)), batch=((0, 1), (0, 2)))
    joined = b.reshape(b.transpose(context, (0, 2, 1, 3, 4)), (BATCH, SEQUENCE, HEADS, HEAD))
    return b.dot(joined, weights[3], contract=((2, 3), (0, 1)))


def _feed_forward(b, h, w_gate, w_in, w_out):
    gate = b.dot(h, w_gate, contract=((2,), (0,)))
    gate = b.multiply(gate, b.unary("logistic", gate))
    inner = b.multiply(gate, b.dot(h, w_in, contract=((2,), (0,))))
    return b.dot(inner, w_out, contract=((2,), (0,)))


def training_step(name="jit_decoder_train"):
    b = Builder(name)
    shapes = [(MODEL, HEADS, HEAD), (MODEL, GROUPS, HEAD), (MODEL, GROUPS, HEAD),
              (HEADS, HEAD, MODEL), (MODEL, FEED_FORWARD), (MODEL, FEED_FORWARD),
              (FEED_FORWARD, MODEL), (MODEL,), (MODEL,)]
    weights = [b.parameter("f32", dims) for dims in shapes]
    positions = [b.parameter("f32", (SEQUENCE, HEAD)) for _ in range(2)]
    x, dy = (b.parameter("f32", (BATCH, SEQUENCE, MODEL)) for _ in range(2))
    with b.scope("attention"):
        y = b.add(x, _attention(b, _norm(b, x, weights[7]), weights[:4], positions))
    with b.scope("feed_forward"):
        y = b.add(y, _feed_forward(b, _norm(b, y, weights[8]), *weights[4:7]))
    with b.scope("backward"):
        dx, *grads = gradients(b, y, dy, [x, *weights])
    with b.scope("sgd"):
        updated = [b.subtract(w, b.scale(g, LEARNING_RATE)) for w, g in zip(weights, grads)]
    return b.module([y, dx, *updated])
