"""pip install --no-build-isolation . : builds the Python module with CMake (docs/python.md)."""
import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


class CMakeBuild(build_ext):
    """$TILECAST_BUILD_DIR: a build folder to go on with, for example build/release."""

    def build_extension(self, extension):
        build = pathlib.Path(os.environ.get("TILECAST_BUILD_DIR", self.build_temp)).resolve()
        if not (build / "CMakeCache.txt").exists():
            subprocess.check_call(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja",
                                   "-DCMAKE_BUILD_TYPE=Release", "-DTILECAST_BUILD_TESTS=OFF",
                                   "-DTILECAST_WITH_TORCH=OFF", "-DCMAKE_UNITY_BUILD=ON",
                                   "-DCMAKE_UNITY_BUILD_BATCH_SIZE=12",
                                   f"-DPython_EXECUTABLE={sys.executable}"])
        modules = [f"tilecast_{name}" for name in ("ceres", "hwloc", "nlopt", "onnx", "xgboost", "zip")]
        subprocess.check_call(["cmake", "--build", build, "--target", "tilecast_python", *modules])
        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        built, = (build / "python/tilecast").glob("_tilecast*.so")
        shutil.copy(built, target)
        data = target.parent / "data"
        for folder in ("devices", "models"):
            shutil.copytree(ROOT / "configs" / folder, data / folder, dirs_exist_ok=True)
        for module in modules:
            shutil.copy(build / f"bin/lib{module}.so", data)


setup(
    name="tilecast",
    version="0.1.0",
    description="Performance simulator for tensor programs on described accelerators",
    license="Apache-2.0",
    python_requires=">=3.9",
    install_requires=["numpy"],
    packages=["tilecast"],
    package_dir={"tilecast": "sim/python/tilecast"},
    package_data={"tilecast": ["py.typed", "*.pyi"]},
    ext_modules=[Extension("tilecast._tilecast", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
)
