#!/usr/bin/env python3
"""SIGKILL at random times: files are complete or rejected afterwards, and the next run ends like an
uninterrupted one.

    kill_recovery.py TILECAST [--kills N] [--seed N] [VERB ...]

Verbs: import, calibrate, train, tune, sweep, measure; N kills are divided among them (default
10; the issue's bar is 200). Times are uniform over 1.1 times an uninterrupted run. Exits with 1 if
recovery from a kill fails.
"""
import argparse
import csv
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEASURED = ROOT / "configs/measurements/example_matmul"


class Broken(Exception):
    """A kill from which recovery failed."""


class Case:
    """A verb, its output files, and their comparison; defined by subclasses."""

    name = ""
    resume = ()  # more arguments of the run after the kill

    def __init__(self, tilecast, folder):
        self.tilecast, self.folder = tilecast, folder
        self.prepare()

    def prepare(self):
        pass

    def command(self, out):
        raise NotImplementedError

    def start(self, arguments):
        return subprocess.Popen([self.tilecast, *map(str, arguments)], cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True)

    def run(self, *arguments):
        process = self.start(arguments)
        out, err = process.communicate(timeout=600)
        return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")

    def must(self, *arguments):
        code, out, err = self.run(*arguments)
        if code != 0:
            raise Broken(f"{' '.join(map(str, arguments))} ended with {code}: {err.strip()}")
        return out

    def content(self, out):
        """The verb's output for comparison; None: it does not exist."""
        path = self.folder / out
        return path.read_bytes() if path.is_file() else None

    def whole(self, out, expected):
        """After a kill: the result is absent or complete."""
        if self.content(out) not in (None, expected):
            raise Broken(f"{out} is there and half-written")


class Import(Case):
    name = "import"

    def prepare(self):
        with open(self.folder / "rows.csv", "w") as file:
            file.write("op,dtype,m,n,k,runtime_ns\n")
            for i in range(1, 60_001):
                file.write(f"matmul,bf16,{1024 + i},512,512,{60_000 + i}\n")
        (self.folder / "map.yaml").write_text(
            "name: made_up\nsource: nobody\nlicence: none\nhow_timed: not\ntiming: device\n"
            "device: tpu_v3\n"
            "tables:\n  - columns: {op: op, dtype: dtype, m: m, n: n, k: k,\n"
            "               runtime: {column: runtime_ns, unit: ns}}\n")

    def command(self, out):
        return ["import", "operators", "--mapping", "./map.yaml", "-o", out, "rows.csv"]

    def content(self, out):
        folder = self.folder / out
        if not folder.exists():
            return None
        return b"".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())


class Calibrate(Case):
    name = "calibrate"

    def command(self, out):
        (self.folder / out).mkdir(exist_ok=True)  # its name is the device's
        return ["calibrate", "-d", "tpu_v3", MEASURED, "-o", f"{out}/mine.yaml"]

    def content(self, out):
        return super().content(f"{out}/mine.yaml")


class Train(Case):
    name = "train"

    def prepare(self):
        (self.folder / "set").mkdir()
        (self.folder / "set/manifest.yaml").write_text(
            "format: tilecast.measurements/1\nname: made_up\nsource: nobody\nlicence: none\n"
            "timing: device\ndevice: tpu_v3\n")
        rows = "".join(f"matmul,bf16,1024,{512 * i},{512 * i},{7500 * i ** 3 + 10_000}\n"
                       for i in range(1, 25))
        (self.folder / "set/measurements.csv").write_text("op,dtype,m,n,k,runtime_ns\n" + rows)
        (self.folder / "e.yaml").write_text(
            "format: tilecast.experiment/1\nname: e\nclaim: It learns.\ndevice: tpu_v3\n"
            "data: [{name: made up, importer: set, from: ./set}]\n"
            "split: {kind: held_out_works, share: 25 %, seeds: 3}\n"
            "learners: [{name: trees, model: xgboost, features: [static, shape], trees: 40}]\n"
            "columns: [analytical, trees]\nmetrics: [mape]\n")

    def command(self, out):
        return ["train", "e.yaml", "--learner", "trees", "--out", out]

    def content(self, out):
        trees = self.folder / out / "trees.ubj"
        return trees.read_bytes() if trees.is_file() else None

    def whole(self, out, expected):
        super().whole(out, expected)
        if (self.folder / out).exists():
            self.must("evaluate", "-d", "tpu_v3", "--model", f"./{out}", "set")


class Sweep(Case):
    name = "sweep"
    resume = ("--resume",)

    def prepare(self):
        (self.folder / "s.yaml").write_text(
            "format: tilecast.study/1\nname: t\ndevices: [tpu_v3, tpu_v5e]\n"
            f"programs: [{ROOT}/configs/programs/mlp_train.hlo]\nmodels: [analytical]\naxes:\n"
            "  hbm.bandwidth: {log: [400 GB/s, 3.2 TB/s], points: 20}\n"
            "  clock: {range: [0.8 GHz, 2 GHz], points: 5}\n")

    def command(self, out):
        return ["sweep", "s.yaml", "-j", "2", "-f", "csv", "-o", out]


class Tune(Case):
    """The journal is the result; times are a function of program and tiles."""
    name = "tune"

    def command(self, out):
        return ["tune", "program", ROOT / "configs/programs/small_mixer.hlo", "-d", "cpu_generic",
                "--model", "analytical", "--top", "2", "--most-tiles", "6", "--hardware-budget",
                "600s", "--journal", f"{out}.csv", "-o", out, "--measure",
                'echo "$(cat {hlo} {tiles} | cksum | cut -c1-4) us"']


class Measure(Case):
    """Times vary: rows must be complete, of known kernels, and without duplicates."""
    name = "measure"

    def prepare(self):
        shutil.copy(ROOT / "configs/programs/small_pointwise_train.hlo", self.folder / "two.hlo")

    def command(self, out):
        return ["measure", "host", "--out", out, "-d", "cpu_generic", "--limit", "3",
                "--tiles-per-kernel", "4", "--longest", "20ms", "--configurations", "2", "two.hlo"]

    def content(self, out):
        return b"times differ" if (self.folder / out / "manifest.yaml").is_file() else None

    def whole(self, out, expected):
        table = self.folder / out / "measurements.csv"
        if not (self.folder / out / "manifest.yaml").is_file():
            return
        rows = list(csv.reader(table.read_text().splitlines()))
        if any(len(row) != len(rows[0]) for row in rows[:-1]):
            raise Broken(f"{table} has a torn row that is not its last")
        for row in csv.DictReader(table.read_text().splitlines()):
            if row.get("kernel") and not (self.folder / out / row["kernel"].split("#")[0]).exists():
                raise Broken(f"a row names {row['kernel']}, which is not there")
        keys = [row[:-1] for row in rows]
        if len(set(map(tuple, keys))) != len(keys):
            raise Broken("a row is there twice")


CASES = {case.name: case for case in (Import, Calibrate, Train, Tune, Sweep, Measure)}


def kill_once(case, out, after_s, expected):
    process = case.start(case.command(out))
    try:
        process.communicate(timeout=after_s)
        ended = True
    except subprocess.TimeoutExpired:
        ended = False
        process.send_signal(signal.SIGKILL)
        process.communicate()
    case.whole(out, expected)
    if ended:
        return False
    again = case.command(out)
    finished = case.content(out) is not None and case.name != "measure"
    if not finished:
        case.must(*again, *case.resume)
    if case.content(out) != expected:
        raise Broken(f"{out} is another than that of an unbroken run")
    case.whole(out, expected)
    return True


def try_verb(case, kills, moments):
    began = time.monotonic()
    case.must(*case.command("unbroken"))
    took = time.monotonic() - began
    expected, hits, failures = case.content("unbroken"), 0, []
    if expected is None:
        raise Broken(f"{case.name}: an unbroken run leaves nothing")
    for i in range(kills):
        after = moments.uniform(0, 1.1 * took)
        try:
            hits += kill_once(case, f"killed_{i}", after, expected)
        except Broken as broken:
            failures.append(f"{case.name}, killed after {after:.3f} s: {broken}")
    print(f"{case.name}: {kills} tries over {1.1 * took:.2f} s, {hits} killed before the end, "
          f"{len(failures)} not recovered", flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilecast", type=pathlib.Path)
    parser.add_argument("verbs", nargs="*", help=f"of {', '.join(CASES)}")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_intermixed_args()
    verbs = asked.verbs or list(CASES)
    moments, failures = random.Random(asked.seed), []
    for number, verb in enumerate(verbs):
        kills = asked.kills // len(verbs) + (number < asked.kills % len(verbs))
        if kills == 0:
            continue
        with tempfile.TemporaryDirectory(prefix="tilecast_kills_") as folder:
            case = CASES[verb](asked.tilecast.resolve(), pathlib.Path(folder))
            failures += try_verb(case, kills, moments)
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
