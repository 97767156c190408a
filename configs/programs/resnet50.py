"""ResNet-50 inference, bf16, NHWC, batch 64: 53 convolutions and a dense layer.

The network of He et al. 2015 (arXiv:1512.03385, Table 1) with the stride of a down-sampling block
in its 3x3 convolution ("v1.5"). Batch normalisation is folded to one scale and one bias per
channel. 4.09 G multiply-adds per image of 224 x 224.
"""
from hlo_builder import Builder

BATCH = 64
IMAGE = 224
# (blocks, width of the 3x3 convolutions, stride of the first block); results are 4 times as wide.
STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
EXPANSION = 4
CLASSES = 1000


def _convolution(b, x, channels, size, stride=1):
    """Convolution, folded batch normalisation; weights are parameters."""
    kernel = b.parameter("bf16", (size, size, x.dims[3], channels))
    scale, bias = b.parameter("bf16", (channels,)), b.parameter("bf16", (channels,))
    y = b.convolution(x, kernel, stride, padding=size // 2)
    y = b.multiply(y, b.broadcast(scale, y.dims, (3,)))
    return b.add(y, b.broadcast(bias, y.dims, (3,)))


def _relu(b, x):
    return b.maximum(x, b.fill(x.dtype, 0, x.dims))


def _bottleneck(b, x, width, stride):
    with b.scope("conv1"):
        y = _relu(b, _convolution(b, x, width, 1))
    with b.scope("conv2"):
        y = _relu(b, _convolution(b, y, width, 3, stride))
    shortcut = x
    if x.dims[3] != width * EXPANSION:
        with b.scope("shortcut"):
            shortcut = _convolution(b, x, width * EXPANSION, 1, stride)
    with b.scope("conv3"):
        y = _convolution(b, y, width * EXPANSION, 1)
        return _relu(b, b.add(y, shortcut))


def inference():
    b = Builder("jit_resnet50")
    x = b.parameter("bf16", (BATCH, IMAGE, IMAGE, 3))
    with b.scope("stem"):
        x = _relu(b, _convolution(b, x, 64, 7, 2))
        x = b.max_pool(x, size=3, stride=2, padding=1)
    for i, (blocks, width, stride) in enumerate(STAGES):
        for j in range(blocks):
            with b.scope(f"stage{i + 1}"), b.scope(f"block{j + 1}"):
                x = _bottleneck(b, x, width, stride if j == 0 else 1)
    with b.scope("head"):
        pixels = x.dims[1] * x.dims[2]
        mean = b.scale(b.reduce(b.convert(x, "f32"), (1, 2)), 1 / pixels)
        weights = b.parameter("bf16", (x.dims[3], CLASSES))
        bias = b.parameter("bf16", (CLASSES,))
        logits = b.dot(b.convert(mean, "bf16"), weights, contract=((1,), (0,)))
        logits = b.add(logits, b.broadcast(bias, logits.dims, (1,)))
    return b.module([logits])
