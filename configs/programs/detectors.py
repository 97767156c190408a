"""Inference of two small networks that find objects, NHWC, without the sorting of boxes after them.

ssd: predictions from feature maps of falling size by 3x3 convolutions (Liu et al.,
arXiv:1512.02325, figure 2). yolo: residual blocks of a narrow 1x1 and a 3x3 convolution with leaky
ReLU, predictions from a coarse map and from a finer one that also reads the coarse one, repeated
(Redmon and Farhadi, arXiv:1804.02767, section 2.3 and table 1).
"""
import dataclasses

from diffusion import twice_as_large
from hlo_builder import Builder
from resnet50 import convolution, relu
from transformer import softmax

BOX = 4  # numbers that place one


@dataclasses.dataclass(frozen=True)
class Sizes:
    batch: int = 1
    image: int = 128
    channels: int = 16  # of the first layer; each level has twice those of the one before
    levels: int = 4
    boxes: int = 3  # per pixel
    classes: int = 20


def _predicted(b, x, sizes, size):
    """(batch, boxes, BOX + classes + 1) of the map x."""
    numbers = BOX + sizes.classes + 1
    y = convolution(b, x, sizes.boxes * numbers, size)
    return b.reshape(y, (sizes.batch, x.dims[1] * x.dims[2] * sizes.boxes, numbers))


def ssd(name="jit_ssd", sizes=Sizes()):
    b, found = Builder(name), []
    x = b.parameter("f32", (sizes.batch, sizes.image, sizes.image, 3))
    for level in range(sizes.levels):
        with b.scope(f"level{level + 1}"):
            for _ in range(2):
                x = relu(b, convolution(b, x, sizes.channels << level, 3))
            if level >= 2:
                found.append(_predicted(b, x, sizes, 3))
            x = b.max_pool(x, size=2, stride=2, padding=0)
    with b.scope("boxes"):
        found = b.concatenate([*found, _predicted(b, x, sizes, 3)], 1)
        scores = softmax(b, b.slice(found, 2, BOX, found.dims[2]))
    return b.module([b.slice(found, 2, 0, BOX), scores])


def _layer(b, x, channels, size, stride=1):
    y = convolution(b, x, channels, size, stride)
    return b.maximum(y, b.scale(y, 0.1))


def yolo(name="jit_yolo", sizes=Sizes()):
    b, maps = Builder(name), []
    x = b.parameter("f32", (sizes.batch, sizes.image, sizes.image, 3))
    x = _layer(b, x, sizes.channels, 3)
    for level in range(1, sizes.levels):
        with b.scope(f"level{level}"):
            x = _layer(b, x, sizes.channels << level, 3, stride=2)
            y = _layer(b, _layer(b, x, x.dims[3] // 2, 1), x.dims[3], 3)
            x = b.add(x, y)
            maps.append(x)
    with b.scope("coarse"):
        y = _layer(b, x, x.dims[3] // 2, 1)
        coarse = _predicted(b, _layer(b, y, x.dims[3], 3), sizes, 1)
    with b.scope("fine"):
        y = b.concatenate([twice_as_large(b, _layer(b, y, y.dims[3] // 2, 1)), maps[-2]], 3)
        fine = _predicted(b, _layer(b, y, maps[-2].dims[3], 3), sizes, 1)
    return b.module([b.unary("logistic", b.concatenate([coarse, fine], 1))])
