#!/usr/bin/env python3
"""Writes the example programs of this folder as HLO text. The same code gives the same bytes.

    generate.py                       writes the .hlo files beside this script
    generate.py --check               writes nothing; exits 1 and names the files that differ
    generate.py --variants FOLDER     writes the same networks in other sizes to FOLDER: what large
                                      sets of many programs are measured on
"""
import pathlib
import sys

import adam
import decoder
import detectors
import diffusion
import lstm
import mixer
import mlp
import pointwise
import resnet50
import sharded
import transformer

PROGRAMS = {
    "mlp_train.hlo": mlp.training_step,
    "mlp_train_loop.hlo": lambda: mlp.training_loop(steps=10),
    "resnet50_inference.hlo": resnet50.inference,
    "transformer_block_train.hlo": transformer.training_step,
    # One device's part of a step on 4, 16 and 64 of them (docs/studies.md); not for one core.
    "../examples/sharded_4.hlo": lambda: sharded.training_step("jit_sharded_4", sharded.Sizes(2, 2)),
    "../examples/sharded_16.hlo": lambda: sharded.training_step("jit_sharded_16", sharded.Sizes(4, 4)),
    "../examples/sharded_64.hlo": lambda: sharded.training_step("jit_sharded_64", sharded.Sizes(8, 8)),
    # At the size of one processor core: what `tilecast measure host` cuts into kernels.
    "small_adam.hlo": lambda: adam.step("jit_small_adam"),
    "small_decoder_train.hlo": lambda: decoder.training_step("jit_small_decoder_train"),
    "small_diffusion.hlo": lambda: diffusion.inference("jit_small_diffusion"),
    "small_lstm_train.hlo": lambda: lstm.training_step("jit_small_lstm_train"),
    "small_mixer.hlo": lambda: mixer.inference("jit_small_mixer"),
    "small_mlp_train.hlo": lambda: mlp.training_step("jit_small_mlp_train", mlp.SMALL),
    "small_pointwise_train.hlo": lambda: pointwise.training_step("jit_small_pointwise_train"),
    "small_resnet.hlo": lambda: resnet50.inference("jit_small_resnet", resnet50.SMALL),
    "small_transformer_train.hlo":
        lambda: transformer.training_step("jit_small_transformer_train", transformer.SMALL),
}

# Program -> the function, its class of sizes or the names of its module's, and their values: one
# variant each. Sizes are for one processor core: kernels of microseconds to some milliseconds.
VARIANTS = {
    "adam": (adam.step, ("SHAPES",), [
        [((256, 256), (256,), (256, 1024), (1024,))],
        [((2048, 384), (384,))],
        [((64, 27), (64,), (128, 64, 3, 3), (128,), (10, 128))],
        [((20000, 48), (48,), (48, 2))],
        [((96, 96, 5), (12, 12, 12, 12), (1000,))],
        [((300, 700), (700,), (700, 33), (33,))]]),
    "decoder_train": (
        decoder.training_step,
        ("BATCH", "SEQUENCE", "MODEL", "HEADS", "GROUPS", "HEAD", "FEED_FORWARD"),
        [[1, 64, 128, 4, 1, 32, 384], [4, 32, 192, 6, 2, 32, 512], [1, 192, 256, 8, 8, 32, 640],
         [8, 16, 320, 10, 5, 32, 864], [2, 128, 384, 6, 3, 64, 1024], [16, 24, 96, 3, 1, 32, 256]]),
    "diffusion": (
        diffusion.inference, ("SIZE", "CHANNELS", "TIME", "GROUPS"),
        [[16, 32, 64, 8], [24, 48, 96, 8], [32, 32, 128, 4], [16, 96, 128, 8], [48, 24, 48, 4],
         [20, 40, 80, 5]]),
    "lstm_train": (
        lstm.training_step, ("BATCH", "WORDS", "INPUT", "HIDDEN"),
        [[1, 6, 64, 128], [64, 2, 256, 256], [16, 8, 96, 96], [128, 3, 64, 64], [8, 5, 300, 512],
         [48, 1, 512, 384]]),
    "mixer": (
        mixer.inference,
        ("BATCH", "PATCHES", "CHANNELS", "PATCH_WIDTH", "CHANNEL_WIDTH", "BLOCKS"),
        [[1, 196, 128, 64, 256, 2], [16, 49, 96, 64, 384, 2], [4, 100, 256, 96, 768, 1],
         [32, 16, 128, 32, 512, 3], [2, 256, 64, 256, 128, 2], [6, 36, 160, 48, 320, 2]]),
    "mlp_train": (mlp.training_step, mlp.Sizes, [
        [1, (512, 1024, 512)], [256, (64, 128, 64, 10)], [32, (784, 512, 256, 128, 10)],
        [64, (1024, 64, 1024)], [512, (100, 50, 20, 2)], [24, (333, 222, 111, 222, 333)]]),
    "pointwise_train": (
        pointwise.training_step, ("BATCH", "SIZE", "CHANNELS", "WIDTH", "CLASSES", "BLOCKS"),
        [[1, 28, 32, 96, 10, 2], [8, 10, 128, 64, 1000, 1], [2, 14, 96, 192, 50, 3],
         [16, 7, 64, 256, 100, 2], [4, 32, 24, 48, 10, 2], [1, 40, 16, 64, 20, 3]]),
    "resnet": (resnet50.inference, resnet50.Sizes, [
        [1, 96, ((1, 16, 1), (1, 32, 2), (1, 64, 2)), 16, "f32"],
        [2, 64, ((2, 24, 1), (2, 48, 2)), 24, "f32"],
        [1, 224, ((1, 16, 1), (1, 32, 2)), 16, "f32"],
        [4, 48, ((1, 64, 1), (1, 128, 2)), 32, "f32"],
        [1, 112, ((1, 32, 1), (1, 64, 2)), 32, "bf16"],
        [3, 72, ((1, 20, 1), (1, 40, 2), (1, 80, 2)), 20, "f32"]]),
    "ssd": (detectors.ssd, detectors.Sizes, [
        [1, 64, 16, 4, 3, 20], [2, 48, 24, 3, 4, 10], [1, 96, 8, 4, 6, 80], [4, 32, 32, 3, 3, 4]]),
    "transformer_train": (transformer.training_step, transformer.Sizes, [
        [1, 128, 192, 6, 768, "f32"], [8, 32, 128, 4, 512, "f32"], [2, 96, 320, 5, 640, "bf16"],
        [16, 16, 256, 8, 512, "f32"], [1, 256, 128, 2, 384, "bf16"],
        [3, 80, 144, 3, 600, "f32"]]),
    "yolo": (detectors.yolo, detectors.Sizes, [
        [1, 64, 16, 4, 3, 20], [2, 48, 24, 3, 4, 10], [1, 96, 8, 4, 6, 80], [4, 32, 32, 3, 3, 4]]),
}


def variant(program, sizes, values, name):
    """The text of `program` under these sizes: a class of them, or names of its module."""
    if not isinstance(sizes, tuple):
        return program(name, sizes(*values))
    module = sys.modules[program.__module__]
    before = {size: getattr(module, size) for size in sizes}
    try:
        vars(module).update(zip(sizes, values, strict=True))
        return program(name)
    finally:
        vars(module).update(before)


def write_variants(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for stem, (program, sizes, choices) in VARIANTS.items():
        for i, values in enumerate(choices, start=1):
            name = f"{stem}_{i}"
            (folder / f"{name}.hlo").write_text(variant(program, sizes, values, f"jit_{name}"),
                                                encoding="utf-8")


def main(arguments):
    folder = pathlib.Path(__file__).resolve().parent
    if len(arguments) == 2 and arguments[0] == "--variants":
        write_variants(pathlib.Path(arguments[1]))
        return 0
    check = arguments == ["--check"]
    if arguments and not check:
        print(__doc__, file=sys.stderr)
        return 2
    different = []
    for name, program in PROGRAMS.items():
        path, text = folder / name, program()
        if check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                different.append(name)
        else:
            path.write_text(text, encoding="utf-8")
    if different:
        print("differ from what generate.py writes:", *different)
    return 1 if different else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
