"""What the scripts of this folder share: where the repository is, and figures without a screen."""
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot  # noqa: E402: after the choice of a backend

ROOT = pathlib.Path(__file__).resolve().parents[3]


def figure():
    return matplotlib.pyplot.subplots(figsize=(8, 4.5), layout="constrained")


def save(drawn, arguments):
    """To the file that the command line names."""
    if len(arguments) != 2:
        raise SystemExit(f"usage: {arguments[0]} OUT.png")
    drawn.savefig(arguments[1], dpi=120)
