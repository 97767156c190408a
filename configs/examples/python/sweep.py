"""A study of machines and its Pareto front, time against area: sweep.py OUT.png"""
import pathlib
import sys

import plots
import tilecast

STUDY = plots.ROOT / "configs/examples/next_tpu.yaml"

rows = tilecast.sweep(STUDY)
front = tilecast.sweep(STUDY, front=True)  # by the objectives of the study
programs = sorted(set(rows["program"]))

figure, axes = plots.figure()
for program in programs:
    def points(table):
        """Area and time in ms of the feasible rows of this program."""
        kept = [(area, time * 1e3) for area, time, name, feasible in zip(
            table["area"], table["time_s"], table["program"], table["feasible"])
            if name == program and feasible]
        return zip(*sorted(kept))
    dots = axes.scatter(*points(rows), s=12, alpha=0.5)
    areas, times = points(front)
    axes.step(areas, times, where="post", marker="o", color=dots.get_facecolor()[0][:3],
              label=pathlib.Path(program).name)
    print(f"{pathlib.Path(program).name}: {len(areas)} of the front, {times[0]:.3f} ms at {areas[0]:.0f} mm2, "
          f"{times[-1]:.3f} ms at {areas[-1]:.0f} mm2")
axes.set(xlabel="area, mm2 (made up)", ylabel="time, ms", ylim=(0, None),
         title="successors of a TPU v5e: who is on the front")
axes.legend()
plots.save(figure, sys.argv)
