import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy
import numpy.typing
import pandas

_Path = Union[str, "os.PathLike[str]"]
_Integers = numpy.typing.ArrayLike
_Paths = Union[_Path, Iterable[_Path]]
_Names = Union[str, Iterable[str]]
_Columns = Union[Mapping[str, Sequence[Any]], pandas.DataFrame]

class Error(ValueError):
    file: Optional[str]
    line: Optional[int]
    column: Optional[int]

class Device:
    def __init__(
        self, name_or_path: _Path, set: Union[Mapping[str, str], Iterable[str]] = ...
    ) -> None: ...
    @property
    def name(self) -> str: ...
    def yaml(self) -> str: ...

class Program:
    def __init__(self, path: _Path, fuse: bool = ..., trip_count: float = ...) -> None: ...
    @classmethod
    def from_text(
        cls, text: Union[str, bytes], name: str = ..., fuse: bool = ..., trip_count: float = ...
    ) -> Program: ...
    @property
    def file(self) -> str: ...
    def kernels(self, device: Union[Device, _Path]) -> List[str]: ...

class Model:
    def __init__(self, name: _Path, device: Union[Device, _Path]) -> None: ...
    @property
    def name(self) -> str: ...

class Simulation:
    @property
    def program(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def time_s(self) -> float: ...
    @property
    def timeline_s(self) -> float: ...
    @property
    def host_dispatch_s(self) -> float: ...
    @property
    def interval_s(self) -> Optional[Tuple[float, float]]: ...
    @property
    def believed(self) -> Optional[Dict[str, float]]: ...
    @property
    def notes(self) -> List[str]: ...
    @property
    def numbers(self) -> Dict[str, float]: ...
    def columns(self) -> Dict[str, Any]: ...
    def to_frame(self) -> pandas.DataFrame: ...
    def to_dict(self) -> Dict[str, Any]: ...

class Explanation:
    @property
    def kernel(self) -> str: ...
    @property
    def time_s(self) -> float: ...
    @property
    def infeasible(self) -> Optional[str]: ...
    def to_dict(self) -> Dict[str, Any]: ...

class Table:
    @property
    def names(self) -> List[str]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> Union["numpy.ndarray[Any, Any]", List[str]]: ...
    def to_frame(self) -> pandas.DataFrame: ...

class Evaluation:
    def scores(self) -> Table: ...
    def rows(self) -> Table: ...
    def to_frame(self) -> pandas.DataFrame: ...
    def to_dict(self) -> Dict[str, Any]: ...

class Calibration:
    accepted: bool
    notes: List[str]
    file: Optional[str]
    def constants(self) -> pandas.DataFrame: ...
    def to_dict(self) -> Dict[str, Any]: ...

class Training:
    directory: str
    def metrics(self) -> pandas.DataFrame: ...
    def to_dict(self) -> Dict[str, Any]: ...

def devices() -> List[str]: ...
def simulate(
    program: Union[Program, _Path],
    device: Union[Device, _Path],
    model: Union[Model, _Path] = ...,
    skip_unknown: bool = ...,
) -> Simulation: ...
def explain(
    program: Union[Program, _Path],
    device: Union[Device, _Path],
    kernel: str = ...,
    tile: str = ...,
    top: int = ...,
    model: Union[Model, _Path] = ...,
) -> Explanation: ...
def tiles(
    program: Union[Program, _Path],
    device: Union[Device, _Path],
    output: Optional[_Integers] = ...,
    kernel_tile: Optional[_Integers] = ...,
    stages: Optional[_Integers] = ...,
    warps: Optional[_Integers] = ...,
    kernel: str = ...,
    model: Union[Model, _Path] = ...,
) -> "numpy.ndarray[Any, numpy.dtype[numpy.float64]]": ...
def list_tiles(
    program: Union[Program, _Path],
    device: Union[Device, _Path],
    kernel: str = ...,
    listing: str = ...,
    limit: int = ...,
) -> Dict[str, Optional["numpy.ndarray[Any, numpy.dtype[numpy.int64]]"]]: ...
def ops(
    table: Union[_Path, _Columns],
    device: Union[Device, _Path],
    model: Union[Model, _Path] = ...,
    repeated: bool = ...,
    keep_going: bool = ...,
) -> Table: ...
def tile_table(
    program: Union[Program, _Path],
    device: Union[Device, _Path],
    table: Optional[Union[_Path, _Columns]] = ...,
    kernel: str = ...,
    listing: str = ...,
    most: Optional[int] = ...,
    model: Union[Model, _Path] = ...,
) -> Table: ...
def evaluate(
    sets: _Paths,
    devices: Union[Device, _Path, Iterable[Union[Device, _Path]]],
    models: _Paths = ...,
    by: _Names = ...,
    doubted: bool = ...,
    draws: int = ...,
    seed: int = ...,
    jobs: int = ...,
) -> Evaluation: ...
def calibrate(
    sets: _Paths,
    device: Union[Device, _Path],
    output: Optional[_Path] = ...,
    name: str = ...,
    classes: _Names = ...,
    kernels: _Names = ...,
    fix: _Names = ...,
    rows: int = ...,
    other_machine: bool = ...,
    accept_suspicious: bool = ...,
    then_train: Optional[_Path] = ...,
    force: bool = ...,
    jobs: int = ...,
) -> Calibration: ...
def train(
    experiment: _Path,
    out: _Path,
    learner: str = ...,
    data: _Path = ...,
    force: bool = ...,
    resume: bool = ...,
    jobs: int = ...,
) -> Training: ...
def sweep(
    study: _Path,
    pareto: _Names = ...,
    front: bool = ...,
    journal: _Path = ...,
    resume: bool = ...,
    jobs: int = ...,
) -> Table: ...
