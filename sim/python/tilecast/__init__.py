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

import functools as _functools
import itertools as _itertools
import json as _json
import math as _math
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
from ._tilecast import Error, devices  # noqa: E402

if _typing.TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

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
        changes = [f"{k}={v}" for k, v in set.items()] if hasattr(set, "items") else list(set)
        self._core = _core._Device(_os.fspath(name_or_path), changes)
        self._source, self._changed = _os.fspath(name_or_path), bool(changes)

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


_SHOWN_ROWS, _SHOWN_WIDTH = 20, 160  # of a table, by repr() and in a notebook


class Table:
    """Rows with named columns: `table["estimate_ns"]` is a NumPy array if all its values are numbers; iteration
    gives a dict per row; to_pandas() the whole."""

    def __init__(self, columns):
        self._columns = {name: _numbers(cells) for name, cells in dict(columns).items()}

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Table:
        """From dicts; the parts of nested ones are columns with a '.', missing cells are empty."""
        rows = [_flat(row) for row in rows]
        names = dict.fromkeys(name for row in rows for name in row)
        return cls({name: [row.get(name) for row in rows] for name in names})

    @property
    def names(self) -> List[str]:
        return list(self._columns)

    def __len__(self):
        return len(next(iter(self._columns.values()), []))

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return (dict(zip(self._columns, row)) for row in zip(*self._columns.values()))

    def __getitem__(self, name: str) -> Union[numpy.ndarray, List[str]]:
        return _column(self._columns[name])

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas.DataFrame; pandas is imported here and not before."""
        return _pandas().DataFrame({name: self[name] for name in self.names})

    to_frame = to_pandas

    def to_csv(self) -> str:
        """Text with the header in the first line."""
        import csv
        import io
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(self.names)
        rows.writerows([_text(cell) for cell in row.values()] for row in self)
        return text.getvalue()

    def _shown(self, most=_SHOWN_ROWS):
        """Names and cells as people read them, with SI prefixes; columns without a value are left out."""
        heads, columns = [], []
        for name, cells in self._columns.items():
            unit = next((unit for unit in _UNITS if name.endswith(unit)), "")
            shown = [_shown_cell(cell, unit) for cell in cells[:most]]
            if any(shown) or not cells:
                heads.append(name[:len(name) - len(unit)])
                columns.append(shown)
        return heads, [list(row) for row in zip(*columns)]

    def __str__(self):
        return self._text(*self._shown(None))

    def __repr__(self):
        heads, rows = self._shown()
        columns = list(zip(heads, *rows))
        ends = _itertools.accumulate(max(map(len, column)) + 2 for column in columns)
        fit = max(1, sum(end <= _SHOWN_WIDTH for end in ends))
        more = [f"... and {len(self) - len(rows)} more rows"] if len(self) > len(rows) else []
        more += [f"... and {len(heads) - fit} more columns: {', '.join(heads[fit:])}"] if len(heads) > fit else []
        return "\n".join([self._text(heads[:fit], [row[:fit] for row in rows]), *more])

    @staticmethod
    def _text(heads, rows):
        widths = [max(map(len, column)) for column in zip(heads, *rows)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                         for row in [heads, *rows])

    def _repr_html_(self):
        from html import escape
        heads, rows = self._shown()
        head = "".join(f"<th>{escape(text)}</th>" for text in heads)
        body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
        more = f"<p>... and {len(self) - len(rows)} more rows</p>" if len(self) > len(rows) else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


# By the end of a column's name: unit, and size of what it counts.
_UNITS = {"_s": ("s", 1.0), "_ns": ("s", 1e-9), " ns": ("s", 1e-9), "_J": ("J", 1.0), "_uJ": ("J", 1e-6), "_W": ("W", 1.0),
          "_MHz": ("Hz", 1e6), "_Hz": ("Hz", 1.0), "_B/s": ("B/s", 1.0), "_bytes": ("B", 1.0)}


def _shown_cell(cell, unit):
    if isinstance(cell, str) or cell is None or cell != cell:
        return cell if isinstance(cell, str) else ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if unit == "_bytes":
        return f"{cell / 2**30:.3g} GiB"
    return _core._si(cell * _UNITS[unit][1], _UNITS[unit][0]) if unit else f"{cell:.6g}"


def _numbers(cells):
    """Text of the command as numbers, if all cells are numbers or empty; else as it is."""
    try:
        return [cell if not isinstance(cell, str) else float(cell) if cell else _math.nan for cell in cells]
    except ValueError:
        return list(cells)


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas: pip install pandas (hint: iteration gives the rows as dicts "
                          "without it)") from error
    return pandas


def _flat(fields):
    row = {}
    for name, value in fields.items():
        if name == "tile" and isinstance(value, dict):
            row[name] = _tile_text(value)
        elif isinstance(value, dict):
            row.update({f"{name}.{inner}": of for inner, of in value.items()})
        else:
            row[name] = "; ".join(map(str, value)) if isinstance(value, list) else value
    return row


def _tile_text(tile):
    """A tile in the command's notation: "out=64x4 kernel=256x1"."""
    def numbers(value):
        return "x".join(map(str, value)) if isinstance(value, list) else str(int(value))
    return " ".join(f"{word}={numbers(tile[name])}" for name, word in _core._tile_parts
                    if tile.get(name))


def _column(cells):
    import numpy
    if any(isinstance(cell, str) for cell in cells):
        return ["" if cell is None else cell for cell in cells]
    return numpy.array([numpy.nan if cell is None else cell for cell in cells])


class _Answer:
    """The result of a verb of the command: `str()` is its text, to_dict() its JSON; iteration gives its rows as
    dicts, to_pandas() as a frame."""

    def __init__(self, core):
        self._core = core

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        """Of the document; a class says which part of it that is."""
        raise NotImplementedError

    @_functools.cached_property
    def table(self) -> Table:
        """The rows, which iteration and to_pandas() give, too."""
        return Table.of_rows(self._rows())

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self.table)

    def __len__(self):
        return len(self.table)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas.DataFrame of the rows."""
        return self.table.to_pandas()

    to_frame = to_pandas

    @_functools.cached_property
    def _document(self):
        return _json.loads(self._core.json())

    def to_dict(self) -> Dict[str, Any]:
        return self._document

    def __str__(self):
        return self._core.text()

    def __repr__(self):
        return str(self).rstrip()

    def _repr_html_(self):
        from html import escape
        return f"<pre>{escape(str(self))}</pre>"


class Simulation(_Answer):
    """A program's run: totals in seconds, and a row per kernel (`columns()`, NumPy arrays)."""

    def to_dict(self) -> Dict[str, Any]:
        """The output of `tilecast simulate --format json` for this program."""
        return self._document["programs"][0]

    @property
    def program(self) -> str:
        return self.to_dict()["program"]

    @property
    def file(self) -> str:
        return self.to_dict()["file"]

    @property
    def device(self) -> str:
        return self.to_dict()["device"]

    @property
    def model(self) -> str:
        """What answered; '' is the analytical one."""
        return self.to_dict().get("model", "")

    @property
    def time_s(self) -> float:
        """Of the kernels, one after the other; at least the launches."""
        return self.to_dict()["time_s"]

    @property
    def timeline_s(self) -> float:
        """With overlapping copies."""
        return self.to_dict()["timeline_s"]

    @property
    def host_dispatch_s(self) -> float:
        return self.to_dict()["host_dispatch_s"]

    @property
    def interval_s(self) -> Optional[Tuple[float, float]]:
        """90 % interval of time_s, or None."""
        run = self.to_dict()
        return (run["low_s"], run["high_s"]) if "low_s" in run else None

    @property
    def believed(self) -> Optional[Dict[str, float]]:
        """Shares of time_s by the weight k of a hybrid's corrections: 'above_half', 'up_to_half'
        (0 < k <= 0.5), 'physics_alone' (k = 0); None if the model does not correct."""
        parts, whole = self.to_dict().get("believed"), self.time_s
        return parts and {name: part["time_s"] / whole if whole > 0 else 0.0
                          for name, part in parts.items()}

    @property
    def notes(self) -> List[str]:
        return [note["what"] for note in self.to_dict()["notes"]]

    @property
    def numbers(self) -> Dict[str, float]:
        """energy_J, average_power_W, peak_memory_bytes ...: those that are known."""
        run = self.to_dict()
        memory = run.get("memory", {})
        known = {"energy_J": run["energy_J"], "average_power_W": run["average_power_W"],
                 "peak_memory_bytes": memory.get("peak_bytes"),
                 "memory_capacity_bytes": memory.get("capacity_bytes")}
        return {name: value for name, value in known.items() if value is not None}

    def _rows(self):
        return [{**kernel, "launches": kernel["multiplicity"]} for kernel in self.to_dict()["kernels"]]

    def columns(self) -> Dict[str, Any]:
        """Every field of the kernels; nested fields have a '.'; tile and flags are text."""
        return {name: self.table[name] for name in self.table.names}

    @property
    def time(self) -> float:
        """Seconds of one run on the device."""
        return self.timeline_s

    @property
    def kernels(self) -> pandas.DataFrame:
        """A row per kernel."""
        return self.to_pandas()

    @property
    def peak_memory(self) -> Optional[float]:
        """Bytes; None if unknown."""
        return self.numbers.get("peak_memory_bytes")

    @property
    def mfu(self) -> Optional[float]:
        """FLOPs of all kernels / (time x the 16-bit peak of the matrix unit); None without one."""
        return self.to_dict()["mfu"]

    def scopes(self, depth: Optional[int] = None) -> Dict[str, float]:
        """Seconds by named scope (jax.named_scope, modules), the longest first; depth: at most
        so many levels. The sum is the kernels' time on the device."""
        seconds: Dict[str, float] = {}
        for kernel in self.to_dict()["kernels"]:
            name = "/".join(kernel.get("scope", "").split("/")[:depth]) or "(no scope)"
            seconds[name] = seconds.get(name, 0.0) + kernel["total_s"]
        return dict(sorted(seconds.items(), key=lambda item: -item[1]))

    def by_scope(self, depth: Optional[int] = None) -> pandas.DataFrame:
        """scopes() as a pandas.DataFrame: scope, time_s, share."""
        seconds = self.scopes(depth)
        whole = sum(seconds.values()) or 1.0
        return Table.of_rows([{"scope": scope, "time_s": time, "share": time / whole}
                              for scope, time in seconds.items()]).to_pandas()

    def _repr_html_(self):
        """In a notebook: the header as text, the kernels that take longest as a table."""
        from html import escape
        names = ("name", "launches", "total_s", "bound", "utilisation", "tile")
        slowest = sorted(self, key=lambda kernel: -kernel["total_s"])
        shown = Table.of_rows([{name: kernel.get(name) for name in names} for kernel in slowest])
        return f"<pre>{escape(str(self).split(chr(10) * 2)[0])}</pre>{shown._repr_html_()}"


class Explanation(_Answer):
    """Explains a kernel's time: `str()` is the output of `tilecast explain`, to_dict() its JSON."""

    def _rows(self):
        return [{"resource": name, "time_s": time} for name, time in
                self._document.get("estimate", {}).get("bounds_s", {}).items()]

    @property
    def kernel(self) -> str:
        return self._document["kernel"]

    @property
    def time_s(self) -> float:
        return self._document.get("estimate", {}).get("time_s", 0.0)

    @property
    def infeasible(self) -> Optional[str]:
        """Why the tile cannot run."""
        return self._document.get("infeasible")



class Evaluation(_Answer):
    """The errors of models on measurements: `str()` is the output of `tilecast evaluate`."""

    def _rows(self):
        return self.to_dict()["scores"]

    def scores(self) -> Table:
        """A Table with one row per stratum, model and metric, as `evaluate --format csv`."""
        return self.table

    def rows(self) -> Table:
        """A Table with one row per measurement and all predictions, as `evaluate --rows`."""
        return Table(self._core.rows())


class Calibration(_Answer):
    """Constants fitted to measurements, a row each: `str()` is the output of `tilecast calibrate`."""

    def __init__(self, core, file):
        super().__init__(core.answer)
        self.accepted: bool = core.accepted
        self.notes: List[str] = core.notes
        self.file: Optional[str] = file

    def _rows(self):
        return self.to_dict()["constants"]

    constants = _Answer.to_pandas


class Training(_Answer):
    """A trained model: `str()` is the output of `tilecast train`; a row per model, for the held-out rows."""

    def __init__(self, core, directory):
        super().__init__(core)
        self.directory: str = directory

    def _rows(self):
        return self.to_dict()["metrics"]

    metrics = _Answer.to_pandas


class _Command:
    """A verb that runs as a command of its own."""

    def __init__(self, *arguments):
        self._arguments = arguments

    def json(self):
        return self._run("json")

    def text(self):
        return self._run("table")

    def _run(self, form):
        import subprocess
        import sys
        paths = _os.pathsep.join([_os.path.dirname(_HERE), *filter(None, [_os.environ.get("PYTHONPATH")])])
        done = subprocess.run([sys.executable, "-m", "tilecast", *self._arguments, "--format", form],
                              capture_output=True, text=True, env={**_os.environ, "PYTHONPATH": paths}, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
            _core._raise((lines or [done.stderr])[-1].removeprefix("error: ").strip())
        return done.stdout


def _options(options):
    """{"most_tiles": 5, "set": ["a=b"], "doubted": True} as the command's options."""
    for name, value in options.items():
        for one in _list(value) if not isinstance(value, (bool, int, float)) else [value]:
            if one is not False:
                yield f"--{name.rstrip('_').replace('_', '-')}"
                yield from [] if one is True else [_os.fspath(one) if isinstance(one, _os.PathLike) else str(one)]


def _named(devices):
    """Devices as the command names them."""
    for device in map(_device, _list(devices)):
        if device._changed:
            raise Error(f"{device.name}: was changed with set=, which this verb takes itself: set=[...]")
        yield from ("--device", device._source)


def _done(answer):
    answer.to_dict()
    return answer


class Comparison(_Answer):
    """Times of the same work, a row per kernel and side: `str()` is the output of `tilecast compare`."""

    def _rows(self):
        return [{**{name: value for name, value in row.items() if name != "times"}, **time}
                for row in self.to_dict()["rows"] for time in row["times"]]


class Tuning(_Answer):
    """A search: `str()` is the output of `tilecast tune`; a row per kernel, trial or program."""

    def _rows(self):
        found = self.to_dict()
        lists = [found[name] for name in ("kernels", "trials", "strategies") if isinstance(found.get(name), list)]
        return lists[0] if lists else [{"program": name, **found[name]} for name in ("rules", "best")]


def compare(inputs: _Paths, devices: Union[_ADevice, Iterable[_ADevice]] = (), **options: Any) -> Comparison:
    """Compares programs, sets of measurements or a profile on devices, as `tilecast compare`. Returns a Comparison.

    options: those of the command, "-" as "_": model=["roofline", "default"], measured="set", set="clock=2GHz".
    """
    return _done(Comparison(_Command("compare", *_paths(inputs), *_named(devices), *_options(options))))


def tune(program: _Path, device: _ADevice, what: str = "program", **options: Any) -> Tuning:
    """Searches fast configurations, as `tilecast tune WHAT`: "program" (tiles of all kernels), "fusion" or "tiles" (of
    one kernel). Returns a Tuning.

    options: those of the command, "-" as "_": costs=1000, hardware="host", output="chosen.csv"; from_="set".
    """
    return _done(Tuning(_Command("tune", what, _os.fspath(program), *_named(device), *_options(options))))


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


def _text(cell):
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _table(table):
    """Columns from a CSV file, a dict of columns or a pandas.DataFrame."""
    if isinstance(table, (str, _os.PathLike)):
        return _core._Table(_os.fspath(table))
    return _core._Table([(str(name), [_text(cell) for cell in cells])
                         for name, cells in table.items()])


def _list(one_or_more):
    """A list; a single name, path or object becomes a list of one."""
    alone = isinstance(one_or_more, (str, _os.PathLike, Device))
    return [one_or_more] if alone else list(one_or_more)


def _replace_file(path, text):
    """Writes the whole file or nothing."""
    temporary = f"{path}.{_os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    _os.replace(temporary, path)


def _paths(one_or_more):
    return [_os.fspath(path) for path in _list(one_or_more)]


def evaluate(sets: _Paths, devices: Union[_ADevice, Iterable[_ADevice]], models: _Paths = (),
             by: _Names = ("class",), doubted: bool = False, draws: int = 1000, seed: int = 1,
             jobs: int = 1) -> Evaluation:
    """The errors of models on measurements, as `tilecast evaluate`. Returns an Evaluation.

    sets: folders of measurements; devices: one or more; models: names as for `--model` or folders,
    default: roofline, analytical and default; by: additional tables (class, size, split, family,
    kernel); doubted=True also scores rows that only physics doubts; draws, seed: resampling for
    the intervals.
    """
    cores = [_device(device)._core for device in _list(devices)]
    return Evaluation(_core._evaluate(_paths(sets), cores, _paths(models), _list(by), doubted,
                                      draws, seed, jobs))


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
    device = _device(device)
    if output is not None and device._changed:
        raise Error("calibrate: the device was changed with set=; a description that extends "
                    "its file would lose the changes: write Device.yaml() to a file first")
    output = "" if output is None else _os.fspath(output)
    core = _core._calibrate(_paths(sets), device._core, device._source, output, name,
                            _list(classes), _list(kernels), _list(fix), rows, other_machine,
                            accept_suspicious, "" if then_train is None else
                            _os.fspath(then_train), force, jobs)
    if core.yaml:
        _replace_file(output, core.yaml)
    return Calibration(core, output if core.yaml else None)


def train(experiment: _Path, out: _Path, learner: str = "", data: _Path = "", force: bool = False,
          resume: bool = False, jobs: int = 1) -> Training:
    """Trains a learner or fits a hybrid of an experiment (YAML), as `tilecast train`, and writes
    the folder `out`. Returns a Training; `Model(out, device)` is the model.

    data: folder of third-party data; resume: continue from OUT.checkpoint (networks).
    """
    return Training(_core._train(_os.fspath(experiment), _os.fspath(out), learner,
                                 _os.fspath(data), force, resume, jobs), _os.fspath(out))


def sweep(study: _Path, pareto: _Names = (), front: bool = False, journal: _Path = "",
          resume: bool = False, jobs: int = 1) -> Table:
    """A study of machines (docs/studies.md), as `tilecast sweep --format csv`. Returns a Table.

    pareto: only rows not dominated in these columns, "-name": larger is better; front=True: the
    same for the study's objectives; journal: a file of finished work, resume=True continues it.
    Ctrl-C stops the sweep.
    """
    return Table(_core._sweep(_os.fspath(study), ",".join(_list(pareto)), front,
                              _os.fspath(journal), resume, jobs))


def ops(table: Union[_Path, _Columns], device: _ADevice, model: _AModel = "default",
        repeated: bool = False, keep_going: bool = False) -> Table:
    """Times of single operators: a CSV file, a dict of columns or a pandas.DataFrame.

    Columns in and out are those of `tilecast ops`. Returns a Table.
    """
    return Table(_core._ops(_table(table), *_asked(None, device, model)[1:], repeated, keep_going))
