"""Tilecast: how long a tensor program runs on an accelerator that a YAML file describes, and why.

    import tilecast
    device = tilecast.Device("tpu_v3", set={"hbm.bandwidth": "1.2TB/s"})
    program = tilecast.Program("model.hlo")
    run = tilecast.simulate(program, device)
    run.time_s, run.to_frame()

Numbers are those of the command `tilecast`, to the last bit; times are in seconds. Every call may
be made from any thread: what is computed is computed without the GIL. Failures are tilecast.Error,
with `file`, `line` and `column` where there is a place. pandas is imported by to_frame() alone.
"""
import json as _json
import os as _os

_HERE = _os.path.dirname(__file__)
_DATA = _os.path.join(_HERE, "data")
if _os.path.isdir(_DATA):  # an installed package brings its presets, models and modules
    _os.environ.setdefault("TILECAST_DEVICES", _os.path.join(_DATA, "devices"))
    _os.environ.setdefault("TILECAST_MODELS", _os.path.join(_DATA, "models"))
    _os.environ.setdefault("TILECAST_MODULES", _DATA)
else:  # a build tree
    _os.environ.setdefault("TILECAST_MODULES", _os.path.join(_HERE, "modules"))

from . import _tilecast as _core  # noqa: E402: reads the environment
from ._tilecast import Error, devices  # noqa: E402

__all__ = ["Calibration", "Device", "Error", "Evaluation", "Explanation", "Model", "Program",
           "Simulation", "Table", "Training", "calibrate", "devices", "evaluate", "explain",
           "list_tiles", "ops", "simulate", "sweep", "tile_table", "tiles", "train"]


class Device:
    """A machine: a preset's name or a YAML file, with changes as `--set` takes them.

    set: {"hbm.bandwidth": "1.2TB/s"} or ["hbm.bandwidth=1.2TB/s"].
    """

    def __init__(self, name_or_path, set=()):
        changes = [f"{k}={v}" for k, v in set.items()] if hasattr(set, "items") else list(set)
        self._core = _core._Device(_os.fspath(name_or_path), changes)
        self._source, self._changed = _os.fspath(name_or_path), bool(changes)

    @property
    def name(self):
        return self._core.name

    def yaml(self):
        """The description in full, every value in its unit."""
        return self._core.yaml()

    def __repr__(self):
        return f"tilecast.Device({self.name!r})"


class Program:
    """A program of any form that the command reads, fused where it is not optimised yet.

    fuse=False takes ops as they are; trip_count: iterations of loops whose count is not known.
    """

    def __init__(self, path, fuse=True, trip_count=5.0):
        self._core = _core._Program(_os.fspath(path), fuse, trip_count)

    @classmethod
    def from_text(cls, text, name="text", fuse=True, trip_count=5.0):
        """Of a text or bytes; `name` stands for the file in messages."""
        program = cls.__new__(cls)
        program._core = _core._Program.from_text(text, name, fuse, trip_count)
        return program

    @property
    def file(self):
        return self._core.file

    def kernels(self, device):
        """Names of the kernels that the program is cut into on the device."""
        return self._core.kernels(_device(device)._core)

    def __repr__(self):
        return f"tilecast.Program({self.file!r})"


class Model:
    """What `--model` names, for one device: "analytical", "default", "hybrid", a folder ..."""

    def __init__(self, name, device):
        self._core = _core._Model(_os.fspath(name), _device(device)._core)

    @property
    def name(self):
        return self._core.name

    def __repr__(self):
        return f"tilecast.Model({self.name!r})"


def _device(device):
    return device if isinstance(device, Device) else Device(device)


def _program(program):
    return program if isinstance(program, Program) else Program(program)


def _asked(program, device, model):
    """The three as the compiled module knows them; names and paths stand for what they name."""
    device = _device(device)
    model = model if isinstance(model, Model) else Model(model, device)
    return (None if program is None else _program(program)._core), device._core, model._core


class Simulation:
    """A program's run: totals in seconds, and a row per kernel (`columns()`, NumPy arrays)."""

    def __init__(self, core):
        self._core = core

    program = property(lambda self: self._core.program)
    file = property(lambda self: self._core.file)
    device = property(lambda self: self._core.device)
    model = property(lambda self: self._core.model, doc="What answered; '' is the analytical one.")
    time_s = property(lambda self: self._core.time_s, doc="Sum over kernels of time x launches.")
    timeline_s = property(lambda self: self._core.timeline_s, doc="With overlapping copies.")
    host_dispatch_s = property(lambda self: self._core.host_dispatch_s)
    interval_s = property(lambda self: self._core.interval_s, doc="90 % of time_s, or None.")
    believed = property(lambda self: self._core.believed, doc="""\
Shares of time_s by the weight k of a hybrid's corrections: 'above_half', 'up_to_half' (of 1),
'physics_alone' (k = 0); None where no model corrects.""")
    notes = property(lambda self: self._core.notes)
    numbers = property(lambda self: self._core.numbers,
                       doc="energy_J, average_power_W, peak_memory_bytes ...: what is known of them.")

    def columns(self):
        return self._core.columns()

    def to_frame(self):
        """A pandas.DataFrame, a row per kernel."""
        import pandas
        return pandas.DataFrame(self.columns())

    def to_dict(self):
        """What `tilecast simulate --format json` prints of this program."""
        return _json.loads(self._core.json())["programs"][0]

    def __str__(self):
        return self._core.text()


class Explanation:
    """Why a kernel takes its time: `str()` is what `tilecast explain` prints, to_dict() its JSON."""

    def __init__(self, core):
        self._core = core

    kernel = property(lambda self: self._core.kernel)
    time_s = property(lambda self: self._core.time_s)
    infeasible = property(lambda self: self._core.infeasible, doc="Why the tile cannot run.")

    def to_dict(self):
        return _json.loads(self._core.json())

    def __str__(self):
        return self._core.text()


class Table:
    """Rows with names: `table["estimate_ns"]` is a NumPy array where all of it is numbers."""

    def __init__(self, columns):
        self._columns = dict(columns)

    @property
    def names(self):
        return list(self._columns)

    def __len__(self):
        return len(next(iter(self._columns.values()), []))

    def __getitem__(self, name):
        import numpy
        cells = self._columns[name]
        try:
            return numpy.array([float(cell) if cell else numpy.nan for cell in cells])
        except ValueError:
            return list(cells)

    def to_frame(self):
        """A pandas.DataFrame."""
        import pandas
        return pandas.DataFrame({name: self[name] for name in self.names})


class _Answer:
    """What a verb of the command answers: `str()` is its text, to_dict() its JSON."""

    def __init__(self, core):
        self._core = core

    def to_dict(self):
        return _json.loads(self._core.json)

    def __str__(self):
        return self._core.text


class Evaluation(_Answer):
    """How far models are off measurements: `str()` is what `tilecast evaluate` prints."""

    def scores(self):
        """A Table with a row per stratum, model and metric, as `evaluate --format csv`."""
        rows = self.to_dict()["scores"]
        names = list(rows[0]) if rows else []
        return Table({name: [_text(row[name]) for row in rows] for name in names})

    def rows(self):
        """A Table with a row per measurement and every model's answer, as `evaluate --rows`."""
        return Table(self._core.rows())

    def to_frame(self):
        """A pandas.DataFrame of scores()."""
        return self.scores().to_frame()


class Calibration(_Answer):
    """Constants fitted to measurements: `str()` is what `tilecast calibrate` prints."""

    def __init__(self, core, file):
        super().__init__(core.answer)
        self.accepted = core.accepted
        self.notes = core.notes
        self.file = file

    def constants(self):
        """A pandas.DataFrame, a row per constant."""
        import pandas
        return pandas.DataFrame(self.to_dict()["constants"])


class Training(_Answer):
    """A model that was trained: `str()` is what `tilecast train` prints."""

    def __init__(self, core, directory):
        super().__init__(core)
        self.directory = directory

    def metrics(self):
        """A pandas.DataFrame, a row per model on the held-out rows."""
        import pandas
        return pandas.DataFrame(self.to_dict()["metrics"])


def simulate(program, device, model="default", skip_unknown=False):
    """How long the program runs on the device. Answers a Simulation."""
    return Simulation(_core._simulate(*_asked(program, device, model), skip_unknown))


def explain(program, device, kernel="", tile="", top=10, model="default"):
    """Why one kernel takes its time; `tile` as text ("out=64x4 kernel=256x1")."""
    return Explanation(_core._explain(*_asked(program, device, model), kernel, tile, top))


def tiles(program, device, output=None, kernel_tile=None, stages=None, warps=None, kernel="",
          model="default"):
    """Seconds of every tile of one kernel, in one call; NaN where a tile cannot run.

    output, kernel_tile: integer arrays (tiles, dimensions); stages, warps: (tiles,). Sizes are
    physical, most major dimension first; the two minor ones count native tiles.
    """
    return _core._tiles(*_asked(program, device, model), kernel, output, kernel_tile, stages,
                        warps)


def list_tiles(program, device, kernel="", listing="ladder", limit=4096):
    """Tiles of one kernel that can run, as the arrays that tiles() takes."""
    return _core._list_tiles(_program(program)._core, _device(device)._core, kernel, listing,
                             limit)


def _text(cell):
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _columns(table):
    return [(str(name), [_text(cell) for cell in cells]) for name, cells in table.items()]


def _list(one_or_more):
    """A list, of one where a name, a path or an object stands alone."""
    alone = isinstance(one_or_more, (str, _os.PathLike, Device))
    return [one_or_more] if alone else list(one_or_more)


def _paths(one_or_more):
    return [_os.fspath(path) for path in _list(one_or_more)]


def tile_table(program, device, table=None, kernel="", listing="ladder", most=None,
               model="default"):
    """Tiles of one kernel with times, bound and reason, as `tilecast tiles` prints them: a Table.

    table: a CSV file, a dict of columns or a pandas.DataFrame of tiles; without it the fastest
    `most` (10) of those listed. Of a table `most` keeps the fastest, None every row as it is.
    """
    asked = _asked(program, device, model)
    if isinstance(table, (str, _os.PathLike)):
        return Table(_core._tile_table_of_file(*asked, kernel, _os.fspath(table), listing, most))
    given = None if table is None else _columns(table)
    return Table(_core._tile_table(*asked, kernel, given, listing, most))


def evaluate(sets, devices, models=(), by=("class",), doubted=False, draws=1000, seed=1, jobs=1):
    """How far models are off measurements, as `tilecast evaluate`. Answers an Evaluation.

    sets: folders of measurements; devices: one or more; models: names as of `--model` or folders,
    without any roofline, analytical and default; by: tables besides the whole (class, size, split, family,
    kernel); doubted=True scores rows that only physics doubts, too; draws, seed: of the resamples
    behind the intervals.
    """
    devices = [_device(device)._core for device in _list(devices)]
    return Evaluation(_core._evaluate(_paths(sets), devices, _paths(models), _list(by), doubted,
                                      draws, seed, jobs))


def calibrate(sets, device, output=None, name="", classes=(), kernels=(), fix=(), rows=200,
              other_machine=False, accept_suspicious=False, then_train=None, force=False, jobs=1):
    """Fits a device's constants to measurements, as `tilecast calibrate`. Answers a Calibration.

    output: the description (YAML) to write where the fit is accepted, `Calibration.file` then;
    classes, kernels: use their rows alone; fix: constants that stay; rows: fitted at most;
    then_train: folder of a hybrid that is fitted too, force=True replaces one.
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
        with open(output + ".tmp", "w", encoding="utf-8", newline="") as file:
            file.write(core.yaml)
        _os.replace(output + ".tmp", output)
    return Calibration(core, output if core.yaml else None)


def train(experiment, out, learner="", data="", force=False, resume=False, jobs=1):
    """Trains a learner or fits a hybrid of an experiment (YAML), as `tilecast train`, and writes
    the folder `out`. Answers a Training; `Model(out, device)` is the model.

    data: folder of third-party data; resume: go on with OUT.checkpoint (networks). Trainings on
    graphs (`tilecast.graph_training/1`) are of the command alone.
    """
    return Training(_core._train(_os.fspath(experiment), _os.fspath(out), learner,
                                 _os.fspath(data), force, resume, jobs), _os.fspath(out))


def sweep(study, pareto=(), front=False, journal="", resume=False, jobs=1):
    """A study of machines (docs/studies.md), as `tilecast sweep --format csv`. Answers a Table.

    pareto: columns of which no row is beaten in all, "-name": larger is better; front=True: by the
    objectives of the study; journal: a file that keeps what is done, resume=True goes on with it.
    Ctrl-C stops it.
    """
    return Table(_core._sweep(_os.fspath(study), ",".join(_list(pareto)), front,
                              _os.fspath(journal), resume, jobs))


def ops(table, device, model="default", repeated=False, keep_going=False):
    """Times of single operators: a CSV file, a dict of columns or a pandas.DataFrame.

    Columns in and out are those of `tilecast ops`. Answers a Table.
    """
    asked = _asked(None, device, model)[1:]
    if isinstance(table, (str, _os.PathLike)):
        return Table(_core._ops_of_file(_os.fspath(table), *asked, repeated, keep_going))
    return Table(_core._ops(_columns(table), *asked, repeated, keep_going))
