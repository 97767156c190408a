"""Training a transformer by its config.json: seconds of a step, tokens per second, MFU, memory.

    import tilecast.training
    plan = tilecast.training.plan("config.json", "v6e-256", batch=3, sequence=8192, data=256, remat="full")

A step is a forward and a backward pass over the operators of tilecast/transformer.py, each priced as by
`tilecast ops`, and Adam in f32. Collectives of tensor groups wait for each other and for the products; weights
and gradients of the `data` replicas travel beside the computation, and count where they take longer.
"""
from __future__ import annotations

import dataclasses as _dataclasses
import typing as _typing

import tilecast as _tilecast

from . import serving as _serving
from .serving import Plan
from .transformer import BYTES, Launch, Layout, Transformer

if _typing.TYPE_CHECKING:
    import os
    from typing import Any, Iterable, List, Mapping, Union

__all__ = ["Layout", "Plan", "Transformer", "plan"]

# Passes over its arrays that the gradient of an operator takes, where that is no product: norms and rotations read
# and write as much again, a gated activation five arrays instead of three, experts two products for one.
_BACKWARD = {"layernorm": 1, "copy": 1, "multiply": 5 / 3, "softmax": 1, "experts": 2, "convert": 1, "all_reduce": 1,
             "all_to_all": 1, "reduce": 0}
_ADAM = 30 / 12  # bytes of a parameter: gradient, value and two moments in, three and the 16-bit copy out; of an add
_REMAT = ("none", "full")


def _backward(launch: Launch) -> List[Launch]:
    row, name = launch.row, f"{launch.name} (gradient)"
    if row["op"] == "attention":
        return [Launch(name, {**row, "backward": 1}, launch.count)]
    if row["op"] != "matmul":
        return [Launch(name, row, launch.count * _BACKWARD[row["op"]])]
    m, n, k = row["m"], row["n"], row["k"]
    return [Launch(name, {**row, **sizes}, launch.count)
            for sizes in (dict(m=m, n=k, k=n), dict(m=k, n=n, k=m))]


def _exchange(of, device, layout, shard):
    """Weights and gradients of the replicas, a layer at a time. Beyond a host the groups of all its devices share its
    network: priced as one group with all their data."""
    if layout.data == 1:
        return []
    parameters = of.weight_bytes(layout) / BYTES[of.dtype]
    groups = layout.tensor if 0 < device._core.host_devices < layout.devices else 1
    row = {"dtype": of.dtype, "elements": int(parameters / of.layers) * groups, "devices": layout.data * groups}
    if not shard:
        return [Launch("gradients", {"op": "all_reduce", **row}, of.layers)]
    return [Launch("weights", {"op": "all_gather", **row}, 2 * of.layers),
            Launch("gradients", {"op": "reduce_scatter", **row}, of.layers)]


def _passes(of, layout, batch, sequence, remat):
    """Launches of the forward and the backward pass, and of the optimiser's step."""
    forward = of.step(layout, batch, sequence, sequence, train=True)
    backward = [gradient for one in forward for gradient in _backward(one)]
    if remat == "full":
        backward += [_dataclasses.replace(one, name=f"{one.name} (again)") for one in forward
                     if one.name not in ("head", "loss", "embedding")]
    return forward, backward


def plan(config: Union[Transformer, str, os.PathLike[str], Mapping[str, Any]], device: _tilecast._ADevice,
         batch: Union[int, Iterable[int]] = 1, sequence: Union[int, Iterable[int]] = 4096,
         tensor: Union[int, Iterable[int]] = 1, expert: Union[int, Iterable[int]] = 1,
         data: Union[int, Iterable[int]] = 1, shard: bool = True, remat: str = "none",
         model: _tilecast._AModel = "default") -> Plan:
    """Prices a training step over all combinations of its arguments. Returns a Plan.

    batch: sequences of a replica; shard: weights, gradients and moments are cut over the replicas (FSDP, ZeRO-3),
    else each keeps them; remat: "full" computes every layer again in the backward pass, "none" keeps what it needs.
    """
    if remat not in _REMAT:
        raise _tilecast.Error(f"remat: got {remat!r}, expected one of {', '.join(_REMAT)}")
    of = config if isinstance(config, Transformer) else Transformer(config)
    device = _tilecast._device(device)
    found, notes = _serving.layouts(of, tensor, expert, data)
    points = [(layout, length, count) for layout in found for length in _serving.counts_of("sequence", sequence)
              for count in _serving.counts_of("batch", batch)]
    steps = []
    for layout, length, count in points:
        forward, backward = _passes(of, layout, count, length, remat)
        shards = layout.data if shard else 1
        own = int(of.weight_bytes(layout) / BYTES[of.dtype] / shards)
        adam = [Launch("adam", {"op": "add", "dtype": "f32", "elements": own}, _ADAM)]
        steps.append({"forward": forward, "backward": backward, "optimiser": adam,
                      "beside": _exchange(of, device, layout, shard)})
    prices = _serving.Prices([launches for step in steps for launches in step.values()], device, model)
    rows = [_row(of, device, *point, step, prices, shard, remat) for point, step in zip(points, steps)]
    notes += _serving.notes_on(of, device, max(one.devices for one in found))
    return Plan(rows, [prices.operators(**step) for step in steps], notes)


def _row(of, device, layout, sequence, batch, step, prices, shard, remat):
    forward, backward, optimiser, beside = (prices.time_s(launches) for launches in step.values())
    time, tokens = max(forward + backward, beside) + optimiser, batch * sequence
    flops = sum(2 * one.count * one.row["batch"] * one.row["m"] * one.row["n"] * one.row["k"]
                for one in step["forward"] if one.row["op"] == "matmul")
    peak = device._core.matrix_peak(of.dtype)
    # In f32 weights, gradients and two moments; in 16 bits weights, of two layers where replicas share them.
    parameters = of.weight_bytes(layout) / BYTES[of.dtype]
    states = parameters * (16 / layout.data + 4 / of.layers if shard else 18)
    saved = of.layers * tokens * of.hidden * BYTES[of.dtype] if remat == "full" else sum(map(_saved, step["forward"]))
    activations = saved + of.activation_bytes(layout, tokens, tokens)
    return {"batch": batch, "sequence": sequence, **_serving.sizes_of(layout), "step_s": time,
            "computed_s": forward + backward, "beside_s": beside,
            "tokens_per_s_per_chip": tokens / time / layout.tensor * device._core.cores_per_chip,
            "mfu": 3 * flops / time / peak if peak else None, "states_bytes": states,
            "activation_bytes": activations, "memory_bytes": states + activations,
            "fits": states + activations <= device._core.memory_bytes}


def _saved(launch):
    """Bytes of a forward operator's operands that its gradient reads."""
    row = launch.row
    if row["op"] == "matmul":
        size = row["m"] * row["k"]
    elif row["op"] == "layernorm":
        size = row["rows"] // 2 * row["columns"]
    elif row["op"] == "multiply":
        size = 2 * row["elements"]
    elif row["op"] == "softmax":
        size = row["rows"] * row["columns"]
    elif row["op"] == "attention":
        size = row["batch"] * row["q_len"] * row["head_dim"] * (row["heads"] + 2 * row["kv_heads"])
    elif row["op"] == "experts":
        size = row["tokens"] * row["topk"] * (row["hidden"] + 3 * row["inter"] // row["tp"]) // row["ep"]
    else:
        size = 0
    return launch.count * size * BYTES[row["dtype"]]


def main() -> None:
    options = _serving.parser("tilecast.training", __doc__, "sequence")
    options.add_argument("--remat", choices=_REMAT, default="none", help="full: compute layers again (none)")
    options.add_argument("--replicate", action="store_true", help="every replica keeps all weights")
    asked = options.parse_args()
    _serving.run(asked, lambda device: plan(Transformer(asked.config, asked.weights), device, asked.batch,
                                            asked.sequence, asked.tensor, asked.expert, asked.data,
                                            not asked.replicate, asked.remat, asked.model))


if __name__ == "__main__":
    main()
