"""One program on every preset, with 90 % intervals where there are some: devices.py OUT.png"""
import sys

import plots
import tilecast

PROGRAM = tilecast.Program(plots.ROOT / "configs/programs/mlp_train.hlo")

runs = sorted((tilecast.simulate(PROGRAM, name, skip_unknown=True) for name in tilecast.devices()),
              key=lambda run: run.time_s)
figure, axes = plots.figure()
for place, run in enumerate(runs):
    low, high = run.interval_s or (run.time_s, run.time_s)
    print(f"{run.device:20s} {run.time_s * 1e6:10.1f} us  [{low * 1e6:.1f}, {high * 1e6:.1f}]")
    axes.plot([low * 1e6, high * 1e6], [place, place], color="C0")
    axes.plot(run.time_s * 1e6, place, "o", color="C0")
axes.set(xscale="log", xlabel="time, us", title="a training step of an MLP")
axes.set_yticks(range(len(runs)), [run.device for run in runs], fontsize=7)
plots.save(figure, sys.argv)
