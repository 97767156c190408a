"""Shared by scripts that convert a public data set to a measurement set (docs/measurements.md).

A script reads third-party files and calls write_set(); it reports a DataError as its only message.
"""
import argparse
import csv
import pathlib
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


def files_of_set(target):
    """The files of a set that write_set() wrote."""
    with open(target / "measurements.csv", newline="", encoding="utf-8") as file:
        first = {row[0] for row in csv.reader(file) if row}
    graphs = {f"graphs/{name}.{part}.csv" for name in first for part in ("nodes", "edges")}
    return {"manifest.yaml", "measurements.csv"} | first | graphs


def require_free(target, force):
    """Only a measurement set may be replaced, with `force`, and only if nothing else is lost."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not (target / "manifest.yaml").is_file():
        raise DataError(f"{target}: is there and no measurement set, so it is not replaced")
    if not force:
        raise DataError(f"{target}: the folder is not empty; --force replaces it")
    ours = files_of_set(target)
    for path in sorted(target.rglob("*")):
        name = path.relative_to(target).as_posix()
        if path.is_symlink() or (not path.is_dir() and name not in ours):
            raise DataError(f"{target}: holds '{name}', which is no file of the set; "
                            "it would be lost")


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
    """`files`: name -> text. The set is written to a temporary folder and moved when complete; what
    it replaces is deleted after that."""
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
        kept = pathlib.Path(beside) / "kept"
        if target.exists():
            target.rename(kept)
        try:
            fresh.rename(target)
        except OSError:
            if kept.exists():
                kept.rename(target)
            raise


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
