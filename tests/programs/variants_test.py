#!/usr/bin/env python3
"""Variants of the example programs are distinct and reproducible, and do not change the programs.
Argument: the folder of the programs."""
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import generate


def written():
    with tempfile.TemporaryDirectory() as folder:
        generate.write_variants(pathlib.Path(folder) / "variants")
        return {path.name: path.read_text() for path in pathlib.Path(folder).rglob("*.hlo")}


before = {name: program() for name, program in generate.PROGRAMS.items()}
first = written()
assert len(first) >= 50, len(first)
assert first == written()
bodies = {text.split("\n", 1)[1] for text in first.values()}  # without the module's name
assert len(bodies) == len(first), "two variants are one program"
assert not bodies & {text.split("\n", 1)[1] for text in before.values()}
assert before == {name: program() for name, program in generate.PROGRAMS.items()}
