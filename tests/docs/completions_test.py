"""Tests bash completions of a few incomplete command lines.

    completions_test.py build/release/bin/tilecast
"""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXPECTED = {
    ("tilecast", "sim"): {"simulate"},
    ("tilecast", "hw", "d"): {"diff"},
    ("tilecast", "simulate", "--fus"): {"--fusion"},
    ("tilecast", "simulate", "--format", ""): {"table", "json", "csv", "trace"},
    ("tilecast", "import", "trace", "--mod"): {"--module"},
    ("tilecast", "explain", "--device", "tpu_v3"): {"tpu_v3"},
}


def offered(words, folder):
    quoted = " ".join(f"'{word}'" for word in words)
    script = (f"source '{ROOT}/completions/tilecast.bash'; COMP_WORDS=({quoted}); "
              f"COMP_CWORD={len(words) - 1}; _tilecast; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "-c", script], cwd="/", capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}, check=True)
    return set(done.stdout.split())


def main():
    failures = 0
    for words, expected in EXPECTED.items():
        got = offered(words, pathlib.Path(sys.argv[1]).resolve().parent)
        if got != expected:
            failures += 1
            print(f"{' '.join(words)}<TAB>: got {sorted(got)}, expected {sorted(expected)}")
    print(f"{len(EXPECTED)} beginnings, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
