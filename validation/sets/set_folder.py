"""Shared by scripts that convert a public data set to a measurement set (docs/measurements.md).

A script reads third-party files and calls write_set(); it reports a DataError as its only message.
"""
import argparse
import csv
import pathlib
import shutil
import sys
import tempfile


class DataError(Exception):
    """An error in a file, with its place."""


def arguments(doc, inputs):
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+", metavar="FILE", help=inputs)
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="folder to make")
    parser.add_argument("--force", action="store_true", help="replace a measurement set there")
    parser.add_argument("--keep-going", action="store_true",
                        help="list bad rows and leave them out")
    return parser.parse_args()


def require_free(target, force):
    """Only a measurement set may be replaced, and only with `force`."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not (target / "manifest.yaml").is_file():
        raise DataError(f"{target}: is there and no measurement set, so it is not replaced")
    if not force:
        raise DataError(f"{target}: the folder is not empty; --force replaces it")


def manifest_text(manifest):
    def quoted(value):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = ["format: tilecast.measurements/1"]
    for key, value in manifest.items():
        if isinstance(value, dict):
            lines.append(f"{key}:")
            lines += [f"  {quoted(name)}: {quoted(value[name])}" for name in sorted(value)]
        else:
            lines.append(f"{key}: {quoted(value)}")
    return "\n".join(lines) + "\n"


def write_set(target, manifest, columns, rows, files):
    """`files`: name -> text. The set is written to a temporary folder and moved when complete."""
    target = pathlib.Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as beside:
        fresh = pathlib.Path(beside) / "set"
        fresh.mkdir()
        with open(fresh / "measurements.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(columns)
            table.writerows(rows)
        for name, text in {**files, "manifest.yaml": manifest_text(manifest)}.items():
            (fresh / name).parent.mkdir(exist_ok=True)
            (fresh / name).write_text(text, encoding="utf-8")
        if target.exists():
            shutil.rmtree(target)
        fresh.rename(target)


def bad_row(error, keep_going):
    """Reports the row that is left out if `keep_going`; else raises the error."""
    if not keep_going:
        raise error
    print(f"left out: {error}", file=sys.stderr)


def run(make):
    """Prints the text returned by `make()`, or its error; returns the exit status."""
    try:
        print(make())
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
