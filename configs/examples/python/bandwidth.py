"""How a program's time falls with memory bandwidth, and where it stops: bandwidth.py OUT.png"""
import sys

import plots
import tilecast

PROGRAM = tilecast.Program(plots.ROOT / "configs/programs/transformer_block_train.hlo")
BANDWIDTHS = [225, 450, 900, 1350, 1800, 2700, 3600]  # GB/s

times = []
for bandwidth in BANDWIDTHS:
    device = tilecast.Device("tpu_v3", set={"hbm.bandwidth": f"{bandwidth} GB/s"})
    times.append(tilecast.simulate(PROGRAM, device, model="analytical").time_s * 1e3)
    print(f"{bandwidth:6d} GB/s  {times[-1]:7.3f} ms")

figure, axes = plots.figure()
axes.plot(BANDWIDTHS, times, marker="o")
axes.set(xlabel="HBM bandwidth, GB/s", ylabel="time, ms", ylim=(0, None),
         title="a training step of a transformer block on a TPU v3 core")
plots.save(figure, sys.argv)
