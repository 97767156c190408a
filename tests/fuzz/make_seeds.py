#!/usr/bin/env python3
"""Collects the seeds of fuzzing in OUT/<target>/: the repository's own data, texts in
tests, and regression inputs. Existing files are kept, because libFuzzer adds some.

    make_seeds.py OUT        needs protoc for protos, python3-onnx for ONNX; says what it left out
"""
import hashlib
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_BYTES = 16_000
RAW = re.compile(r'R"(\w*)\((.*?)\)\1"', re.DOTALL)


def add(out, target, data):
    data = data.encode() if isinstance(data, str) else data
    if 0 < len(data) <= MOST_BYTES:
        folder = out / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def raw_strings(*folders):
    for folder in folders:
        for source in sorted((ROOT / folder).rglob("*.cpp")):
            for match in RAW.finditer(source.read_text()):
                yield match.group(2)


def programs(out):
    texts = [p.read_text() for p in sorted(ROOT.glob("configs/**/*.hlo"))]
    texts += [t for t in raw_strings("tests/ir", "tests/sim", "tests/analytical")
              if "ENTRY" in t or " = f32[" in t]
    for text in texts:
        add(out, "hlo_text", text)
        add(out, "hlo_print", text)
        add(out, "advise", text)
    for path in sorted(ROOT.glob("configs/**/*.mlir")):
        add(out, "stablehlo", path.read_text())
    for text in raw_strings("tests/ir"):
        if "func.func" in text or "stablehlo." in text:
            add(out, "stablehlo", text)
        elif "ENTRY" not in text and "loop" in text:
            add(out, "tokens", text)
    for text in raw_strings("tests/schedule", "tests/learned", "tests/host"):
        if re.search(r"\bprogram \w+\n", text):
            add(out, "schedule_text", text)
            add(out, "tokens", text)
    header = (ROOT / "schedule/text.h").read_text()
    example = re.search(r"(//   program .*?)\n//\n", header, re.DOTALL)
    if example:
        lines = [line[5:] for line in example.group(1).splitlines()]
        add(out, "schedule_text", "\n".join(lines) + "\n")


def tables(out):
    for path in sorted(ROOT.glob("configs/devices/*.yaml")) + sorted(
            ROOT.glob("configs/examples/**/*.yaml")):
        add(out, "device_yaml", path.read_text())
        add(out, "study_yaml", path.read_text())
    for text in raw_strings("tests/hwdesc"):
        add(out, "device_yaml", text)
    for text in raw_strings("tests/sim", "tests/cli"):
        if "tilecast.study" in text:
            add(out, "study_yaml", text)
    for path in sorted(ROOT.glob("validation/experiments/**/*.yaml")):
        for document in path.read_text().split("\n---\n"):
            add(out, "experiment_yaml", document)
    for path in sorted(ROOT.glob("configs/**/*.csv")):
        add(out, "csv", path.read_bytes()[:4000])
    for path in sorted(ROOT.glob("configs/measurements/*/manifest.yaml")):
        add(out, "manifest_yaml", path.read_text())
    for path in sorted(ROOT.glob("validation/measured/*.zip")):
        with zipfile.ZipFile(path) as archive:
            add(out, "manifest_yaml", archive.read("manifest.yaml"))
    for first, name in ((b"v", "vocabulary.csv"), (b"b", "bands.csv"), (b"k", "known_0.csv"),
                        (b"m", "model.yaml")):
        for path in sorted(ROOT.glob(f"configs/models/**/{name}")):
            add(out, "model_folder", first + path.read_bytes()[:MOST_BYTES - 1])
    for path in sorted(ROOT.glob("configs/models/**/member_0.trees")):
        add(out, "model_folder", b"t" + path.read_bytes()[:MOST_BYTES - 1])
    add(out, "model_folder", b"t" + ubjson(trees()))


def trees():
    """The part of an XGBoost model that learned/gbt_model.cpp reads: one split of four columns."""
    arrays = {"left_children": [1, -1, -1], "right_children": [2, -1, -1],
              "split_indices": [3, 0, 0], "default_left": [1, 0, 0], "split_type": [0, 0, 0],
              "split_conditions": [0.5, 1.0, -1.0], "base_weights": [0.0, 1.0, -1.0]}
    model = {"gbtree_model_param": {"num_trees": "1"},
             "trees": [{**arrays, "tree_param": {"num_nodes": "3"}}]}
    shape = {"num_feature": "4", "num_class": "0", "num_target": "1", "base_score": "0"}
    return {"learner": {"gradient_booster": {"name": "gbtree", "model": model},
                        "objective": {"name": "reg:squarederror"}, "learner_model_param": shape}}


def ubjson(value):
    """https://ubjson.org/: big-endian, lengths and whole numbers as int32."""
    if isinstance(value, dict):
        return b"{" + b"".join(text(k) + ubjson(v) for k, v in value.items()) + b"}"
    if isinstance(value, list):
        return b"[" + b"".join(map(ubjson, value)) + b"]"
    if isinstance(value, str):
        return b"S" + text(value)
    return b"l" + struct.pack(">i", value) if isinstance(value, int) else b"d" + struct.pack(">f", value)


def text(value):
    return b"l" + struct.pack(">i", len(value)) + value.encode()


def containers(out):
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = out / "seed.zip"
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("manifest.yaml", "name: x\n" * 9)
        add(out, "archive", path.read_bytes())
        path.unlink()
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:TPU:0"}},
              {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "XLA Ops"}},
              {"ph": "X", "pid": 1, "tid": 2, "ts": 1.5, "dur": 2, "name": "fusion.3",
               "args": {"hlo_op": "fusion.3", "hlo_module": "m", "device_duration_ps": "2000"}}]
    add(out, "trace_json", json.dumps({"displayTimeUnit": "ns", "traceEvents": events}))
    link = {"External id": 1, "correlation": 2}
    shapes = {"Input Dims": [[8, 4], [4, 2], []], "Input type": ["float", "float", "Scalar"],
              "Input Strides": [[4, 1], [1, 4], []], "Concrete Inputs": ["", "", "[1, 2]"]}
    add(out, "trace_json", json.dumps({"schemaVersion": 1, "deviceProperties": [{"name": "NVIDIA H200"}], "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "dur": 1, "args": {**link, **shapes}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "dur": 2.5, "args": {**link, "grid": [1, 2, 3]}}]}))


def requests(out):
    program = {"text": (ROOT / "configs/examples/product.hlo").read_text()}
    asked = {"program": program, "device": "tpu_v3"}
    row = {"op": "matmul", "m": 64, "n": 64, "k": 64, "dtype": "bf16"}
    wide = [{f"column_{i}": i} for i in range(64)]
    bodies = [("/v1/simulate", asked), ("/v1/explain", asked | {"kernel": "dot"}),
              ("/v1/ops", {"device": "h100_sxm", "rows": [row]}),
              ("/v1/ops", {"device": "tpu_v3", "rows": wide}),
              ("/v1/tiles", asked | {"tiles": [{"bounds": [8, 128]}], "model": "analytical"}),
              ("/v1/batch", {"requests": [{"path": "/v1/simulate", "body": asked}]})]
    for path, body in bodies:
        add(out, "http_body", path + "\n" + json.dumps(body))


PRODUCT = """
name: "product" entry_computation_name: "main" entry_computation_id: 2
host_program_shape { parameters { %(matrix)s } parameters { %(matrix)s } result { %(scalar)s } }
computations { name: "sum" id: 1 root_id: 3
  instructions { name: "a" opcode: "parameter" id: 1 shape { %(scalar)s } }
  instructions { name: "b" opcode: "parameter" id: 2 parameter_number: 1 shape { %(scalar)s } }
  instructions { name: "c" opcode: "add" id: 3 operand_ids: [1, 2] shape { %(scalar)s } } }
computations { name: "main" id: 2 root_id: 8
  instructions { name: "x" opcode: "parameter" id: 4 shape { %(matrix)s } }
  instructions { name: "y" opcode: "parameter" id: 5 parameter_number: 1 shape { %(matrix)s } }
  instructions { name: "d" opcode: "dot" id: 6 operand_ids: [4, 5] shape { %(matrix)s }
    dot_dimension_numbers { lhs_contracting_dimensions: 1 rhs_contracting_dimensions: 0 } }
  instructions { name: "z" opcode: "constant" id: 7 shape { %(scalar)s }
    literal { shape { %(scalar)s } f32s: 0 } }
  instructions { name: "r" opcode: "reduce" id: 8 operand_ids: [6, 7] dimensions: [0, 1]
    called_computation_ids: 1 shape { %(scalar)s } } }
""" % {"matrix": "element_type: 11 dimensions: [8, 8] layout { minor_to_major: [1, 0] }",
       "scalar": "element_type: 11 layout { }"}


def protos(out):
    add(out, "xplane", (ROOT / "configs/examples/step.xplane.pb").read_bytes())
    if not shutil.which("protoc"):
        print("make_seeds: protoc is absent: no seed of hlo_proto", file=sys.stderr)
        return
    add(out, "hlo_proto", subprocess.run(
        ["protoc", "--encode=tilecast.hlo_proto.Module", "-I", ROOT / "ir/proto",
         ROOT / "ir/proto/hlo.proto"], input=PRODUCT.encode(), check=True,
        capture_output=True).stdout)


def graphs(out):
    made = out / "onnx_graphs"
    done = subprocess.run(["/usr/bin/python3", "-B", ROOT / "tests/ir/onnx/make_graphs.py", made])
    for path in sorted(made.rglob("*.onnx")) if done.returncode == 0 else []:
        add(out, "onnx", path.read_bytes())
    shutil.rmtree(made, ignore_errors=True)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for collect in (programs, tables, containers, requests, protos, graphs):
        collect(out)
    for path in sorted(ROOT.glob("tests/regressions/*/*")):
        add(out, path.parent.name, path.read_bytes())
    for folder in sorted(p for p in out.iterdir() if p.is_dir()):
        print(f"{folder.name}: {len(list(folder.iterdir()))}")


if __name__ == "__main__":
    main()
