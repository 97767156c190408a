"""The times of every tile of a matrix product, from best to worst: tiles.py OUT.png"""
import sys

import numpy
import plots
import tilecast

PRODUCT = tilecast.Program(plots.ROOT / "configs/examples/product.hlo")

figure, axes = plots.figure()
for name in ("tpu_v2", "tpu_v3", "tpu_v4"):
    listed = tilecast.list_tiles(PRODUCT, name)
    times = tilecast.tiles(PRODUCT, name, output=listed["output"],
                           kernel_tile=listed["kernel_tile"])
    best = int(numpy.nanargmin(times))
    print(f"{name}: {len(times)} tiles, best {times[best] * 1e6:.1f} us with "
          f"output {listed['output'][best]} kernel {listed['kernel_tile'][best]}")
    axes.plot(numpy.linspace(0, 100, len(times)), numpy.sort(times) / numpy.nanmin(times),
              label=name)
axes.set(xlabel="tiles, %", ylabel="time / that of the best tile", yscale="log",
         title="what a good tile is worth")
axes.legend()
plots.save(figure, sys.argv)
