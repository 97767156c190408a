"""Predicts and explains the time of a tensor program on an accelerator described in YAML.

    import tilecast
    device = tilecast.Device("tpu_v3", set={"hbm.bandwidth": "1.2TB/s"})
    program = tilecast.Program("model.hlo")
    run = tilecast.simulate(program, device)
    run.time_s, run.to_frame()

Numbers are bit-identical to those of the command `tilecast`; times are in seconds. All functions
are thread-safe and release the GIL during computations. They raise tilecast.Error, with `file`,
`line` and `column` if the error has a place. Only to_frame() imports pandas.
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

__all__ = ["Calibration", "Device", "Error", "Evaluation", "Explanation", "Model", "Program",
           "Simulation", "Table", "Training", "calibrate", "devices", "evaluate", "explain",
           "list_tiles", "ops", "simulate", "sweep", "tile_table", "tiles", "train"]


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


class Model:
    """A model for one device, named as for `--model`: "analytical", "hybrid", a folder ..."""

    def __init__(self, name: _Path, device: _ADevice):
        self._core = _core._Model(_os.fspath(name), _device(device)._core)

    @property
    def name(self) -> str:
        return self._core.name

    def __repr__(self):
        return f"tilecast.Model({self.name!r})"


def _device(device):
    return device if isinstance(device, Device) else Device(device)


def _program(program):
    return program if isinstance(program, Program) else Program(program)


def _asked(program, device, model):
    """Converts the arguments to objects of the compiled module; accepts names and paths."""
    device = _device(device)
    model = model if isinstance(model, Model) else Model(model, device)
    return (None if program is None else _program(program)._core), device._core, model._core


class _Answer:
    """The result of a verb of the command: `str()` is its text, to_dict() its JSON."""

    def __init__(self, core):
        self._core = core

    @_functools.cached_property
    def _document(self):
        return _json.loads(self._core.json())

    def to_dict(self) -> Dict[str, Any]:
        return self._document

    def __str__(self):
        return self._core.text()


class Simulation(_Answer):
    """A program's run: totals in seconds, and a row per kernel (`columns()`, NumPy arrays)."""

    def to_dict(self) -> Dict[str, Any]:
        """The output of `tilecast simulate --format json` for this program."""
        return self._document["programs"][0]

    program: str = property(lambda self: self.to_dict()["program"])
    file: str = property(lambda self: self.to_dict()["file"])
    device: str = property(lambda self: self.to_dict()["device"])
    model: str = property(lambda self: self.to_dict().get("model", ""),
                          doc="What answered; '' is the analytical one.")
    time_s: float = property(lambda self: self.to_dict()["time_s"],
                             doc="Of the kernels, one after the other; at least the launches.")
    timeline_s: float = property(lambda self: self.to_dict()["timeline_s"],
                                 doc="With overlapping copies.")
    host_dispatch_s: float = property(lambda self: self.to_dict()["host_dispatch_s"])

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

    def columns(self) -> Dict[str, Any]:
        """Every field of the kernels; nested fields have a '.'; tile and flags are text."""
        rows = [_flat(kernel) for kernel in self.to_dict()["kernels"]]
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: _column([row.get(name) for row in rows]) for name in names}
        if "multiplicity" in columns:
            columns["launches"] = columns["multiplicity"]
        return columns

    def to_frame(self) -> pandas.DataFrame:
        """A pandas.DataFrame with one row per kernel."""
        import pandas
        return pandas.DataFrame(self.columns())

    time: float = property(lambda self: self.timeline_s, doc="Seconds of one run on the device.")
    kernels: pandas.DataFrame = property(to_frame)
    peak_memory: Optional[float] = property(lambda self: self.numbers.get("peak_memory_bytes"),
                                            doc="Bytes; None if unknown.")

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
        import pandas
        seconds = self.scopes(depth)
        whole = sum(seconds.values()) or 1.0
        return pandas.DataFrame({"scope": list(seconds), "time_s": list(seconds.values()),
                                 "share": [t / whole for t in seconds.values()]})

    def _repr_html_(self):
        """In a notebook: the header as text, the kernels that take longest as a table."""
        from html import escape
        columns = {"name": "kernel", "launches": "launches", "total_s": "total", "bound": "bound",
                   "utilisation": "util %", "tile": "tile"}
        as_text = {"total_s": lambda time: _core._si(time, "s"),
                   "utilisation": lambda share: f"{100 * share:.1f}",
                   "launches": lambda launches: f"{launches:g}"}
        rows = sorted(self.to_dict()["kernels"], key=lambda kernel: -kernel["total_s"])[:20]
        cells = []
        for kernel in rows:
            row = {**_flat(kernel), "launches": kernel["multiplicity"]}
            shown = [as_text.get(c, str)(row.get(c, "")) for c in columns]
            cells.append("".join(f"<td>{escape(text)}</td>" for text in shown))
        head = "".join(f"<th>{escape(text)}</th>" for text in columns.values())
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return (f"<pre>{escape(str(self).split(chr(10) * 2)[0])}</pre>"
                f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def _flat(kernel):
    row = {}
    for name, value in kernel.items():
        if name == "tile":
            row[name] = _tile_text(value)
        elif isinstance(value, dict):
            row.update({f"{name}.{inner}": of for inner, of in value.items()})
        else:
            row[name] = "; ".join(value) if isinstance(value, list) else value
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


class Explanation(_Answer):
    """Explains a kernel's time: `str()` is the output of `tilecast explain`, to_dict() its JSON."""

    kernel: str = property(lambda self: self._document["kernel"])
    time_s: float = property(lambda self: self._document.get("estimate", {}).get("time_s", 0.0))
    infeasible: Optional[str] = property(lambda self: self._document.get("infeasible"),
                                         doc="Why the tile cannot run.")


_SHOWN_ROWS = 20  # of a table, by repr() and in a notebook


class Table:
    """Rows with named columns: `table["estimate_ns"]` is a NumPy array if all its values are numbers; iteration
    gives a dict per row; to_pandas() the whole."""

    def __init__(self, columns):
        self._columns = {name: _numbers(cells) for name, cells in dict(columns).items()}

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
        """Names and cells as people read them, with SI prefixes."""
        rows = list(_itertools.islice(self, most))
        units = {name: next((unit for unit in _UNITS if name.endswith(unit)), "") for name in self.names}
        heads = [name.removesuffix(units[name]) for name in self.names]
        return heads, [[_shown_cell(cell, units[name]) for name, cell in row.items()] for row in rows]

    def __str__(self):
        return self._text(None)

    def __repr__(self):
        return self._text(_SHOWN_ROWS)

    def _text(self, most):
        heads, rows = self._shown(most)
        widths = [max(map(len, column)) for column in zip(heads, *rows)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [heads, *rows]]
        more = len(self) - len(rows)
        return "\n".join(lines + ([f"... and {more} more rows"] if more else []))

    def _repr_html_(self):
        heads, rows = self._shown()
        more = len(self) - len(rows)
        return _html_table(heads, rows) + (f"<p>... and {more} more rows</p>" if more else "")


# By the end of a column's name: unit, and size of what it counts.
_UNITS = {"_s": ("s", 1.0), "_ns": ("s", 1e-9), "_J": ("J", 1.0), "_uJ": ("J", 1e-6), "_W": ("W", 1.0),
          "_MHz": ("Hz", 1e6), "_Hz": ("Hz", 1.0), "_B/s": ("B/s", 1.0), "_bytes": ("B", 1.0)}


def _shown_cell(cell, unit):
    if isinstance(cell, str) or cell != cell:
        return cell if isinstance(cell, str) else ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if unit == "_bytes":
        return f"{cell / 2**30:.3g} GiB"
    return _core._si(cell * _UNITS[unit][1], _UNITS[unit][0]) if unit else f"{cell:.6g}"


def _html_table(heads, rows):
    from html import escape
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


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


class Evaluation(_Answer):
    """The errors of models on measurements: `str()` is the output of `tilecast evaluate`."""

    def scores(self) -> Table:
        """A Table with one row per stratum, model and metric, as `evaluate --format csv`."""
        rows = self.to_dict()["scores"]
        names = list(rows[0]) if rows else []
        return Table({name: [_text(row[name]) for row in rows] for name in names})

    def rows(self) -> Table:
        """A Table with one row per measurement and all predictions, as `evaluate --rows`."""
        return Table(self._core.rows())

    def to_frame(self) -> pandas.DataFrame:
        """A pandas.DataFrame of scores()."""
        return self.scores().to_frame()


class Calibration(_Answer):
    """Constants fitted to measurements: `str()` is the output of `tilecast calibrate`."""

    def __init__(self, core, file):
        super().__init__(core.answer)
        self.accepted = core.accepted
        self.notes = core.notes
        self.file = file

    def constants(self) -> pandas.DataFrame:
        """A pandas.DataFrame with one row per constant."""
        import pandas
        return pandas.DataFrame(self.to_dict()["constants"])


class Training(_Answer):
    """A trained model: `str()` is the output of `tilecast train`."""

    def __init__(self, core, directory):
        super().__init__(core)
        self.directory = directory

    def metrics(self) -> pandas.DataFrame:
        """A pandas.DataFrame with one row per model, for the held-out rows."""
        import pandas
        return pandas.DataFrame(self.to_dict()["metrics"])


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


def tiles(program: _AProgram, device: _ADevice, output: _Integers = None,
          kernel_tile: _Integers = None, stages: _Integers = None, warps: _Integers = None,
          kernel: str = "", model: _AModel = "default", **parts: _Integers) -> numpy.ndarray:
    """Seconds of every tile of one kernel, in one call; NaN if a tile cannot run.

    output, kernel_tile, input, threads, vector, order: integer arrays (tiles, dimensions); stages,
    warps, direct, unroll: (tiles,). Sizes are physical, most major dimension first; the two minor
    ones count native tiles. Rows of zeros and missing parts leave the choice open.
    """
    parts.update(output=output, kernel_tile=kernel_tile, stages=stages, warps=warps)
    for name in parts.keys() - _TILE_PARTS.keys():
        raise TypeError(f"tiles() got an unexpected argument {name!r}")
    given = {_TILE_PARTS[name]: part for name, part in parts.items() if part is not None}
    return _core._tiles(*_asked(program, device, model), kernel, given)


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


def tile_table(program: _AProgram, device: _ADevice, table: Union[_Path, _Columns, None] = None,
               kernel: str = "", listing: str = "ladder", most: Optional[int] = None,
               model: _AModel = "default") -> Table:
    """Tiles of one kernel with times, bound and reason, as printed by `tilecast tiles`: a Table.

    table: a CSV file, a dict of columns or a pandas.DataFrame of tiles; without it, the fastest
    `most` (10) of the listed tiles. With a table, `most` keeps the fastest; None keeps all rows.
    """
    given = None if table is None else _table(table)
    return Table(_core._tile_table(*_asked(program, device, model), kernel, given, listing, most))


def evaluate(sets: _Paths, devices: Union[_ADevice, Iterable[_ADevice]], models: _Paths = (),
             by: _Names = ("class",), doubted: bool = False, draws: int = 1000, seed: int = 1,
             jobs: int = 1) -> Evaluation:
    """The errors of models on measurements, as `tilecast evaluate`. Returns an Evaluation.

    sets: folders of measurements; devices: one or more; models: names as for `--model` or folders,
    default: roofline, analytical and default; by: additional tables (class, size, split, family,
    kernel); doubted=True also scores rows that only physics doubts; draws, seed: resampling for
    the intervals.
    """
    devices = [_device(device)._core for device in _list(devices)]
    return Evaluation(_core._evaluate(_paths(sets), devices, _paths(models), _list(by), doubted,
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
