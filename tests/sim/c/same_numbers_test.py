#!/usr/bin/env python3
"""The C example prints the same numbers as `tilecast simulate` and `tilecast tiles`.

    same_numbers_test.py TILECAST C_EXAMPLE LIBRARY
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
TILECAST, EXAMPLE, LIBRARY = sys.argv[1:4]
PRODUCT = "configs/examples/product.hlo"


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def check_program(device, model):
    said = run(TILECAST, "simulate", "-d", device, "--model", model, "-f", "json", PRODUCT)
    expected = json.loads(said)["programs"][0]
    lines = [line.split() for line in run(EXAMPLE, device, PRODUCT, model).splitlines()]
    times = {words[0]: float(words[1]) for words in lines if len(words) == 2}
    assert times == {"time": expected["time_s"], "timeline": expected["timeline_s"],
                     "host": expected["host_dispatch_s"]}, (times, device, model)
    kernels = [(w[1], float(w[2]), float(w[3])) for w in lines if w[0] == "kernel"]
    assert kernels == [(k["name"], k["multiplicity"], k["time_s"])
                       for k in expected["kernels"]], (kernels, device, model)
    assert kernels
    rows = json.loads(run(TILECAST, "tiles", "-d", device, "--model", model, "-f", "json", PRODUCT,
                          "configs/examples/tiles.csv"))["rows"]
    tiles = [float(w[2]) for w in lines if w[0] == "tile"]
    assert len(rows) == len(tiles) == 4
    for row, seconds in zip(rows, tiles):  # the table has three decimals
        if row["estimate_ns"] is None:
            assert seconds != seconds, (row, seconds)
        else:
            assert f"{row['estimate_ns']:.3f}" == f"{seconds * 1e9:.3f}", (row, seconds)
    assert any(row["estimate_ns"] is not None for row in rows)


def check_symbols():
    """The library exports the functions of its header and nothing else."""
    names = run("nm", "-D", "--defined-only", LIBRARY).splitlines()
    exported = {line.split()[2] for line in names}
    assert "tilecast_simulate" in exported
    others = {name for name in exported if not name.startswith(("tilecast_", "__"))}
    assert not others, sorted(others)[:10]


for device in ("tpu_v3", "tpu_v4"):
    for model in ("analytical", "default", "roofline"):
        check_program(device, model)
check_symbols()
