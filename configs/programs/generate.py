#!/usr/bin/env python3
"""Writes the example programs of this folder as HLO text. The same code gives the same bytes.

    generate.py             writes the .hlo files beside this script
    generate.py --check     writes nothing; exits 1 and names the files that differ
"""
import pathlib
import sys

import mlp
import resnet50
import transformer

PROGRAMS = {
    "mlp_train.hlo": mlp.training_step,
    "mlp_train_loop.hlo": lambda: mlp.training_loop(steps=10),
    "resnet50_inference.hlo": resnet50.inference,
    "transformer_block_train.hlo": transformer.training_step,
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
