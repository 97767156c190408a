"""Predicts and explains the time of a tensor program on an accelerator described in YAML.

    import tilecast
    device = tilecast.Device("tpu_v3", set={"hbm.bandwidth": "1.2TB/s"})
    program = tilecast.Program("model.hlo")
    run = tilecast.simulate(program, device)
    run.time_s, run.to_pandas()

Numbers are bit-identical to those of the command `tilecast`; times are in seconds. All functions
are thread-safe and release the GIL during computations. They raise tilecast.Error, with `file`,
`line` and `column` if the error has a place. Only to_pandas() imports pandas.
"""
from __future__ import annotations

import os as _os
import typing as _typing

_HERE = _os.path.dirname(__file__)
_DATA = _os.path.join(_HERE, "data")
if _os.path.isdir(_DATA):  # an installed package contains its presets, models and modules
    _os.environ.setdefault("TILECAST_DEVICES", _os.path.join(_DATA, "devices"))
    _os.environ.setdefault("TILECAST_MODELS", _os.path.join(_DATA, "models"))
    _os.environ.setdefault("TILECAST_MODULES", _DATA)
else:  # a build tree
    _os.environ.setdefault("TILECAST_MODULES", _os.path.join(_HERE, "modules"))

from . import _tilecast as _core  # noqa: E402: reads the environment
from . import results as _results  # noqa: E402
from ._tilecast import Error, devices  # noqa: E402
from .results import (Calibration, Comparison, Evaluation, Explanation, Simulation, Table,  # noqa: E402
                      Training, Tuning)
from .results import Command as _Command  # noqa: E402
from .studies import replace_file as _replace_file  # noqa: E402
from .studies import sweep  # noqa: E402

if _typing.TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

    import numpy
    import numpy.typing
    import pandas

    _Path = Union[str, _os.PathLike[str]]
    _Paths = Union[_Path, Iterable[_Path]]
    _Names = Union[str, Iterable[str]]
    _ADevice = Union["Device", _Path]
    _AModel = Union["Model", _Path]
    _AProgram = Union["Program", _Path]
    _Columns = Union[Mapping[str, Sequence[Any]], pandas.DataFrame]
    _Integers = Optional[numpy.typing.ArrayLike]

__all__ = ["Calibration", "Comparison", "Device", "Error", "Evaluation", "Explanation", "Model", "Program",
           "Simulation", "Table", "Training", "Tuning", "calibrate", "compare", "devices", "evaluate", "explain",
           "list_tiles", "ops", "simulate", "sweep", "tile_table", "tiles", "train", "tune"]


class Device:
    """A machine: a preset's name or a YAML file, with overrides as for `--set`.

    set: {"hbm.bandwidth": "1.2TB/s"} or ["hbm.bandwidth=1.2TB/s"].
    """

    def __init__(self, name_or_path: _Path, set: Union[Mapping[str, str], Iterable[str]] = ()):
        self._changes = [f"{k}={v}" for k, v in set.items()] if hasattr(set, "items") else list(set)
        self._source = _os.fspath(name_or_path)
        self._core = _core._Device(self._source, self._changes)

    @property
    def name(self) -> str:
        return self._core.name

    def yaml(self) -> str:
        """The complete description, every value with its unit."""
        return self._core.yaml()

    def __repr__(self):
        return f"tilecast.Device({self.name!r})"


class Program:
    """A program in any format that the command reads; it is fused if not optimised yet.

    fuse=False: do not fuse; trip_count: iterations of loops with an unknown count.
    """

    def __init__(self, path: _Path, fuse: bool = True, trip_count: float = 5.0):
        self._core = _core._Program(_os.fspath(path), fuse, trip_count)

    @classmethod
    def from_text(cls, text: Union[str, bytes], name: str = "text", fuse: bool = True,
                  trip_count: float = 5.0) -> Program:
        """Reads a program from text or bytes; `name` replaces the file name in messages."""
        program = cls.__new__(cls)
        program._core = _core._Program.from_text(text, name, fuse, trip_count)
        return program

    @property
    def file(self) -> str:
        return self._core.file

    def kernels(self, device: _ADevice) -> List[str]:
        """Names of the program's kernels on the device."""
        return self._core.kernels(_device(device)._core)

    def __repr__(self):
        return f"tilecast.Program({self.file!r})"


_models: Dict[tuple, Any] = {}  # read once, by name and description


class Model:
    """A model for one device, named as for `--model`: "analytical", "hybrid", a folder ... Read again only when the
    device or the folder changed."""

    def __init__(self, name: _Path, device: _ADevice):
        device, name = _device(device), _os.fspath(name)
        files = [file.stat().st_mtime_ns for file in _os.scandir(name)] if _os.path.isdir(name) else []
        key = (name, tuple(files), device._source, device.yaml())
        if key not in _models:
            _models[key] = _core._Model(name, device._core)
        self._core = _models[key]

    @property
    def name(self) -> str:
        return self._core.name

    def __repr__(self):
        return f"tilecast.Model({self.name!r})"


def _device(device: _ADevice) -> Device:
    return device if isinstance(device, Device) else Device(device)


def _program(program: _AProgram) -> Program:
    return program if isinstance(program, Program) else Program(program)


def _asked(program, device, model):
    """Converts the arguments to objects of the compiled module; accepts names and paths."""
    device = _device(device)
    model = model if isinstance(model, Model) else Model(model, device)
    return (None if program is None else _program(program)._core), device._core, model._core


def simulate(program: _AProgram, device: _ADevice, model: _AModel = "default",
             skip_unknown: bool = False) -> Simulation:
    """Predicts the program's time on the device. Returns a Simulation."""
    return Simulation(_core._simulate(*_asked(program, device, model), skip_unknown))


def explain(program: _AProgram, device: _ADevice, kernel: str = "", tile: str = "", top: int = 10,
            model: _AModel = "default") -> Explanation:
    """Explains one kernel's time; `tile` is text ("out=64x4 kernel=256x1")."""
    return Explanation(_core._explain(*_asked(program, device, model), kernel, tile, top))


# The names of tile parts in tiles() and list_tiles().
_TILE_PARTS = {"kernel_tile" if name == "kernel" else name: name for name, _ in _core._tile_parts}


@_typing.overload
def tiles(  # type: ignore[overload-overlap]
          program: _AProgram, device: _ADevice, table: Union[_Path, _Columns, None] = None, *, kernel: str = "",
          listing: str = "ladder", most: Optional[int] = None, model: _AModel = "default") -> Table: ...


@_typing.overload
def tiles(program: _AProgram, device: _ADevice, *, kernel: str = "", model: _AModel = "default",
          **parts: _Integers) -> numpy.ndarray: ...


def tiles(  # type: ignore[misc]
          program: _AProgram, device: _ADevice, table: Any = None, kernel: str = "", listing: str = "ladder",
          most: Optional[int] = None, model: _AModel = "default", **parts: Any) -> Any:
    """Times of tiles of one kernel: a Table as of `tilecast tiles`, or with arrays their seconds in one call.

    table: a CSV file, a dict of columns or a pandas.DataFrame of tiles; without it, the fastest `most` (10) of the
    listed tiles. With a table, `most` keeps the fastest; None keeps all rows.
    Arrays: output, kernel_tile, input, threads, vector, order: integers (tiles, dimensions); stages, warps, direct,
    unroll: (tiles,). Sizes are physical, most major dimension first; the two minor ones count native tiles. Rows of
    zeros and missing parts leave the choice open. NaN if a tile cannot run.
    """
    for name in parts.keys() - _TILE_PARTS.keys():
        raise TypeError(f"tiles() got an unexpected argument {name!r}")
    asked = _asked(program, device, model)
    if parts:
        arrays = {_TILE_PARTS[name]: part for name, part in parts.items() if part is not None}
        return _core._tiles(*asked, kernel, arrays)
    given = None if table is None else _table(table)
    return Table(_core._tile_table(*asked, kernel, given, listing, most))


tile_table = tiles


def list_tiles(program: _AProgram, device: _ADevice, kernel: str = "", listing: str = "ladder",
               limit: int = 4096) -> Dict[str, Optional[numpy.ndarray]]:
    """Tiles of one kernel that can run, as arrays for tiles(); None: no tile has that part."""
    found = _core._list_tiles(_program(program)._core, _device(device)._core, kernel, listing,
                              limit)
    return {name: found[part] for name, part in _TILE_PARTS.items()}


def _table(table):
    """Columns from a CSV file, a dict of columns or a pandas.DataFrame."""
    if isinstance(table, (str, _os.PathLike)):
        return _core._Table(_os.fspath(table))
    return _core._Table([(str(name), [_results.text_of(cell) for cell in cells])
                         for name, cells in table.items()])


def _list(one_or_more):
    """A list; a single name, path or object becomes a list of one."""
    alone = isinstance(one_or_more, (str, _os.PathLike, Device))
    return [one_or_more] if alone else list(one_or_more)


def _paths(one_or_more):
    return [_os.fspath(path) for path in _list(one_or_more)]


def _options(**options):
    """{"most_tiles": 5, "set": ["a=b"], "doubted": True} as the command's options; nothing for what is not said."""
    for name, value in options.items():
        for one in [value] if isinstance(value, (bool, int, float)) else _list(value or ()):
            if one is not False:
                yield f"--{name.rstrip('_').replace('_', '-')}"
                yield from [] if one is True else [_os.fspath(one) if isinstance(one, _os.PathLike) else str(one)]


def _named(devices):
    """Devices as the command names them."""
    devices = [_device(device) for device in _list(devices)]
    changes = [device._changes for device in devices]
    if any(change != changes[0] for change in changes):
        raise Error("devices: got different changes (set=), expected the same of all")
    return [*_options(device=[device._source for device in devices], set=changes[0] if changes else ())]


def evaluate(sets: _Paths, devices: Union[_ADevice, Iterable[_ADevice]], models: _Paths = (),
             by: _Names = ("class",), doubted: bool = False, draws: int = 1000, seed: int = 1,
             jobs: int = 1) -> Evaluation:
    """The errors of models on measurements, as `tilecast evaluate`. Returns an Evaluation.

    sets: folders of measurements; devices: one or more; models: names as for `--model` or folders,
    default: roofline, analytical and default; by: additional tables (class, size, split, family,
    kernel); doubted=True also scores rows that only physics doubts; draws, seed: resampling for
    the intervals.
    """
    return Evaluation(_Command("evaluate", *_named(devices), *_paths(sets), *_options(
        model=models, by=by, doubted=doubted, draws=draws, seed=seed, jobs=jobs)))


def calibrate(sets: _Paths, device: _ADevice, output: Optional[_Path] = None, name: str = "",
              classes: _Names = (), kernels: _Names = (), fix: _Names = (), rows: int = 200,
              other_machine: bool = False, accept_suspicious: bool = False,
              then_train: Optional[_Path] = None, force: bool = False,
              jobs: int = 1) -> Calibration:
    """Fits a device's constants to measurements, as `tilecast calibrate`. Returns a Calibration.

    output: the description (YAML), written if the fit is accepted and then in `Calibration.file`;
    classes, kernels: use only their rows; fix: constants to keep; rows: maximum number fitted;
    then_train: folder of a hybrid to fit as well, force=True replaces an existing one.
    """
    if output is not None and _device(device)._changes:
        raise Error("calibrate: the device was changed with set=; a description that extends "
                    "its file would lose the changes: write Device.yaml() to a file first")
    asked = ["calibrate", *_named(device), *_paths(sets), *_options(
        fix=fix, rows=rows, other_machine=other_machine, accept_suspicious=accept_suspicious, jobs=jobs,
        **{"class": classes, "kernel": kernels})]
    writes = _options(output=output, name=name, then_train=then_train, force=force)
    return Calibration(_Command(*asked, *writes), None if output is None else _os.fspath(output), _Command(*asked))


def train(experiment: _Path, out: _Path, learner: str = "", data: _Path = "", force: bool = False,
          resume: bool = False, jobs: int = 1) -> Training:
    """Trains a learner or fits a hybrid of an experiment (YAML), as `tilecast train`, and writes
    the folder `out`. Returns a Training; `Model(out, device)` is the model.

    data: folder of third-party data; resume: continue from OUT.checkpoint (networks).
    """
    return Training(_Command("train", _os.fspath(experiment), *_options(
        out=out, learner=learner, data=data, force=force, resume=resume, jobs=jobs)), _os.fspath(out))


def compare(inputs: _Paths, devices: Union[_ADevice, Iterable[_ADevice]] = (), **options: Any) -> Comparison:
    """Compares programs, sets of measurements or a profile on devices, as `tilecast compare`. Returns a Comparison.

    options: those of the command, "-" as "_": model=["roofline", "default"], measured="set", set="clock=2GHz".
    """
    return Comparison(_Command("compare", *_paths(inputs), *_named(devices), *_options(**options)))


def tune(program: _Path, device: _ADevice, what: str = "program", **options: Any) -> Tuning:
    """Searches fast configurations, as `tilecast tune WHAT`: "program" (tiles of all kernels), "fusion" or "tiles" (of
    one kernel). Returns a Tuning.

    options: those of the command, "-" as "_": costs=1000, hardware="host", output="chosen.csv"; from_="set".
    """
    return Tuning(_Command("tune", what, _os.fspath(program), *_named(device), *_options(**options)))


def ops(table: Union[_Path, _Columns], device: _ADevice, model: _AModel = "default",
        repeated: bool = False, keep_going: bool = False) -> Table:
    """Times of single operators: a CSV file, a dict of columns or a pandas.DataFrame.

    Columns in and out are those of `tilecast ops`. Returns a Table.
    """
    return Table(_core._ops(_table(table), *_asked(None, device, model)[1:], repeated, keep_going))
