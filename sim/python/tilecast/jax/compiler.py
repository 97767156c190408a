"""Runs XLA for a machine that is not there, in a process of its own: compiler.py REQUEST.json

The request names the StableHLO text, the platform ("tpu", "cuda", "cpu"), the target and the number
of devices; the answer is the optimised HLO as text and what compiled it (JSON). A process of its
own, because a compiler reads its flags once, may abort or hang, and because its plugins must not
reach the caller's JAX. Tested with JAX 0.10.2 and libtpu 0.0.52.
"""
import glob
import importlib.metadata
import json
import os
import sys

_TPU_DIMENSIONS = {"v2": 2, "v3": 2, "v5e": 2, "v6e": 2}  # of a slice; the others are cubes


_LEAST_CHIPS = 4  # a host's, of which a program uses as many as it has partitions

# With no accelerator, no network and no driver, said without noise.
ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "TPU_LIBRARY_LOG_LEVEL": "3",
               "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
               "TPU_ACCELERATOR_TYPE": "v5litepod-1", "TPU_WORKER_HOSTNAMES": "localhost",
               "TF_CPP_MIN_LOG_LEVEL": "3"}


def slice_shape(generation, chips):
    """The most even shape of at least that many chips, as topologies are named: "2x4", "2x2x1"."""
    dimensions = [1] * _TPU_DIMENSIONS.get(generation, 3)
    at = 0
    while at < (chips - 1).bit_length():
        dimensions[-1 - at % len(dimensions)] *= 2
        at += 1
    if len(dimensions) == 3:
        dimensions.sort(key=lambda size: (size == 1, size))
    return "x".join(map(str, dimensions))


def tpu_devices(generation, count):
    from jax.experimental import topologies

    def devices(chips):
        name = f"{generation}:{slice_shape(generation, chips)}"
        return topologies.get_topology_desc(platform="tpu", topology_name=name).devices

    cores = len(devices(_LEAST_CHIPS)) // _LEAST_CHIPS
    return devices(max(-(-count // cores), _LEAST_CHIPS))[:count]


def cuda_devices(target, count):
    from jax._src import xla_bridge
    from jax.experimental import topologies
    xla_bridge.discover_pjrt_plugins()
    per_host = min(count, 8)
    return topologies.get_topology_desc(
        platform="cuda", topology_name="gpu", target_config=target,
        topology=f"1x{-(-count // per_host)}x{per_host}").devices[:count]


def cpu_devices(_, count):
    import jax
    jax.config.update("jax_num_cpu_devices", count)
    return jax.devices("cpu")


# By platform: what finds the devices, and the packages whose versions the answer names.
_PLATFORMS = {"tpu": (tpu_devices, ("libtpu",)),
              "cuda": (cuda_devices, ("jax-cuda13-plugin", "jax-cuda12-plugin")),
              "cpu": (cpu_devices, ("jaxlib",))}


def installed(packages):
    """The first of the packages that is installed, with its version; '' if none is."""
    for package in packages:
        try:
            return f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def compiler_of(platform):
    """What would compile for the platform: "libtpu 0.0.52"; '' if it is not installed."""
    return installed(_PLATFORMS[platform][1]) if platform in _PLATFORMS else ""


def compile_text(text, devices):
    """Compiles StableHLO for the devices; the executable need not be loaded."""
    import jax  # noqa: F401: sets up what the next lines read
    import numpy
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir
    from jaxlib import _jax
    options = compiler.get_compile_options(
        num_replicas=1, num_partitions=len(devices),
        device_assignment=numpy.array([[device.id for device in devices]]))
    options.executable_build_options.use_shardy_partitioner = "sdy.mesh" in text
    client = devices[0].client
    build = client.compile_and_load if client.platform == "cpu" else client.compile
    with mlir.make_ir_context():
        return build(ir.Module.parse(text), _jax.DeviceList(tuple(devices)), options)


def counts(executable):
    """What the compiler itself counts: peak_memory_bytes, and where it does flops (a loop's body
    once) and its own estimate of the time."""
    memory = executable.get_compiled_memory_stats()
    known = {"peak_memory_bytes": memory.argument_size_in_bytes + memory.output_size_in_bytes
             - memory.alias_size_in_bytes + memory.temp_size_in_bytes}
    try:
        costs = executable.cost_analysis()
    except RuntimeError:  # XLA:GPU has none
        return known
    costs = costs[0] if isinstance(costs, list) else costs
    return {**known, **{name: costs[name] for name in ("flops", "optimal_seconds") if name in costs}}


def hlo_text(executable, folder):
    """What JAX takes back of the module; where it is older than libtpu and refuses, libtpu's own dump."""
    try:
        return executable.hlo_modules()[0].to_string()
    except Exception:
        modules = sorted(glob.glob(os.path.join(folder, "*.after_codegen.txt")))
        if not modules:
            raise
        with open(modules[0], encoding="utf-8") as file:
            return file.read()


def main(path):
    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    folder = path + ".dump"
    if request["platform"] == "tpu":
        os.environ["XLA_FLAGS"] = (f"--xla_dump_to={folder} --xla_dump_hlo_as_text "
                                   f"{os.environ.get('XLA_FLAGS', '')}")
    with open(request["module"], encoding="utf-8") as file:
        text = file.read()
    find, packages = _PLATFORMS[request["platform"]]
    devices = find(request["target"], request["devices"])
    if len(devices) != request["devices"]:
        raise RuntimeError(f"got {len(devices)} devices for {request['devices']} partitions")
    executable = compile_text(text, devices)
    with open(request["hlo"], "w", encoding="utf-8") as file:
        file.write(hlo_text(executable, folder))
    with open(request["answer"], "w", encoding="utf-8") as file:
        json.dump({"compiler": installed(packages), "counts": counts(executable)}, file)


if __name__ == "__main__":
    os.environ.update(ENVIRONMENT)
    sys.path.pop(0)  # this folder, whose name is that of the library
    main(sys.argv[1])
