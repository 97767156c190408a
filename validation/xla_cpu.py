#!/usr/bin/env python3
"""Times real JAX programs under XLA:CPU on one core of this machine and writes a measurement set.

    nice -n -10 xla_cpu.py FOLDER [--core 1] [--only NAME,...] [--seconds 20] [--profile]

For each program FOLDER gets programs/NAME.hlo (what XLA:CPU made of it), stablehlo/NAME.mlir (what JAX
gave) and a row of measurements.csv. Programs that FOLDER has already are passed over, but for those
whose times did not agree. --profile adds profiles/NAME.xplane.pb, for `tilecast import xplane`.
Needs jax (tried with 0.10.2).

How a time is got: arguments and results stay in the caches as they come, arrays stay mapped. A median
is of the calls of 0.2 s; the least median counts, once the three least lie within 5 %, or after
--seconds. spread_ns is how far these three lie apart, dispatch_ns the time of a call that computes
nothing, got in the same way just before.
"""
import argparse
import csv
import functools
import os
import pathlib
import statistics
import sys
import time

FLAGS = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
COLUMNS = ["program", "runtime_ns", "dispatch_ns", "class", "family", "repeats", "spread_ns"]
CELL_S, AGREE = 0.2, 0.05


def prepare():
    """One core, one thread, and a heap that keeps its pages: set before jax starts."""
    wanted = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": FLAGS, "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
              "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 28)}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})


def median_call_s(call):
    """Seconds of a call, and how many calls there were. Not those when other processes had the core."""
    times, start = [], time.perf_counter()
    while time.perf_counter() - start < CELL_S or len(times) < 3:
        before = time.process_time()
        call()
        times.append(time.process_time() - before)
    return statistics.median(times), len(times)


def least_median(call, limit_s):
    """(seconds, spread in seconds, calls) of the three least medians."""
    medians, calls, start = [], 0, time.perf_counter()
    while True:
        median, count = median_call_s(call)
        medians, calls = sorted([*medians, median])[:3], calls + count
        spread = medians[-1] - medians[0]
        agreed = len(medians) == 3 and spread < AGREE * medians[0]
        if agreed or time.perf_counter() - start > limit_s:
            return medians[0], spread, calls


def caller(jax, compiled, arguments):
    return lambda: jax.block_until_ready(compiled(*arguments))


def measure(jax, name, program, folder, options):
    """The row of a program; writes its files."""
    function, arguments = program
    named = functools.partial(function)
    named.__name__ = name.replace("-", "_")  # that of the module, by which profiles are joined
    lowered = jax.jit(named).lower(*arguments)
    compiled = lowered.compile()
    for part, text in [("programs/%s.hlo" % name, compiled.as_text()),
                       ("stablehlo/%s.mlir" % name, lowered.as_text())]:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        (folder / part).write_text(text, encoding="utf-8")
    nothing = jax.jit(lambda: jax.numpy.zeros(())).lower().compile()
    dispatch_s, _, _ = least_median(caller(jax, nothing, ()), 2)
    call = caller(jax, compiled, arguments)
    runtime_s, spread_s, calls = least_median(call, options.seconds)
    if options.profile:
        profile(jax, call, folder / "profiles", name)
    nanoseconds = ["%.0f" % (1e9 * value) for value in (runtime_s, dispatch_s, spread_s)]
    return dict(zip(COLUMNS, ["programs/%s.hlo" % name, *nanoseconds[:2], "program", name.split("-")[0],
                              calls, nanoseconds[2]], strict=True))


def profile(jax, call, folder, name):
    folder.mkdir(exist_ok=True)
    log = folder / (name + ".log")
    with jax.profiler.trace(str(log)):
        for _ in range(20):
            call()
    next(log.rglob("*.xplane.pb")).rename(folder / (name + ".xplane.pb"))


def read_rows(path):
    if not path.exists():
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {row["program"]: row for row in csv.DictReader(file)}


def write_rows(path, rows):
    fresh = path.with_suffix(".new")
    with open(fresh, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows[name] for name in sorted(rows))
    fresh.rename(path)


def write_manifest(jax, folder):
    models = [line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]
    processor = models[0] if models else "a processor without a name"
    how = ("calls on one pinned core, caches as the call before left them; least of the medians of "
           f"{CELL_S} s, the three least within {AGREE:.0%} (spread_ns); dispatch_ns: a call that computes nothing")
    (folder / "manifest.yaml").write_text(f"""format: tilecast.measurements/1
name: "{folder.name}"
description: "JAX programs under XLA:CPU, one thread"
device: "host.yaml"
source: "validation/xla_cpu.py on {processor}, {time.strftime('%Y-%m-%d')}; jax {jax.__version__}; {FLAGS}"
licence: "Apache-2.0"
timing: "host"
how_timed: "{how}"
""", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--only", type=lambda names: set(names.split(",")))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    prepare()
    os.sched_setaffinity(0, {options.core})
    import jax
    jax.config.update("jax_traceback_in_locations_limit", 0)  # no paths of this machine in the files
    import xla_cpu_programs
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    write_manifest(jax, folder)
    rows = read_rows(folder / "measurements.csv")
    for name, program in xla_cpu_programs.programs().items():
        row = rows.get("programs/%s.hlo" % name)
        if options.only and name not in options.only:
            continue
        if row and float(row["spread_ns"]) < AGREE * float(row["runtime_ns"]):
            continue
        fresh = measure(jax, name, program(), folder, options)
        if not row or float(fresh["runtime_ns"]) <= float(row["runtime_ns"]):
            rows[fresh["program"]] = fresh
        write_rows(folder / "measurements.csv", rows)
        print("%-24s %12s ns, spread %5.1f %%" % (name, fresh["runtime_ns"], 100 * float(fresh["spread_ns"])
                                                 / float(fresh["runtime_ns"])), flush=True)


if __name__ == "__main__":
    main()
