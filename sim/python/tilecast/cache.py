"""What is kept between runs under $TILECAST_CACHE (~/.cache/tilecast): programs that XLA compiled (tilecast.jax).

    tilecast cache                   # of the Python package; as python -m tilecast.cache
    tilecast cache --limit 500MB     # keeps at most that from now on (default: 1 GiB); the oldest files go
    tilecast cache --clear
"""
from __future__ import annotations

import argparse as _argparse
import os as _os
import re as _re
import sys as _sys
import typing as _typing

from .studies import replace_file as _replace_file

if _typing.TYPE_CHECKING:
    from typing import Optional, Sequence

__all__ = ["folder", "get", "limit", "main", "put", "shrink"]


def folder() -> str:
    base = _os.environ.get("XDG_CACHE_HOME") or _os.path.expanduser("~/.cache")
    return _os.environ.get("TILECAST_CACHE") or _os.path.join(base, "tilecast")


def limit() -> int:
    """Bytes that are kept."""
    try:
        with open(_os.path.join(folder(), "limit"), encoding="utf-8") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 1 << 30


def get(kind: str, key: str) -> Optional[str]:
    """What put() kept; None if it is not there."""
    try:
        with open(_os.path.join(folder(), kind, key), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def put(kind: str, key: str, text: str) -> None:
    """Keeps a text by the hash of what it follows from. A folder that cannot be written costs time, not the answer."""
    try:
        _os.makedirs(_os.path.join(folder(), kind), exist_ok=True)
        _replace_file(_os.path.join(folder(), kind, key), text)
        shrink(limit())
    except OSError:
        pass


def _files():
    """Path, bytes and time of what is kept, newest first."""
    found = []
    for kind in _os.scandir(folder()) if _os.path.isdir(folder()) else ():
        for file in _os.scandir(kind) if kind.is_dir() else ():
            found.append((file.path, file.stat().st_size, file.stat().st_mtime))
    return sorted(found, key=lambda file: -file[2])


def shrink(most: int) -> None:
    """Removes the oldest files beyond `most` bytes."""
    held = 0
    for path, size, _ in _files():
        held += size
        if held > most:
            _os.remove(path)


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
        _os.makedirs(folder(), exist_ok=True)
        _replace_file(_os.path.join(folder(), "limit"), str(options.limit))
    shrink(0 if options.clear else limit())
    sizes: dict = {}
    for path, size, _ in _files():
        sizes.setdefault(_os.path.basename(_os.path.dirname(path)), []).append(size)
    print(f"{folder()}: at most {limit() / 1e6:.1f} MB")
    for kind, held in sizes.items():
        print(f"{kind}: {len(held)} files, {sum(held) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    _sys.exit(main())
