"""Inference of two MLP-Mixer blocks in f32: products over patches, then over channels.

Tolstikhin et al., arXiv:2105.01601, Figure 1. Mixing patches transposes the image twice.
"""
from hlo_builder import Builder
from transformer import gelu, layer_norm

BATCH, PATCHES, CHANNELS = 8, 64, 192
PATCH_WIDTH, CHANNEL_WIDTH = 128, 512
BLOCKS = 2


def _dense(b, x, width):
    """Over the last dimension, with a bias."""
    last = x.rank - 1
    y = b.dot(x, b.parameter("f32", (x.dims[last], width)), contract=((last,), (0,)))
    return b.add(y, b.broadcast(b.parameter("f32", (width,)), y.dims, (last,)))


def _norm(b, x):
    return layer_norm(b, x, b.parameter("f32", x.dims[-1:]), b.parameter("f32", x.dims[-1:]))


def _block(b, x):
    with b.scope("patches"):
        y = b.transpose(_norm(b, x), (0, 2, 1))
        y = _dense(b, gelu(b, _dense(b, y, PATCH_WIDTH)), PATCHES)
        x = b.add(x, b.transpose(y, (0, 2, 1)))
    with b.scope("channels"):
        y = _dense(b, gelu(b, _dense(b, _norm(b, x), CHANNEL_WIDTH)), CHANNELS)
        return b.add(x, y)


def inference(name="jit_mixer"):
    b = Builder(name)
    x = b.parameter("f32", (BATCH, PATCHES, CHANNELS))
    for i in range(BLOCKS):
        with b.scope(f"block{i}"):
            x = _block(b, x)
    return b.module([_norm(b, x)])
