#!/usr/bin/env python3
"""Writes the example programs of this folder as HLO text. The same code gives the same bytes.

    generate.py             writes the .hlo files beside this script
    generate.py --check     writes nothing; exits 1 and names the files that differ
"""
import pathlib
import sys

import adam
import decoder
import diffusion
import lstm
import mixer
import mlp
import pointwise
import resnet50
import transformer

PROGRAMS = {
    "mlp_train.hlo": mlp.training_step,
    "mlp_train_loop.hlo": lambda: mlp.training_loop(steps=10),
    "resnet50_inference.hlo": resnet50.inference,
    "transformer_block_train.hlo": transformer.training_step,
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


def main(arguments):
    folder = pathlib.Path(__file__).resolve().parent
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
