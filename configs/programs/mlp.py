"""A training step of a three-layer perceptron: f32, softmax cross-entropy, SGD.

Matrix FLOPs of a step with B rows and layers d0 -> d1 -> d2 -> d3: forward 2 B sum(d_i d_(i+1));
backward the same for the weights, and for all inputs but the first layer's.
"""
import dataclasses

from gradients import gradients
from hlo_builder import Builder, computation_text, header_text, shape_text, tuple_text

LEARNING_RATE = 0.01


@dataclasses.dataclass(frozen=True)
class Sizes:
    batch: int = 512
    layers: tuple = (784, 2048, 2048, 10)


SMALL = Sizes(batch=96, layers=(256, 384, 320, 10))  # a few milliseconds on one processor core


def _dense(b, x, weights, bias):
    product = b.dot(x, weights, contract=((1,), (0,)))
    return b.add(product, b.broadcast(bias, product.dims, (1,)))


def _cross_entropy_gradient(b, logits, labels):
    """Mean loss over the batch, and its gradient with respect to the logits."""
    rows, batch = (0,), logits.dims[0]
    largest = b.broadcast(b.reduce(logits, (1,), "maximum"), logits.dims, rows)
    shifted = b.subtract(logits, largest)
    total = b.reduce(b.unary("exponential", shifted), (1,))
    log_p = b.subtract(shifted, b.broadcast(b.unary("log", total), logits.dims, rows))
    loss = b.unary("negate", b.reduce(b.multiply(labels, log_p), (0, 1)))
    mean = b.multiply(loss, b.constant("f32", 1 / batch))
    error = b.subtract(b.unary("exponential", log_p), labels)
    return mean, b.scale(error, 1 / batch)


def _step(name, sizes=Sizes()):
    """Builder, inputs first the trained values; results: the new ones, then the loss."""
    b = Builder(name)
    shapes = list(zip(sizes.layers, sizes.layers[1:]))
    weights = [b.parameter("f32", shape) for shape in shapes]
    biases = [b.parameter("f32", shape[1:]) for shape in shapes]
    x = b.parameter("f32", (sizes.batch, sizes.layers[0]))
    labels = b.parameter("f32", (sizes.batch, sizes.layers[-1]))

    h = x
    for i, (w, bias) in enumerate(zip(weights, biases)):
        with b.scope(f"layer{i}"):
            h = _dense(b, h, w, bias)
            if i + 1 < len(weights):
                h = b.maximum(h, b.fill("f32", 0, h.dims))
    with b.scope("loss"):
        loss, dlogits = _cross_entropy_gradient(b, h, labels)
    with b.scope("backward"):
        grads = gradients(b, h, dlogits, weights + biases)
    with b.scope("sgd"):
        updated = [b.subtract(p, b.scale(g, LEARNING_RATE))
                   for p, g in zip(weights + biases, grads)]
    return b, updated, loss


def training_step(name="jit_mlp_train", sizes=Sizes()):
    b, updated, loss = _step(name, sizes)
    return b.module([*updated, loss])


def training_loop(steps):
    """The module that calls the step `steps` times in a counted while loop."""
    b, updated, loss = _step("jit_mlp_train_loop")
    step = computation_text("step", b.close([*updated, loss]))
    carried = len(updated)
    inputs = b.parameters
    counter = b.constant("s32", 0)
    state = tuple_text([counter, *inputs])

    def element(i, value, source):
        return f"{shape_text(value.dtype, value.dims)} get-tuple-element({source}), index={i}"

    body = [f"state = {state} parameter(0)", f"i = {element(0, counter, 'state')}"]
    body += [f"value.{k} = {element(k + 1, v, 'state')}" for k, v in enumerate(inputs)]
    arguments = ", ".join(f"value.{k}" for k in range(len(inputs)))
    body.append(f"call = {tuple_text([*updated, loss])} call({arguments}), to_apply=step")
    body += [f"new.{k} = {element(k, v, 'call')}" for k, v in enumerate(updated)]
    names = [f"new.{k}" for k in range(carried)]
    names += [f"value.{k}" for k in range(carried, len(inputs))]
    body += ["one = s32[] constant(1)", "next = s32[] add(i, one)",
             f"result = {state} tuple(next, {', '.join(names)})"]

    condition = [f"state = {state} parameter(0)", f"i = {element(0, counter, 'state')}",
                 f"limit = s32[] constant({steps})",
                 "more = pred[] compare(i, limit), direction=LT"]

    entry = [f"p.{k} = {shape_text(v.dtype, v.dims)} parameter({k})" for k, v in enumerate(inputs)]
    names = ", ".join(f"p.{k}" for k in range(len(inputs)))
    entry += ["zero = s32[] constant(0)", f"init = {state} tuple(zero, {names})",
              f"loop = {state} while(init), condition=condition, body=body"]
    entry += [f"out.{k} = {element(k + 1, v, 'loop')}" for k, v in enumerate(updated)]
    entry.append(f"outs = {tuple_text(updated)} "
                 f"tuple({', '.join(f'out.{k}' for k in range(carried))})")
    return "\n".join([header_text(b.name, inputs, updated), *b.called, step,
                      computation_text("body", body), computation_text("condition", condition),
                      computation_text("ENTRY main", entry)])
