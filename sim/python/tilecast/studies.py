"""Studies of machines in parts, by the threads of this process or the workers of a cluster."""
from __future__ import annotations

import contextlib as _contextlib
import functools as _functools
import itertools as _itertools
import os as _os
import sys as _sys
import time as _time
import typing as _typing

from . import _tilecast as _core
from . import results as _results

if _typing.TYPE_CHECKING:
    from typing import Any, Iterable, Optional, Union
    _Path = Union[str, _os.PathLike[str]]

_MOST_POINTS, _PART_S, _LEAST_PARTS = 2000, 0.5, 128  # of a part: points, about seconds; of a study
_GROUP_BYTES = 16 << 20  # of CSV, that become one group of rows in Parquet


def sweep(study: _Path, pareto: Union[str, Iterable[str]] = (), front: bool = False, journal: _Path = "",
          resume: bool = False, jobs: int = 1, client: Any = None,
          output: Optional[_Path] = None) -> Union[_results.Table, str]:
    """A study of machines (docs/studies.md), as `tilecast sweep --format csv`. Returns a Table, or the path `output`.

    pareto: only rows not dominated in these columns, "-name": larger is better; front=True: the same for the study's
    objectives.
    client: who computes, instead of `jobs` threads: a dask.distributed.Client, the module ray, or any
    concurrent.futures.Executor. Workers read the study by the path given here.
    output: a file to write, CSV or Parquet (NAME.parquet, needs pyarrow), part by part.
    journal: a folder of finished parts (default: OUTPUT.journal, removed at the end); resume=True continues it.
    Ctrl-C stops the sweep.
    """
    import shutil
    import tempfile
    study, output = _os.fspath(study), _os.fspath(output or "")
    run = _core._Study(study, ",".join([pareto] if isinstance(pareto, str) else pareto), front)
    arrow = _arrow() if output.endswith(".parquet") else None
    folder = _os.fspath(journal) or output and output + ".journal"
    if resume and not folder:
        raise _core.Error("resume: expected journal=, or output=, whose journal is OUTPUT.journal")
    with _contextlib.ExitStack() as stack:
        parts = _Parts(run, folder or stack.enter_context(tempfile.TemporaryDirectory()), resume)
        parts.compute(client, jobs, study)
        names = ",".join(run.columns) + "\n"
        texts = [run.front(list(parts.texts()))] if pareto or front else parts.texts()
        if not output:
            return _results.Table.of_csv(names + "".join(texts))
        replaced = f"{output}.{_os.getpid()}.tmp"
        if arrow:
            _write_parquet(arrow, replaced, run, texts)
        else:
            with open(replaced, "w", encoding="utf-8", newline="") as file:
                file.writelines(_itertools.chain([names], texts))
        _os.replace(replaced, output)
    if not journal:
        shutil.rmtree(folder)
    return output


def _rows(study, identity, first, last):
    """In a worker: rows of points first to last - 1, as CSV without names."""
    return _read(study, identity).rows(first, last)


@_functools.lru_cache(maxsize=1)
def _read(study, identity):
    run = _core._Study(study, "", False)
    if run.identity != identity:
        raise _core.Error(f"{study}: this worker reads another study, program, description or version")
    return run


def _submitter(client, function):
    """submit(*arguments) -> concurrent.futures.Future of the function's result, by Dask, Ray or an executor."""
    if hasattr(client, "remote"):
        remote = client.remote(function)
        return lambda *arguments: remote.remote(*arguments).future()
    executor = client.get_executor() if hasattr(client, "get_executor") else client
    return _functools.partial(executor.submit, function)


class _Parts:
    """A folder with a file FIRST-LAST.csv for each range of points that is done."""

    def __init__(self, run, folder, resume):
        self._run, self._folder = run, folder
        header = f"tilecast.parts/1 {run.identity} {run.points}\n"
        self._header = _os.path.join(folder, "study")
        _os.makedirs(folder, exist_ok=True)
        if not _os.listdir(folder):
            replace_file(self._header, header)
        elif not _os.path.exists(self._header):
            raise _core.Error(f"{folder}: expected a journal, or an empty folder")
        elif not resume:
            raise _core.Error(f"{folder}: this journal exists: resume=True goes on with it; remove it to start over")
        with open(self._header, encoding="utf-8") as file:
            if file.read() != header:
                raise _core.Error(f"{folder}: the journal is of another study, program, device or version; remove it "
                                  "to start over")

    def _done(self):
        """Ranges that are done, without overlaps, by their first point."""
        at = 0
        names = [name[:-4].split("-") for name in _os.listdir(self._folder) if name.endswith(".csv")]
        for first, last in sorted((int(first), int(last)) for first, last in names):
            if first >= at:
                yield first, last
                at = last

    def _path(self, first, last):
        return _os.path.join(self._folder, f"{first}-{last}.csv")

    def _open(self):
        """Ranges that are not done, each of about half a second of work."""
        ends = [(0, 0), *self._done(), (self._run.points, self._run.points)]
        gaps = [(last, first) for (_, last), (first, _) in zip(ends, ends[1:]) if last < first]
        if not gaps:
            return
        self._run.rows(0, 1)  # reads what is read once
        started = _time.perf_counter()
        self._run.rows(self._run.points - 1, self._run.points)
        fit = _PART_S / (_time.perf_counter() - started)
        size = max(1, min(_MOST_POINTS, int(fit), self._run.points // _LEAST_PARTS))
        for begin, end in gaps:
            yield from ((first, min(first + size, end)) for first in range(begin, end, size))

    def compute(self, client, jobs, study):
        """Does what is not done. Raises what a worker raised, or KeyboardInterrupt; what was done stays."""
        from concurrent import futures
        with _contextlib.ExitStack() as stack:
            if client is None:
                if jobs < 1:
                    raise _core.Error(f"jobs: got {jobs}, expected at least 1")
                submit = _submitter(stack.enter_context(futures.ThreadPoolExecutor(jobs)), self._run.rows)
            else:
                submit = _functools.partial(_submitter(client, _rows), study, self._run.identity)
            done = sum(last - first for first, last in self._done())
            asked: Any = {}
            try:
                asked.update((submit(*part), part) for part in self._open())
                for future in futures.as_completed(list(asked)):
                    first, last = asked.pop(future)
                    replace_file(self._path(first, last), future.result())
                    done += last - first
                    _tell(f"swept {done} of {self._run.points}")
            finally:
                _tell("")
                for future in asked:
                    future.cancel()

    def texts(self):
        """The rows of all points, in parts."""
        for part in self._done():
            with open(self._path(*part), encoding="utf-8", newline="") as file:
                yield file.read()


def _tell(line):
    """Replaces the line on the terminal."""
    if _sys.stderr and _sys.stderr.isatty():
        print("\r\x1b[K" + line, end="", file=_sys.stderr, flush=True)


def replace_file(path, text):
    """Writes the whole file or nothing; on disk once it returns."""
    temporary = f"{path}.{_os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        _os.fsync(file.fileno())
    _os.replace(temporary, path)


def _arrow():
    try:
        import pyarrow.csv
        import pyarrow.parquet
        return pyarrow
    except ImportError:
        raise _core.Error("output: Parquet is written by pyarrow (pip install pyarrow); NAME.csv needs "
                          "nothing") from None


def _write_parquet(arrow, path, run, texts):
    types = {name: arrow.string() if name in run.texts else arrow.float64() for name in run.columns}
    types.update(point=arrow.int64(), feasible=arrow.int64())
    reading = {"read_options": arrow.csv.ReadOptions(column_names=run.columns),
               "parse_options": arrow.csv.ParseOptions(newlines_in_values=True),
               "convert_options": arrow.csv.ConvertOptions(column_types=types)}
    with arrow.parquet.ParquetWriter(path, arrow.schema(list(types.items()))) as file:
        group = b""
        for text in _itertools.chain(texts, [""]):
            group += text.encode()
            if group and (len(group) > _GROUP_BYTES or not text):
                file.write_table(arrow.csv.read_csv(arrow.py_buffer(group), **reading))
                group = b""
