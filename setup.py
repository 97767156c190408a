"""pip install . : builds the Python module with CMake (docs/python.md)."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


class CMakeBuild(build_ext):
    """Goes on with $TILECAST_BUILD_DIR, else with build/release where scripts/quickstart made it."""

    def build_extension(self, extension):
        build = self.build_folder()
        cache = build / "CMakeCache.txt"
        known = re.search(r"TILECAST_COMPONENTS:STRING=(.*)", cache.read_text()) if cache.exists() else None
        components = set(known.group(1).split(";") if known else ["onnx"]) - {""}
        if "python" not in components:
            python = sys._base_executable  # that of a venv may be gone when the folder is used again
            options = [f"-DTILECAST_COMPONENTS={';'.join(sorted(components | {'python'}))}",
                       f"-DPython_EXECUTABLE={python}"]
            if not cache.exists():
                options += ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=ON",
                            "-DCMAKE_UNITY_BUILD_BATCH_SIZE=40"]
            subprocess.check_call(["cmake", "-S", ROOT, "-B", build, *options])
        subprocess.check_call(["cmake", "--build", build, "--target", "tilecast_python", "tilecast_modules"])
        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        built, = (build / "python/tilecast").glob("_tilecast*.so")
        shutil.copy(built, target)
        data = target.parent / "data"
        for folder in ("devices", "models"):
            shutil.copytree(ROOT / "configs" / folder, data / folder, dirs_exist_ok=True)
        for module in (build / "bin").glob("libtilecast_*.so"):
            if not module.is_symlink():  # libtilecast_c.so is another language's
                shutil.copy(module, data)

    def build_folder(self):
        named = os.environ.get("TILECAST_BUILD_DIR")
        ours = ROOT / "build/release"
        if named or not (ours / "CMakeCache.txt").exists():
            return pathlib.Path(named or self.build_temp).resolve()
        return ours


setup(
    name="tilecast",
    version="0.1.0",
    description="Performance simulator for tensor programs on described accelerators",
    license="Apache-2.0",
    python_requires=">=3.9",
    install_requires=["numpy"],
    extras_require={"tpu": ["jax[tpu]>=0.10.2,<0.12", "pandas"],
                    "cuda": ["jax>=0.10.2,<0.12", "jax-cuda13-plugin>=0.10.2,<0.12", "pandas"]},
    packages=["tilecast", "tilecast.jax"],
    package_dir={"tilecast": "sim/python/tilecast"},
    package_data={"tilecast": ["py.typed", "_tilecast.pyi"]},
    entry_points={"console_scripts": ["tilecast = tilecast.__main__:main"]},
    ext_modules=[Extension("tilecast._tilecast", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
)
