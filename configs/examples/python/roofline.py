"""The rates of a program's kernels by their FLOPs per byte: roofline.py OUT.png"""
import sys

import numpy
import plots
import tilecast

run = tilecast.simulate(plots.ROOT / "configs/programs/transformer_block_train.hlo", "tpu_v3",
                        model="analytical")
kernels = run.columns()
moved = kernels["hbm_read_bytes"] + kernels["hbm_write_bytes"]
shown = (kernels["flops"] > 0) & (moved > 0) & (kernels["time_s"] > 0)
intensity = kernels["flops"][shown] / moved[shown]
rate = kernels["flops"][shown] / kernels["time_s"][shown]
for name, x, y in zip(numpy.array(kernels["name"])[shown], intensity, rate):
    print(f"{name:40s} {x:9.2f} FLOP/B  {y / 1e12:8.3f} TFLOP/s")

figure, axes = plots.figure()
axes.scatter(intensity, rate / 1e12, s=2e6 * kernels["total_s"][shown] / 100)
axes.set(xscale="log", yscale="log", xlabel="FLOPs per byte of HBM traffic", ylabel="TFLOP/s",
         title="kernels of a transformer block on a TPU v3 core; area: time")
plots.save(figure, sys.argv)
