"""A training step of perceptron blocks, cut over data x model devices as XLA's partitioner does it.

Device number = row x model + column. A row of devices shares one part of the batch and cuts the
hidden layer of every block; a column holds the same weights for all parts of the batch. Of B tokens
in all, width d, hidden layer f, every device has x[B/data, d], W1[d, f/model] and W2[f/model, d]:

    forward    h = relu(x W1),  y = x + sum over the row of h W2
    backward   dx = dy + sum over the row of dh W1^T; gradients summed over the column,
               each as soon as it is there, so that the blocks before it can hide it; then SGD

Matrix FLOPs of a device: 12 B d f / (data x model) a block.
"""
import dataclasses

from hlo_builder import Builder

LEARNING_RATE = 0.01


@dataclasses.dataclass(frozen=True)
class Sizes:
    data: int
    model: int
    tokens: int = 16384  # of all devices
    width: int = 4096
    hidden: int = 16384
    blocks: int = 4
    dtype: str = "bf16"


class Sharded(Builder):
    """A builder of one device's module."""

    def __init__(self, name, sizes):
        super().__init__(name)
        self.sizes = sizes
        self.channels = 0

    def all_reduce(self, x, groups):
        self.channels += 1
        return self.emit("all-reduce", x.dtype, x.dims, (x,),
                         f"channel_id={self.channels}, replica_groups={groups}, "
                         f"use_global_device_ids=true, to_apply={self.region('add', x.dtype)}")

    def over_row(self, x):
        data, model = self.sizes.data, self.sizes.model
        return x if model == 1 else self.all_reduce(x, f"[{data},{model}]<=[{data * model}]")

    def over_column(self, x):
        data, model = self.sizes.data, self.sizes.model
        return x if data == 1 else self.all_reduce(x, f"[{model},{data}]<=[{data},{model}]T(1,0)")


def training_step(name, sizes):
    b = Sharded(name, sizes)
    rows = sizes.tokens // sizes.data
    columns = sizes.hidden // sizes.model
    up = [b.parameter(sizes.dtype, (sizes.width, columns)) for _ in range(sizes.blocks)]
    down = [b.parameter(sizes.dtype, (columns, sizes.width)) for _ in range(sizes.blocks)]
    x = b.parameter(sizes.dtype, (rows, sizes.width))
    inputs, hidden = [], []
    for i in range(sizes.blocks):
        with b.scope(f"block{i}"):
            product = b.dot(x, up[i], contract=((1,), (0,)))
            h = b.maximum(product, b.fill(sizes.dtype, 0, product.dims))
            inputs.append(x)
            hidden.append(h)
            x = b.add(x, b.over_row(b.dot(h, down[i], contract=((1,), (0,)))))
    error = x  # of a loss that is half the sum of squares
    gradients = {}
    for i in reversed(range(sizes.blocks)):
        with b.scope(f"backward{i}"):
            h = hidden[i]
            gradients[down[i]] = b.over_column(b.dot(h, error, contract=((0,), (0,))))
            back = b.dot(error, down[i], contract=((1,), (1,)))
            zero = b.fill(sizes.dtype, 0, back.dims)
            back = b.select(b.compare(h, zero, "GT"), back, zero)
            gradients[up[i]] = b.over_column(b.dot(inputs[i], back, contract=((0,), (0,))))
            error = b.add(error, b.over_row(b.dot(back, up[i], contract=((1,), (1,)))))
    with b.scope("sgd"):
        updated = [b.subtract(w, b.scale(gradients[w], LEARNING_RATE)) for w in [*up, *down]]
    text = b.module([*updated, error])
    header, rest = text.split("\n", 1)
    return f"{header}, num_partitions={sizes.data * sizes.model}\n{rest}"
