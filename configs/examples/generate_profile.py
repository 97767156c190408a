#!/usr/bin/env python3
"""Writes step.xplane.pb: a made-up profile of three steps of step.hlo on one TPU v3 core.

    configs/examples/generate_profile.py           writes it beside this script
    configs/examples/generate_profile.py --check   exits 1 where the file there is another

The format is XSpace (tsl/profiler/protobuf/xplane.proto), written field by field: a real profile comes
from jax.profiler.trace(). Times are invented.
"""
import pathlib
import sys

MODULE, OPS = "jit_step(1)", {"add.1": 1.9, "tanh.2": 2.3, "copy.3": 1.7}  # us
STEPS, GAP_US, STEP_US = 3, 0.2, 20


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    """A field of a message: a number, or text, or a message that is written already."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def entry(number, key, message):
    """One pair of a map<int64, message>."""
    return field(number, field(1, key) + field(2, message))


def line(name, events):
    """events: (metadata id, start in us, duration in us)"""
    body = field(2, name)
    for metadata, start, duration in events:
        body += field(4, field(1, metadata) + field(2, round(start * 1e6)) + field(3, round(duration * 1e6)))
    return field(3, body)


def main():
    names = [MODULE, *OPS]
    plane = field(2, "/device:TPU:0")
    runs, ops = [], []
    for step in range(STEPS):
        start = step * STEP_US
        runs.append((1, start, sum(OPS.values()) + GAP_US * len(OPS)))
        for i, duration in enumerate(OPS.values()):
            ops.append((i + 2, start, duration * (1 + 0.01 * step)))
            start += duration * (1 + 0.01 * step) + GAP_US
    plane += line("XLA Modules", runs) + line("XLA Ops", ops)
    for i, name in enumerate(names):
        plane += entry(4, i + 1, field(1, i + 1) + field(2, name))
    plane += entry(5, 1, field(1, 1) + field(2, "device_type_string"))
    plane += field(6, field(1, 1) + field(5, "TPU v3"))
    profile = field(1, plane)
    path = pathlib.Path(__file__).with_name("step.xplane.pb")
    if "--check" in sys.argv:
        sys.exit(0 if path.read_bytes() == profile else f"{path.name} is not what this script writes")
    path.write_bytes(profile)


if __name__ == "__main__":
    main()
