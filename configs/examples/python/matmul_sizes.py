"""How much of a machine a square product reaches, by size: matmul_sizes.py OUT.png"""
import sys

import plots
import tilecast

SIZES = list(range(128, 4097, 128))
TABLE = {"op": ["matmul"] * len(SIZES), "dtype": ["bf16"] * len(SIZES),
         "m": SIZES, "n": SIZES, "k": SIZES}

figure, axes = plots.figure()
for name in ("tpu_v3", "a100_sxm_40gb", "h100_sxm"):
    answered = tilecast.ops(TABLE, name)
    rate = [2 * size**3 / (ns * 1e-9) / 1e12 for size, ns in zip(SIZES, answered["estimate_ns"])]
    print(f"{name}: {rate[0]:.1f} TFLOP/s at {SIZES[0]}, {rate[-1]:.1f} at {SIZES[-1]}")
    axes.plot(SIZES, rate, label=name)
axes.set(xlabel="size of m, n and k", ylabel="TFLOP/s", title="bf16 matrix products")
axes.legend()
plots.save(figure, sys.argv)
