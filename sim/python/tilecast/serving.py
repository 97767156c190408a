"""Serving a transformer by its config.json: time to the first token, time of each further one, memory.

    import tilecast.serving
    plan = tilecast.serving.plan("config.json", "h100_sxm", batch=[1, 8, 32], context=2048, tensor=[1, 8])
    plan.to_pandas()
    plan.best(ttft_s=0.5, tpot_s=0.02)

    python -m tilecast.serving config.json --device h100_sxm --batch 1,8,32 --context 2048 --tensor 1,8

Every operator of a step (tilecast/transformer.py) is priced as by `tilecast ops`. A step is their sum: kernels
back to back, as in a CUDA graph, without the host's time. The prompts of a batch are read in one pass.
"""
from __future__ import annotations

import argparse as _argparse
import itertools as _itertools
import json as _json
import os as _os
import re as _re
import sys as _sys
import typing as _typing

import tilecast as _tilecast

from .transformer import Layout, Transformer, merged as _merged

if _typing.TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

    _Counts = Union[int, Iterable[int]]

__all__ = ["Layout", "Plan", "Row", "Transformer", "plan"]

_CHUNK = 8192  # tokens that a server reads at once: only their activations take memory


class Row(dict):
    """One row of a Plan."""

    def __repr__(self):
        return repr(_tilecast.Table.of_rows([self]))

    def _repr_html_(self):
        return _tilecast.Table.of_rows([self])._repr_html_()


class Plan(_tilecast.Table):
    """A row for each batch, context and layout: what a step takes, and what a device holds.

    batch: sequences of a replica; ttft_s: until every prompt of a batch has its first token; tpot_s: a
    step with `context` tokens in the cache and half of `output`; request_s: all `output` tokens;
    tokens_per_s_per_chip: of decoding; fits: weights, cache and activations are in the device's memory.
    tilecast.training has step_s, computed_s and beside_s (network beside it), mfu (products, without attention)
    and states_bytes (weights, gradients, moments) instead.
    """

    def __init__(self, rows: List[Dict[str, Any]], operators: List[List[Dict[str, Any]]], notes: List[str]):
        super().__init__({name: [row[name] for row in rows] for name in rows[0]})
        self._operators, self.notes = operators, notes

    def best(self, **limits: Optional[float]) -> Optional[Row]:
        """The row with the most tokens per second and chip that fits and keeps limits of columns: ttft_s=0.5,
        devices=8. None without one."""
        for name in limits.keys() - set(self.names):
            raise _tilecast.Error(f"best: got {name!r}, expected one of {', '.join(self.names)}")
        good = [Row(row) for row in self if row["fits"]
                and all(limit is None or row[name] <= limit for name, limit in limits.items())]
        return max(good, key=lambda row: row["tokens_per_s_per_chip"], default=None)

    def operators(self, row: int = 0) -> _tilecast.Table:
        """What a row's steps are made of: step, operator, how often, seconds of all, what limits each."""
        return _tilecast.Table.of_rows(self._operators[row])


class Prices:
    """Seconds and limits of rows of `tilecast ops`, all asked for at once."""

    def __init__(self, steps, device, model):
        rows = list(dict.fromkeys(key for step in steps for key in _merged(step)))
        names = list(dict.fromkeys(name for row in rows for name, _ in row))
        table = {name: [dict(row).get(name) for row in rows] for name in names}
        priced = _tilecast.ops(table, device, model)
        self._found = dict(zip(rows, zip(priced["estimate_ns"] * 1e-9, priced["bound"])))

    def __call__(self, launch):
        return self._found[tuple(sorted(launch.row.items()))]

    def time_s(self, step):
        return float(sum(self(launch)[0] * launch.count for launch in step))

    def operators(self, **steps):
        parts = {}
        for step, launches in steps.items():
            for launch in launches:
                time, bound = self(launch)
                part = parts.setdefault((step, launch.name), {"step": step, "operator": launch.name, "count": 0,
                                                              "time_s": 0.0, "bound": bound})
                part["count"] += launch.count
                part["time_s"] += float(time) * launch.count
        return list(parts.values())


def plan(config: Union[Transformer, str, _os.PathLike[str], Mapping[str, Any]], device: _tilecast._ADevice,
         batch: _Counts = 1, context: _Counts = 2048, output: int = 1, tensor: _Counts = 1, expert: _Counts = 1,
         data: _Counts = 1, weights: str = "", cache: str = "", model: _tilecast._AModel = "default") -> Plan:
    """Prices serving of a transformer over all combinations of its arguments. Returns a Plan.

    config: a Transformer, a config.json or its contents; context: tokens of a prompt; output: tokens that are
    generated; tensor, expert, data: devices (transformer.Layout); weights, cache: their types where they are not
    those of the file ("f8e4m3fn": products multiply 8 bits, too). Layouts that cannot hold the model are left
    out with a note.
    """
    of = config if isinstance(config, Transformer) else Transformer(config, weights, cache)
    device = _tilecast._device(device)
    batches, contexts, (output,) = counts_of("batch", batch), counts_of("context", context), counts_of("output", output)
    found, notes = layouts(of, tensor, expert, data)
    points = list(_itertools.product(found, contexts, batches))
    steps = [(of.step(layout, batch, context, context), of.step(layout, batch, 1, context + (output + 1) // 2))
             for layout, context, batch in points]
    prices = Prices([step for pair in steps for step in pair], device, model)
    rows = [_row(of, device, *point, output, *map(prices.time_s, pair)) for point, pair in zip(points, steps)]
    operators = [prices.operators(prefill=prefill, decode=decode) for prefill, decode in steps]
    notes += notes_on(of, device, max(max(layout.tensor, layout.expert) for layout in found))
    return Plan(rows, operators, notes)


def layouts(of: Transformer, tensor: _Counts, expert: _Counts, data: _Counts) -> Tuple[List[Layout], List[str]]:
    """The combinations that can hold the model, and a note on the others; an Error if none can."""
    good, refused = [], []
    sizes = (counts_of(name, given) for name, given in (("tensor", tensor), ("expert", expert), ("data", data)))
    for layout in _itertools.starmap(Layout, _itertools.product(*sizes)):
        try:
            of.check(layout)
            good.append(layout)
        except _tilecast.Error as error:
            refused.append(str(error))
    if not good:
        raise _tilecast.Error(refused[0])
    return good, [f"{len(refused)} layouts left out, the first: {refused[0]}"] if refused else []


def counts_of(name, given):
    counts = [given] if isinstance(given, int) else list(given)
    for count in counts:
        if not isinstance(count, int) or count < 1:
            raise _tilecast.Error(f"{name}: got {count!r}, expected a whole number from 1")
    return counts


def sizes_of(layout: Layout) -> Dict[str, int]:
    return {"tensor": layout.tensor, "expert": layout.expert, "data": layout.data, "devices": layout.devices}


def _row(of, device, layout, context, batch, output, ttft, tpot):
    weights = of.weight_bytes(layout)
    cache = batch * of.cache_bytes(layout, context + output)
    activations = of.activation_bytes(layout, batch, min(batch * context, max(_CHUNK, batch)))
    whole = weights + cache + activations
    return {"batch": batch, "context": context, **sizes_of(layout), "ttft_s": ttft, "tpot_s": tpot,
            "request_s": ttft + (output - 1) * tpot,
            "tokens_per_s_per_chip": batch / tpot / layout.tensor * device._core.cores_per_chip,
            "weights_bytes": weights, "cache_bytes": cache, "activation_bytes": activations, "memory_bytes": whole,
            "fits": whole <= device._core.memory_bytes}


def notes_on(of, device, widest):
    """widest: devices of the largest group of a collective."""
    notes, most = [], device._core.host_devices
    if 0 < most < widest and not device._core.in_slice:
        notes.append(f"{widest} devices exchange as on one host, which has {most}: name a slice of {device.name} "
                     "(h100x16) for the network between hosts")
    if of.experts:
        notes.append("tokens choose experts evenly")
    if device._core.cores_per_chip > 1:
        notes.append(f"a device is one core of {device.name}, whose chips have {device._core.cores_per_chip}")
    return notes


def _seconds(text):
    found = _re.fullmatch(r"([\d.]+) *(us|ms|s)", text)
    if not found:
        raise _argparse.ArgumentTypeError(f"got {text!r}, expected a time, as 500ms")
    return float(found[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1}[found[2]]


def _list(text):
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise _argparse.ArgumentTypeError(f"got {text!r}, expected whole numbers, as 1,8,32") from None


def parser(module: str, description: Optional[str], length: str) -> _argparse.ArgumentParser:
    """Options that the commands of both modules share. length: "context" or "sequence"."""
    made = _argparse.ArgumentParser(prog=f"python -m {module}", description=description,
                                    formatter_class=_argparse.RawDescriptionHelpFormatter)
    made.add_argument("config", help="config.json of the model")
    made.add_argument("-d", "--device", required=True, help="preset, slice of one (h100x16) or YAML file")
    made.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a device value")
    for name, default, what in (("batch", "1", "sequences of a replica"), (length, "2048", "tokens of a sequence"),
                                ("tensor", "1", "devices of a replica"), ("data", "1", "replicas"),
                                ("expert", "1", "devices of a layer's experts")):
        made.add_argument(f"--{name}", type=_list, default=default, metavar="N,...", help=f"{what} ({default})")
    made.add_argument("--weights", default="", metavar="TYPE", help="bf16, f8e4m3fn ... (as in the file)")
    made.add_argument("--model", default="default", help="as of tilecast ops")
    made.add_argument("--operators", action="store_true", help="also what the steps of the best, or first, row are")
    made.add_argument("-f", "--format", choices=("table", "csv", "json"), default="table")
    return made


def _show(asked, found, limits):
    if asked.format != "table":
        print(found.to_csv() if asked.format == "csv" else _json.dumps(list(found), indent=1), end="")
        return
    print(found)
    best = found.best(**limits)
    if any(limits.values()):
        fastest = ", ".join(f"least {name[:-2]} {_tilecast._core._si(min(found[name]), 's')}" for name in limits)
        print(f"\nbest within the limits:\n{best}" if best else f"\nno row keeps the limits and fits: {fastest}")
    if asked.operators:
        print(f"\n{found.operators(list(found).index(best) if best and any(limits.values()) else 0)}")
    for note in found.notes:
        print(f"note: {note}")


def run(asked: _argparse.Namespace, make: Callable[[Any], Plan], **limits: Optional[float]) -> None:
    """Prints the plan that `make` makes for the device."""
    try:
        _show(asked, make(_tilecast.Device(asked.device, asked.set)), limits)
        _sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        _os.dup2(_os.open(_os.devnull, _os.O_WRONLY), _sys.stdout.fileno())
    except _tilecast.Error as error:
        _sys.exit(f"error: {error}")


def main() -> None:
    options = parser("tilecast.serving", __doc__, "context")
    options.add_argument("--output", type=int, default=1, metavar="N", help="tokens generated (1)")
    options.add_argument("--cache", default="", metavar="TYPE", help="of keys and values (as in the file)")
    options.add_argument("--ttft", type=_seconds, metavar="TIME", help="find the best row within this: 500ms")
    options.add_argument("--tpot", type=_seconds, metavar="TIME", help="... and this: 20ms")
    asked = options.parse_args()
    run(asked, lambda device: plan(asked.config, device, asked.batch, asked.context, asked.output, asked.tensor,
                                   asked.expert, asked.data, asked.weights, asked.cache, asked.model),
        ttft_s=asked.ttft, tpot_s=asked.tpot)


if __name__ == "__main__":
    main()
