"""The command `tilecast`: python -m tilecast simulate --device tpu_v3 model.hlo"""
import signal
import sys

from . import _core


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as of a program of its own
    if sys.argv[1:2] == ["cache"]:
        from . import cache
        return cache.main(sys.argv[2:])
    return _core._command(["tilecast", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
