"""ResNet-50 inference, bf16, NHWC, batch 64: 53 convolutions and a dense layer.

The network of He et al. 2015 (arXiv:1512.03385, Table 1) with the stride of a down-sampling block
in its 3x3 convolution ("v1.5"). Batch normalisation is folded to one scale and one bias per
channel. 4.09 G multiply-adds per image of 224 x 224.
"""
import dataclasses

from hlo_builder import Builder

CLASSES = 1000


@dataclasses.dataclass(frozen=True)
class Sizes:
    batch: int = 64
    image: int = 224
    # (blocks, width of the 3x3 convolutions, stride of the first); results are `expansion` times as wide.
    stages: tuple = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
    stem: int = 64
    dtype: str = "bf16"
    expansion: int = 4  # 1: blocks of two 3x3 convolutions, as of ResNet-18 and -34


# One block per stage of a network half as wide: milliseconds per convolution on one core.
SMALL = Sizes(batch=1, image=160, stages=((1, 32, 1), (2, 64, 2), (1, 128, 2)), stem=32,
              dtype="f32")


def convolution(b, x, channels, size, stride=1):
    """Convolution, folded batch normalisation; weights are parameters."""
    kernel = b.parameter(x.dtype, (size, size, x.dims[3], channels))
    scale, bias = b.parameter(x.dtype, (channels,)), b.parameter(x.dtype, (channels,))
    y = b.convolution(x, kernel, stride, padding=size // 2)
    y = b.multiply(y, b.broadcast(scale, y.dims, (3,)))
    return b.add(y, b.broadcast(bias, y.dims, (3,)))


def relu(b, x):
    return b.maximum(x, b.fill(x.dtype, 0, x.dims))


def _block(b, x, width, stride, expansion):
    y, basic = x, expansion == 1
    if not basic:
        with b.scope("conv1"):
            y = relu(b, convolution(b, y, width, 1))
    with b.scope("conv2"):
        y = relu(b, convolution(b, y, width, 3, stride))
    shortcut = x
    if x.dims[3] != width * expansion:
        with b.scope("shortcut"):
            shortcut = convolution(b, x, width * expansion, 1, stride)
    with b.scope("conv3"):
        y = convolution(b, y, width * expansion, 3 if basic else 1)
        return relu(b, b.add(y, shortcut))


def inference(name="jit_resnet50", sizes=Sizes()):
    b = Builder(name)
    x = b.parameter(sizes.dtype, (sizes.batch, sizes.image, sizes.image, 3))
    with b.scope("stem"):
        x = relu(b, convolution(b, x, sizes.stem, 7, 2))
        x = b.max_pool(x, size=3, stride=2, padding=1)
    for i, (blocks, width, stride) in enumerate(sizes.stages):
        for j in range(blocks):
            with b.scope(f"stage{i + 1}"), b.scope(f"block{j + 1}"):
                x = _block(b, x, width, stride if j == 0 else 1, sizes.expansion)
    with b.scope("head"):
        pixels = x.dims[1] * x.dims[2]
        mean = b.scale(b.reduce(b.convert(x, "f32"), (1, 2)), 1 / pixels)
        weights = b.parameter(sizes.dtype, (x.dims[3], CLASSES))
        bias = b.parameter(sizes.dtype, (CLASSES,))
        logits = b.dot(b.convert(mean, sizes.dtype), weights, contract=((1,), (0,)))
        logits = b.add(logits, b.broadcast(bias, logits.dims, (1,)))
    return b.module([logits])
