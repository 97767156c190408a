"""From a JAX function to its time on a machine that need not be there.

    import tilecast.jax
    run = tilecast.jax.simulate(step, params, batch, device="tpu_v5p")
    run.time, run.mfu, run.peak_memory, run.compiler
    run.kernels, run.by_scope()

The production compiler fuses for the described machine (`pip install 'tilecast[tpu]'` or
`'tilecast[cuda]'` brings it, no accelerator is needed); without one Tilecast fuses by its own rules
and says so. Arguments are arrays or jax.ShapeDtypeStruct; for several devices give them a
NamedSharding over a jax.sharding.AbstractMesh.
"""
from __future__ import annotations

import hashlib as _hashlib
import json as _json
import os as _os
import re as _re
import signal as _signal
import subprocess as _subprocess
import sys as _sys
import tempfile as _tempfile
import time as _time
import typing as _typing

import tilecast as _tilecast
from tilecast import cache as _cache

try:
    import jax as _jax
except ImportError as error:
    raise ImportError("tilecast.jax needs JAX: pip install 'tilecast[tpu]' (XLA for TPUs), "
                      "'tilecast[cuda]' (for NVIDIA GPUs) or jax alone") from error

from . import compiler as _compiler

if _typing.TYPE_CHECKING:
    from typing import Any, Callable, List, Sequence, Union

__all__ = ["Compiled", "Run", "compile", "simulate", "write"]

_EXTRA = {"tpu": "tilecast[tpu]", "cuda": "tilecast[cuda]"}
_NO_TRITON = "--xla_gpu_enable_triton_gemm=false"


class Compiled:
    """A program as a compiler left it. text: HLO, or StableHLO where `compiler` is ''; platform:
    "tpu", "cuda", "cpu" or ''; counts: the compiler's own, of one device: peak_memory_bytes, and where
    it has them flops and optimal_seconds (each loop's body once)."""

    def __init__(self, name, text, platform, compiler="", counts=(), notes=()):
        self.name, self.text, self.platform, self.compiler = name, text, platform, compiler
        self.counts, self.notes = dict(counts), list(notes)

    @property
    def by(self) -> str:
        """What made the kernels, in words."""
        if not self.compiler:
            return "Tilecast's own rules"
        return f"XLA:{ {'tpu': 'TPU', 'cuda': 'GPU', 'cpu': 'CPU'}[self.platform]} of {self.compiler}"


class Run(_tilecast.Simulation):
    """A tilecast.Simulation of a JAX function, with the `compiled` program it is of."""

    def __init__(self, core, compiled: Compiled):
        super().__init__(core)
        self.compiled = compiled

    @property
    def compiler(self) -> str:
        """What made the kernels."""
        return self.compiled.by

    @property
    def notes(self) -> List[str]:
        return self.compiled.notes + super().notes

    def __str__(self):
        lines = [f"compiler  {self.compiler}"] + [f"note: {note}" for note in self.compiled.notes]
        return "\n".join(lines) + "\n" + super().__str__()


def simulate(fn: Callable, *args: Any, device: Any = None, slice: Any = None,
             compile: str = "auto", model: Any = "default", flags: Sequence[str] = (),
             timeout_s: float = 600.0, skip_unknown: bool = False) -> Union[Run, List[Run]]:
    """Predicts one call of `fn` (a function, or what jax.jit made of one) on the device.

    device: a preset, a YAML file or a tilecast.Device; a list of them gives a list of Runs.
    slice: in its place a slice by name, "v6e-256" or "h100x64", for functions that are sharded over
    a mesh of as many chips; times are of one of them, with the network between them.
    compile: "xla": the machine's compiler; "own": Tilecast's rules; "auto": "xla" where installed.
    flags: XLA_FLAGS for the compiler; timeout_s: after it a compiler is stopped.
    Raises tilecast.Error, also with what a compiler says of a program that does not fit.
    """
    if (device is None) == (slice is None):
        raise _tilecast.Error("simulate: say one of device= and slice=")
    device = slice if device is None else device
    lowering, runs = _Lowering(fn, args), []
    for one in map(_tilecast._device, _tilecast._list(device)):
        compiled = _compile_for(lowering, one, compile, flags, timeout_s)
        program = _tilecast.Program.from_text(compiled.text, compiled.name)
        core = _tilecast._core._simulate(*_tilecast._asked(program, one, model), skip_unknown)
        runs.append(Run(core, compiled))
    return runs if isinstance(device, (list, tuple)) else runs[0]


def compile(fn: Callable, *args: Any, device: Any, compile: str = "auto",
            flags: Sequence[str] = (), timeout_s: float = 600.0) -> Compiled:
    """The program that simulate() would price."""
    return _compile_for(_Lowering(fn, args), _tilecast._device(device), compile, flags, timeout_s)


def write(fn: Callable, args: Sequence[Any], folder: _tilecast._Path, device: Any = (),
          compile: str = "auto") -> List[str]:
    """Writes the files that `tilecast simulate` reads: NAME.mlir, and NAME.DEVICE.hlo for each
    device. Returns their paths."""
    _os.makedirs(folder, exist_ok=True)
    lowering = _Lowering(fn, args)
    name, texts = lowering.name, {"mlir": lowering.text("cpu")}
    for one in map(_tilecast._device, _tilecast._list(device)):
        made = _compile_for(lowering, one, compile, (), 600.0)
        texts[f"{one.name}.{'hlo' if made.compiler else 'mlir'}"] = made.text
    paths = []
    for ending, text in texts.items():
        paths.append(_os.path.join(folder, f"{name}.{ending}"))
        _tilecast._replace_file(paths[-1], text)
    return paths


def _platform(device):
    """What JAX lowers for; XLA compiles for it if _target() knows how."""
    target = device._core.xla_target
    by_execution = {"scratchpad": "tpu", "simt": "cuda" if target.startswith("sm_") else "rocm",
                    "cache": "cpu"}
    return by_execution[device._core.execution]


def _target(device, platform):
    return device._core.xla_gpu_target() if platform == "cuda" else device._core.xla_target


class _Lowering:
    """A function as StableHLO, lowered once for each platform."""

    def __init__(self, fn, args):
        self._fn, self._args, self._texts = fn, args, {}
        self.name = _re.sub(r"\W+", "_", getattr(fn, "__name__", "function"))

    def text(self, platform):
        """With the framework's names of the operations."""
        if platform not in self._texts:
            jitted = self._fn if hasattr(self._fn, "trace") else _jax.jit(self._fn)
            try:
                lowered = jitted.trace(*self._args).lower(lowering_platforms=(platform,))
            except ValueError as error:
                if "ShapeDtypeStruct" in str(error) or "valid JAX type" in str(error):
                    raise _tilecast.Error(f"{error} (hint: arguments are arrays or "
                                          "jax.ShapeDtypeStruct(shape, dtype))") from error
                raise
            self._texts[platform] = lowered.as_text(debug_info=True)
        return self._texts[platform]


def _compile_for(lowering, device, compile, flags, timeout_s):
    if compile not in ("auto", "xla", "own"):
        raise _tilecast.Error(f"compile: got {compile!r}, expected 'auto', 'xla' or 'own'")
    platform = _platform(device)
    name, text = lowering.name, lowering.text(platform)
    why = _cannot_compile(device, platform)
    if compile == "own" or (why and compile == "auto"):
        return Compiled(name, text, "", notes=[] if compile == "own" else [why])
    if why:
        raise _tilecast.Error(f"{device.name}: {why}")
    count = int((_re.search(r"mhlo\.num_partitions = (\d+)", text) or [0, 1])[1])
    request = {"platform": platform, "target": _target(device, platform), "devices": count}
    notes = []
    try:
        hlo, answer = _cached(text, request, list(flags), timeout_s)
    except _tilecast.Error as error:
        # XLA without a GPU cannot autotune rows that are not a multiple of 16.
        if platform != "cuda" or "Couldn't find output tile sizes" not in str(error):
            raise
        hlo, answer = _cached(text, request, [*flags, _NO_TRITON], timeout_s)
        notes.append(f"compiled with {_NO_TRITON}: Triton's products found no tile")
    return Compiled(name, hlo, platform, answer["compiler"], answer["counts"], notes)


def _cannot_compile(device, platform):
    """'' if XLA can compile for the device here, else the reason."""
    target = device._core.xla_target
    if platform == "rocm" or (platform != "cpu" and not target):
        return (f"no compiler for {device.name} (`xla_target: {target or '(none)'}`): fused by "
                "Tilecast's own rules")
    installed = _compiler.compiler_of(platform)
    if installed.startswith("jax-cuda13") and int(_re.sub(r"\D", "", target) or 0) < 75:
        return (f"CUDA 13 does not compile for {target}, the target of {device.name}: fused by "
                "Tilecast's own rules")
    if not installed:
        return (f"the compiler for {device.name} is not installed (pip install "
                f"'{_EXTRA[platform]}'): fused by Tilecast's own rules")
    return ""


def _cached(text, request, flags, timeout_s):
    """HLO and the compiler's answer, by content: from the cache folder if they are there."""
    asked = _json.dumps([request, flags, _compiler.compiler_of(request["platform"]),
                         _jax.__version__], sort_keys=True)
    key = _hashlib.sha256((asked + text).encode()).hexdigest() + ".json"
    try:
        held = _json.loads(_cache.get("xla", key))
        return held["hlo"], held["answer"]
    except (ValueError, KeyError):
        pass
    hlo, answer = _run_compiler(text, request, flags, timeout_s)
    _cache.put("xla", key, _json.dumps({"hlo": hlo, "answer": answer}))
    return hlo, answer


def _run_compiler(text, request, flags, timeout_s):
    with _tempfile.TemporaryDirectory() as folder:
        paths = {part: _os.path.join(folder, part) for part in ("module", "hlo", "answer")}
        _tilecast._replace_file(paths["module"], text)
        asked = _os.path.join(folder, "request")
        _tilecast._replace_file(asked, _json.dumps({**request, **paths}))
        environment = dict(_os.environ)
        environment["XLA_FLAGS"] = " ".join([environment.get("XLA_FLAGS", ""), *flags]).strip()
        started = _time.monotonic()
        run = _subprocess.Popen([_sys.executable, _compiler.__file__, asked], env=environment,
                                stdout=_subprocess.DEVNULL, stderr=_subprocess.PIPE, text=True,
                                errors="replace", start_new_session=True)
        try:
            _, said = run.communicate(timeout=timeout_s)
        except BaseException as error:  # also Ctrl-C: the compiler does not outlive the call
            _os.killpg(run.pid, _signal.SIGKILL)
            run.communicate()
            if isinstance(error, _subprocess.TimeoutExpired):
                raise _tilecast.Error(f"compiling for {request['platform']} was stopped after "
                                      f"{timeout_s:g} s (timeout_s= allows more; compile='own' "
                                      "needs no compiler)") from None
            raise
        if run.returncode != 0 or not _os.path.exists(paths["answer"]):
            raise _tilecast.Error(f"compiling for {request['platform']} failed after "
                                  f"{_time.monotonic() - started:.1f} s: {_reason(said)}")
        with open(paths["hlo"], encoding="utf-8") as file:
            hlo = file.read()
        with open(paths["answer"], encoding="utf-8") as file:
            return hlo, _json.load(file)


def _reason(said):
    """The line of a compiler's last words that tells most."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if _re.match(r"[\w.]*(Error|Exception)\b", line)
              and "ALREADY_EXISTS" not in line]
    at = lines.index(errors[-1]) if errors else max(len(lines) - 1, 0)
    return " ".join(lines[at:at + 2]) or "it said nothing"
