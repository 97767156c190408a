#!/usr/bin/env python3
"""Damaged inputs through every verb of the command: each run ends with an answer or one error, by
no signal, within its time and 2 GB, and writes nothing that a terminal would obey.

    verbs.py TILECAST COUNT [--seed N] [--jobs N] [--keep FOLDER]

Modules, descriptions and tables of the repository are mutated by their structure: lines change
places, are doubled or left out, numbers become extremes, words stand in the place of others, dots
and commas go. What fails is kept in FOLDER with its command; exits with 1 then.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_KB = 2 << 20
MOST_SECONDS = 60
MOST_CHARACTERS = 40_000  # per seed, so that mutations hit something
NUMBERS = ["0", "1", "-1", "2", "65536", "2147483647", "2147483648", "4294967296", "1e308", "-0.5",
           "9223372036854775807", "18446744073709551616", "nan"]
SOURCES = {"hlo": ["configs/**/*.hlo", "tests/regressions/advise/*.hlo", "tests/regressions/hlo_text/*"],
           "mlir": ["configs/**/*.mlir"], "yaml": ["configs/devices/*.yaml"],
           "csv": ["configs/examples/operators.csv"], "study": ["configs/examples/next_tpu.yaml"]}
PROGRAM = ["simulate -d {cpu} {file}", "simulate -d tpu_v3 -d h100_sxm -f json {file}",
           "simulate -d tpu_v3 --fusion none --model analytical -f trace {file}",
           "explain -d cpu_generic {file}", "explain -d a100_sxm_40gb -f json {file}",
           "kernels {file}", "convert {file} -o {out}.hlo", "convert {file} -o {out}.mlir",
           "tiles -d tpu_v3 {file}", "tiles -d h100_sxm --list schedules {file}",
           "features -d cpu_generic {file}", "sensitivity -d tpu_v3 {file}",
           "advise -d cpu_generic --unroll 1,4 {file}", "tune fusion -d tpu_v3 --costs 50 {file}",
           "tune program -d cpu_generic {file}", "measure host --labels compile --limit 1 "
           "--tiles-per-kernel 1 -d cpu_generic --budget 5s --out {out}.set {file}"]
VERBS = {"hlo": PROGRAM, "mlir": PROGRAM,
         "yaml": ["hw show {file}", "hw check {file}", "hw diff {file} tpu_v3",
                  "simulate -d {file} configs/examples/product.hlo",
                  "calibrate -d {file} configs/measurements/example_matmul -o {out}.yaml"],
         "csv": ["ops -d tpu_v3 {file}", "ops -d cpu_generic --keep-going -f json {file}",
                 "import operators -d tpu_v3 -o {out}.set {file}"],
         "study": ["sweep {file} -f csv"]}


def seeds(kind):
    return [text for pattern in SOURCES[kind] for path in sorted(ROOT.glob(pattern))
            if len(text := path.read_text(errors="replace")) < MOST_CHARACTERS]


def changed_lines(text, dice):
    lines = text.splitlines(keepends=True)
    at, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    kind = dice.randrange(4)
    if kind == 0:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 1:
        lines.insert(other, lines[at])
    elif kind == 2:
        del lines[at]
    else:
        lines.insert(other, lines.pop(at))
    return "".join(lines)


def changed_part(text, dice, pattern, make):
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    part = dice.choice(found)
    return text[:part.start()] + make(part.group(), found) + text[part.end():]


def mutated(text, dice):
    for _ in range(dice.randint(1, 4)):
        kind = dice.randrange(5)
        if kind == 0 and text:
            text = changed_lines(text, dice)
        elif kind == 1:
            text = changed_part(text, dice, r"\d+", lambda part, all: dice.choice(NUMBERS))
        elif kind == 2:
            text = changed_part(text, dice, r"[\w.-]+", lambda part, all: dice.choice(all).group())
        elif kind == 3:
            text = changed_part(text, dice, r"[][(){}=,:]", lambda part, all: dice.choice(["", part * 2]))
        else:
            text = changed_part(text, dice, r"\w", lambda part, all: dice.choice(["\x1b[2J", "\x9b", "é", ""]))
    return text


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fault(tilecast, command, folder):
    """The reason why this run is wrong; None if it is right."""
    out, err = folder / "stdout", folder / "stderr"
    with open(out, "wb") as to_out, open(err, "wb") as to_err:
        process = subprocess.Popen([tilecast, *shlex.split(command)], cwd=ROOT, stdout=to_out,
                                   stderr=to_err, stdin=subprocess.DEVNULL, preexec_fn=limited)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"ended by signal {-code}"
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if used.ru_maxrss > MOST_KB:
        return f"took {used.ru_maxrss >> 10} MB"
    said = err.read_bytes()
    if code > 0 and b"error: " not in said and not said.strip():
        return f"exit code {code} without a word"
    if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", said + out.read_bytes()):
        return "writes what a terminal obeys"
    return None


def one(tilecast, number, seed, keep):
    dice = random.Random(f"{seed} {number}")
    kind = dice.choices(list(SOURCES), weights=[8, 2, 3, 2, 1])[0]
    text = mutated(dice.choice(seeds(kind)), dice)
    faults = []
    with tempfile.TemporaryDirectory(prefix="tilecast_verbs_") as scratch:
        folder = pathlib.Path(scratch)
        file = folder / ("input." + ("yaml" if kind == "study" else kind))
        file.write_text(text, encoding="utf-8", errors="surrogateescape")
        for at, verb in enumerate(VERBS[kind]):
            command = verb.format(file=file, out=folder / f"out{at}", cpu="cpu_generic")
            if why := fault(tilecast, command, folder):
                faults.append(f"{number}: {why}: {verb}")
                if keep:
                    (keep / f"{number}.{at}{file.suffix}").write_text(f"{text}", encoding="utf-8")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tilecast")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--keep", type=pathlib.Path)
    given = parser.parse_args()
    tilecast = str(pathlib.Path(given.tilecast).resolve())
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
    found = 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for faults in pool.map(lambda n: one(tilecast, n, given.seed, given.keep), range(given.count)):
            for text in faults:
                print(text, flush=True)
            found += len(faults)
    print(f"{given.count} mutations, seed {given.seed}: {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
