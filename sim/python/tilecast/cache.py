"""What is kept between runs under $TILECAST_CACHE (~/.cache/tilecast): programs that XLA compiled (tilecast.jax).

    tilecast cache                   # of the Python package; as python -m tilecast.cache
    tilecast cache --limit 500MB     # keeps at most that from now on (default: 1 GiB); the oldest files go
    tilecast cache --clear
"""
from __future__ import annotations

import argparse as _argparse
import os as _os
import pathlib as _pathlib
import re as _re
import sys as _sys
import typing as _typing

from .studies import replace_file as _replace_file

if _typing.TYPE_CHECKING:
    from typing import Optional, Sequence

__all__ = ["folder", "get", "limit", "main", "put", "shrink"]


def folder() -> _pathlib.Path:
    base = _os.environ.get("XDG_CACHE_HOME") or _os.path.expanduser("~/.cache")
    return _pathlib.Path(_os.environ.get("TILECAST_CACHE") or _os.path.join(base, "tilecast"))


def get(kind: str, key: str, default: str = "") -> str:
    """What put() kept; `default` if it is not there."""
    try:
        return (folder() / kind / key).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return default


def put(kind: str, key: str, text: str) -> None:
    """Keeps a text by the hash of what it follows from. A folder that cannot be written costs time, not the answer."""
    try:
        (folder() / kind).mkdir(parents=True, exist_ok=True)
        _replace_file(folder() / kind / key, text)
        shrink(limit())
    except OSError:
        pass


def limit() -> int:
    """Bytes that are kept."""
    said = get("", "limit")
    return int(said) if said.isdecimal() else 1 << 30


def shrink(most: int) -> None:
    """Removes the oldest files beyond `most` bytes."""
    for path in sorted(folder().glob("*/*"), key=lambda path: -path.stat().st_mtime):
        most -= path.stat().st_size
        if most < 0:
            path.unlink(missing_ok=True)


def _bytes(text):
    found = _re.fullmatch(r"([\d.]+) ?([kMG]?)(i?)B", text)
    if not found:
        raise _argparse.ArgumentTypeError(f"got '{text}', expected a size as 500MB or 2GiB")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** " kMG".index(found[2] or " "))


def main(arguments: Optional[Sequence[str]] = None) -> int:
    said = _argparse.ArgumentParser("tilecast cache", description=(__doc__ or "").split("\n", maxsplit=1)[0])
    said.add_argument("--limit", type=_bytes, help="keep at most this from now on, as 500MB or 2GiB")
    said.add_argument("--clear", action="store_true", help="remove all that is kept")
    options = said.parse_args(arguments)
    if options.limit is not None:
        folder().mkdir(parents=True, exist_ok=True)
        _replace_file(folder() / "limit", str(options.limit))
    shrink(0 if options.clear else limit())
    print(f"{folder()}: at most {limit() / 1e6:.1f} MB")
    for kind in sorted(folder().glob("*/")):
        sizes = [path.stat().st_size for path in kind.glob("*")]
        if sizes:
            print(f"{kind.name}: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    _sys.exit(main())
