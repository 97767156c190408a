"""How long a JAX function takes on a described machine.

    python -m tilecast.jax my_model:step --arg bf16[256,1024] --device tpu_v5p --device h100_sxm
    python -m tilecast.jax train.py:make_step --device ./my_gpu.yaml --scopes 2

MODULE:FUNCTION is called by JAX with --arg shapes; without --arg it is called once, with nothing,
and returns the function and the tuple of its arguments.
"""
import os
import runpy

# Nothing runs here: JAX need not look for devices. Read without importing the package, hence JAX.
_COMPILER = os.path.join(os.path.dirname(__file__), "compiler.py")
for _name, _value in runpy.run_path(_COMPILER)["ENVIRONMENT"].items():
    os.environ.setdefault(_name, _value)

import argparse  # noqa: E402
import importlib  # noqa: E402
import importlib.util  # noqa: E402
import re  # noqa: E402
import sys  # noqa: E402

import tilecast  # noqa: E402
from tilecast import _core  # noqa: E402


def _function(text):
    module, _, name = text.rpartition(":")
    if not module:
        raise tilecast.Error(f"{text}: expected MODULE:FUNCTION or FILE.py:FUNCTION")
    sys.path.insert(0, os.path.dirname(module) or os.getcwd())
    try:
        if module.endswith(".py"):
            spec = importlib.util.spec_from_file_location("program", module)
            loaded = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded)
        else:
            loaded = importlib.import_module(module)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise tilecast.Error(f"{text}: {error}") from error
    if not hasattr(loaded, name):
        raise tilecast.Error(f"{text}: {module} has no function '{name}'")
    return getattr(loaded, name)


def _shape(text):
    import jax
    import jax.numpy
    short = {"f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16",
             "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "pred": "bool"}
    found = re.fullmatch(r"(\w+)\[([\d, ]*)\]", text)
    if not found:
        raise tilecast.Error(f"--arg {text}: expected TYPE[SIZES], as bf16[256,1024]")
    name = re.sub(r"^([su])(\d+)$", lambda m: {"s": "int", "u": "uint"}[m[1]] + m[2], found[1])
    try:
        dtype = jax.numpy.dtype(short.get(name, name))
    except TypeError as error:
        raise tilecast.Error(f"--arg {text}: unknown type '{found[1]}'") from error
    return jax.ShapeDtypeStruct([int(n) for n in found[2].split(",") if n.strip()], dtype)


def _arguments():
    parser = argparse.ArgumentParser(prog="python -m tilecast.jax", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function", metavar="MODULE:FUNCTION")
    parser.add_argument("--arg", action="append", metavar="TYPE[SIZES]", help="an argument's shape")
    parser.add_argument("-d", "--device", action="append", required=True,
                        help="preset, slice of one (v6e-256) or YAML file; repeat it to compare")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="override a device value: hbm.bandwidth=9TB/s")
    parser.add_argument("--compile", choices=("auto", "xla", "own"), default="auto",
                        help="the machine's compiler, or Tilecast's own rules (default: auto)")
    parser.add_argument("--model", default="default", help="as of tilecast simulate")
    parser.add_argument("--scopes", type=int, default=0, metavar="DEPTH",
                        help="time by named scope, this many levels deep")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="also write the programs here")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS",
                        help="stop a compiler after this (default: 600)")
    return parser.parse_args()


def _row(cells):
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, (24, 12, 8, 10, 40))).rstrip()


def _show(runs, depth):
    if len(runs) == 1:
        print(str(runs[0]).rstrip())
    else:
        print(_row(("device", "time", "MFU %", "peak GiB", "compiler")))
        for run in runs:
            mfu = "-" if run.mfu is None else f"{100 * run.mfu:.1f}"
            memory = "-" if run.peak_memory is None else f"{run.peak_memory / 2**30:.3f}"
            print(_row((run.device, _core._si(run.time, "s"), mfu, memory, run.compiler)))
        for note in dict.fromkeys(note for run in runs for note in run.notes):
            print(f"note: {note}")
    for run in runs if depth > 0 else ():
        print(f"\nscope on {run.device}{'':<28}  time       share %")
        scopes = run.scopes(depth)
        for scope, time in scopes.items():
            share = 100 * time / sum(scopes.values())
            print(f"{scope:<40}  {_core._si(time, 's'):<10} {share:.1f}")


def main():
    asked = _arguments()
    try:
        from tilecast import jax as here
        function, shapes = _function(asked.function), asked.arg
        if shapes is None:
            made = function()
            if not (isinstance(made, tuple) and len(made) == 2 and callable(made[0])):
                raise tilecast.Error(f"{asked.function}: without --arg it returns (function, "
                                     f"arguments), got {type(made).__name__}")
            function, arguments = made
        else:
            arguments = [_shape(text) for text in shapes]
        devices = [tilecast.Device(name, asked.set) for name in asked.device]
        if sys.stderr.isatty():
            names = ", ".join(device.name for device in devices)
            print(f"compiling for {names} ...", file=sys.stderr)
        _show(here.simulate(function, *arguments, device=devices, compile=asked.compile,
                            model=asked.model, timeout_s=asked.timeout), asked.scopes)
        sys.stdout.flush()
        if asked.output:
            for path in here.write(function, arguments, asked.output, devices, asked.compile):
                print(f"wrote {path}", file=sys.stderr)
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (tilecast.Error, ImportError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
