"""A training step of an LSTM, unrolled over a few words: forward, backward and SGD, in f32.

Gates as in Gers et al. 2000: one product of (input, state) with the weights of all four gates per
word. 2 B (i + h) 4 h matrix FLOPs per word forward, twice that backward.
"""
from gradients import gradients
from hlo_builder import Builder

BATCH, WORDS, INPUT, HIDDEN = 32, 4, 128, 192
LEARNING_RATE = 0.01


def _cell(b, x, state, memory, weights, bias):
    product = b.dot(b.concatenate([x, state], 1), weights, contract=((1,), (0,)))
    gates = b.add(product, b.broadcast(bias, product.dims, (1,)))
    take, forget, new, give = (b.slice(gates, 1, i * HIDDEN, (i + 1) * HIDDEN) for i in range(4))
    memory = b.add(b.multiply(memory, b.unary("logistic", forget)),
                   b.multiply(b.unary("logistic", take), b.unary("tanh", new)))
    return b.multiply(b.unary("logistic", give), b.unary("tanh", memory)), memory


def training_step(name="jit_lstm_train"):
    b = Builder(name)
    weights = b.parameter("f32", (INPUT + HIDDEN, 4 * HIDDEN))
    bias = b.parameter("f32", (4 * HIDDEN,))
    words = b.parameter("f32", (BATCH, WORDS, INPUT))
    state, memory = (b.parameter("f32", (BATCH, HIDDEN)) for _ in range(2))
    dy = b.parameter("f32", (BATCH, HIDDEN))
    for i in range(WORDS):
        with b.scope(f"word{i}"):
            x = b.reshape(b.slice(words, 1, i, i + 1), (BATCH, INPUT))
            state, memory = _cell(b, x, state, memory, weights, bias)
    with b.scope("backward"):
        grads = gradients(b, state, dy, [weights, bias, words])
    with b.scope("sgd"):
        updated = [b.subtract(w, b.scale(g, LEARNING_RATE))
                   for w, g in zip((weights, bias), grads)]
    return b.module([state, memory, grads[2], *updated])
