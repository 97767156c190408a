"""What calls return: tables, and the answers of verbs."""
from __future__ import annotations

import functools as _functools
import itertools as _itertools
import json as _json
import math as _math
import os as _os
import typing as _typing

from . import _tilecast as _core

if _typing.TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

    import numpy
    import pandas

__all__ = ["Calibration", "Comparison", "Evaluation", "Explanation", "Simulation", "Table", "Training", "Tuning"]

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

    @classmethod
    def of_csv(cls, text: str) -> Table:
        """From text with the header in the first line, as to_csv() gives it."""
        import csv
        import io
        names, *lines = csv.reader(io.StringIO(text))
        return cls({name: [line[i] for line in lines] for i, name in enumerate(names)})

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
        rows.writerows([text_of(cell) for cell in row.values()] for row in self)
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
        if len(heads) > fit:
            more.append(f"... and {len(heads) - fit} more columns: {', '.join(heads[fit:])}")
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
_UNITS = {"_s": ("s", 1.0), "_ns": ("s", 1e-9), " ns": ("s", 1e-9), "_J": ("J", 1.0), "_uJ": ("J", 1e-6),
          "_W": ("W", 1.0), "_MHz": ("Hz", 1e6), "_Hz": ("Hz", 1.0), "_B/s": ("B/s", 1.0), "_bytes": ("B", 1.0)}


def _shown_cell(cell, unit):
    if isinstance(cell, str) or cell is None or cell != cell:
        return cell if isinstance(cell, str) else ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if unit == "_bytes":
        return f"{cell / 2**30:.3g} GiB"
    return _core._si(cell * _UNITS[unit][1], _UNITS[unit][0]) if unit else f"{cell:.6g}"


def text_of(cell):
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


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



class Command:
    """A verb that runs as a command of its own."""

    def __init__(self, *arguments):
        self._arguments = arguments
        self.notes: List[str] = []

    def json(self):
        return self.run("--format", "json")

    def text(self):
        return self.run("--format", "table")

    def run(self, *more):
        import subprocess
        import sys
        here = _os.path.dirname(_os.path.dirname(__file__))
        paths = _os.pathsep.join(filter(None, [here, _os.environ.get("PYTHONPATH")]))
        done = subprocess.run([sys.executable, "-m", "tilecast", *self._arguments, *more], capture_output=True,
                              text=True, env={**_os.environ, "PYTHONPATH": paths}, check=False)
        self.notes = done.stderr.splitlines()
        if done.returncode:
            said = [line.removeprefix("error: ") for line in self.notes if line.startswith("error: ")]
            _core._raise((said or [done.stderr.strip()])[-1])
        return done.stdout

    def rows(self, option):
        """Of the CSV that it writes to the file of an option."""
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            path = _os.path.join(folder, "rows.csv")
            self.run(option, path)
            with open(path, encoding="utf-8") as file:
                return Table.of_csv(file.read())


class _Ran(_Answer):
    """The answer of a command that ran at once."""

    def __init__(self, core):
        super().__init__(core)
        self.to_dict()
        self.notes: List[str] = core.notes


class Evaluation(_Ran):
    """The errors of models on measurements: `str()` is the output of `tilecast evaluate`."""

    def _rows(self):
        return self.to_dict()["scores"]

    def scores(self) -> Table:
        """A Table with one row per stratum, model and metric, as `evaluate --format csv`."""
        return self.table

    def rows(self) -> Table:
        """A Table with one row per measurement and all predictions, as `evaluate --rows`."""
        return self._core.rows("--rows")


class Calibration(_Ran):
    """Constants fitted to measurements, a row each: `str()` is the output of `tilecast calibrate`."""

    def __init__(self, core, file, shown):
        super().__init__(core)
        self.accepted: bool = self.to_dict()["accepted"]
        self.file: Optional[str] = file if self.accepted else None
        self._core = shown  # the same, without what it writes

    def _rows(self):
        return self.to_dict()["constants"]

    constants = _Answer.to_pandas


class Training(_Ran):
    """A trained model: a row per model, for the held-out rows."""

    def __init__(self, core, directory):
        super().__init__(core)
        self.directory: str = directory

    def _rows(self):
        return self.to_dict()["metrics"]

    def __str__(self):
        return str(self.table)

    metrics = _Answer.to_pandas


class Comparison(_Ran):
    """Times of the same work, a row per kernel and side: `str()` is the output of `tilecast compare`."""

    def _rows(self):
        return [{**{name: value for name, value in row.items() if name != "times"}, **time}
                for row in self.to_dict()["rows"] for time in row["times"]]


class Tuning(_Ran):
    """A search: `str()` is the output of `tilecast tune`; a row per kernel, trial or program."""

    def _rows(self):
        found = self.to_dict()
        lists = [found[name] for name in ("kernels", "trials", "strategies") if isinstance(found.get(name), list)]
        return lists[0] if lists else [{"program": name, **found[name]} for name in ("rules", "best")]
