#!/usr/bin/env python3
"""Writes ONNX graphs for onnx_graphs_test.cpp and onnx_values_test.cpp into a folder.

    make_graphs.py OUT    needs python3-onnx; exits with 77 without it

models: resnet50.onnx and bert_base.onnx, with dynamic batch and sequence, without weights.
values: one graph per case of ONNX's own operator tests, with a text file of its inputs and results.
"""
import pathlib
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("python3-onnx is absent")
    sys.exit(77)


class Graph:
    """Appends nodes; weights are declared, not stored."""

    def __init__(self, opset):
        self.opset, self.nodes, self.weights, self.count = opset, [], [], 0

    def op(self, op_type, *inputs, **attributes):
        self.count += 1
        name = f"{op_type.lower()}_{self.count}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, *dims):
        self.count += 1
        tensor = TensorProto(name=f"weight_{self.count}", data_type=TensorProto.FLOAT, dims=dims,
                             data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="weights.bin")
        self.weights.append(tensor)
        return tensor.name

    def integers(self, *values):
        self.count += 1
        name = f"integers_{self.count}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def save(self, path, inputs, output):
        graph = helper.make_graph(self.nodes, path.stem, inputs,
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
                                  self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        path.write_bytes(model.SerializeToString())


def resnet50(path):
    g = Graph(13)

    def conv(x, c_in, c_out, size, stride=1, relu=True):
        pad = size // 2
        x = g.op("Conv", x, g.weight(c_out, c_in, size, size), kernel_shape=[size, size],
                 strides=[stride, stride], pads=[pad] * 4)
        x = g.op("BatchNormalization", x, *(g.weight(c_out) for _ in range(4)))
        return g.op("Relu", x) if relu else x

    x = conv("image", 3, 64, 7, 2)
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for width, blocks, first_stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            y = conv(x, channels, width, 1)
            y = conv(y, width, width, 3, stride)
            y = conv(y, width, 4 * width, 1, relu=False)
            if block == 0:
                x = conv(x, channels, 4 * width, 1, stride, relu=False)
            x = g.op("Relu", g.op("Add", x, y))
            channels = 4 * width
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    x = g.op("Gemm", x, g.weight(1000, 2048), g.weight(1000), transB=1)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 224, 224])
    g.save(path, [image], x)


def bert_base(path):
    hidden, heads, layers = 768, 12, 12
    g = Graph(13)

    def linear(x, n_in, n_out):
        return g.op("Add", g.op("MatMul", x, g.weight(n_in, n_out)), g.weight(n_out))

    def norm(x):
        centred = g.op("Sub", x, g.op("ReduceMean", x, axes=[-1]))
        spread = g.op("ReduceMean", g.op("Mul", centred, centred), axes=[-1])
        scaled = g.op("Div", centred, g.op("Sqrt", g.op("Add", spread, g.weight(1))))
        return g.op("Add", g.op("Mul", scaled, g.weight(hidden)), g.weight(hidden))

    # Sizes are computed from the input, as in exported models.
    shape = g.op("Shape", "ids")
    batch = g.op("Gather", shape, g.integers(0))
    steps = g.op("Gather", shape, g.integers(1))
    by_head = g.op("Concat", batch, steps, g.integers(heads), g.integers(hidden // heads), axis=0)
    merged = g.op("Concat", batch, steps, g.integers(hidden), axis=0)

    def split(x, perm):
        return g.op("Transpose", g.op("Reshape", x, by_head), perm=perm)

    positions = g.op("Slice", g.weight(1, 512, hidden), g.integers(0), steps, g.integers(1))
    x = norm(g.op("Add", g.op("Gather", g.weight(30522, hidden), "ids"), positions))
    for _ in range(layers):
        q = split(linear(x, hidden, hidden), [0, 2, 1, 3])
        k = split(linear(x, hidden, hidden), [0, 2, 3, 1])
        v = split(linear(x, hidden, hidden), [0, 2, 1, 3])
        scores = g.op("Div", g.op("MatMul", q, k), g.weight(1))
        context = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
        context = g.op("Reshape", g.op("Transpose", context, perm=[0, 2, 1, 3]), merged)
        x = norm(g.op("Add", x, linear(context, hidden, hidden)))
        y = linear(x, hidden, 4 * hidden)
        error = g.op("Add", g.op("Erf", g.op("Div", y, g.weight(1))), g.weight(1))
        y = g.op("Mul", g.op("Mul", y, error), g.weight(1))
        x = norm(g.op("Add", x, linear(y, 4 * hidden, hidden)))
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "steps"])
    g.save(path, [ids], x)


# Ops whose other inputs determine the result's shape, although they are not integers.
DECIDE_SHAPES = {"Range", "Resize", "Upsample", "Dropout"}


def numbers(kind, name, array):
    values = " ".join(repr(float(value)) for value in np.asarray(array).flatten())
    return f"{kind} {name.replace('/', '_')} {np.asarray(array).size} {values}\n"


def write_case(case, out):
    """Integer inputs after the first become initializers, because they determine shapes."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs, outputs = case.data_sets[0]
    if "BFLOAT16" in case.name:  # their numbers are bit patterns
        return
    decides = any(node.op_type in DECIDE_SHAPES for node in model.graph.node)
    first = 0 if any(node.op_type in ("Range", "ConstantOfShape") for node in model.graph.node) else 1
    text, kept = "", []
    for i, (info, value) in enumerate(zip(model.graph.input, inputs)):
        if not isinstance(value, (np.ndarray, np.generic)) or np.asarray(value).dtype.kind not in "biuf":
            return
        if i >= first and (np.asarray(value).dtype.kind in "iu" or decides):
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), info.name))
        else:
            kept.append(info)
        text += numbers("in", info.name, value)
    for info, value in zip(model.graph.output, outputs):
        if not isinstance(value, (np.ndarray, np.generic)):
            return
        text += numbers("out", info.name, value)
    del model.graph.input[:]
    model.graph.input.extend(kept)
    (out / f"{case.name}.onnx").write_bytes(model.SerializeToString())
    (out / f"{case.name}.txt").write_text(text)


def operator_cases(out):
    for name, kind in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        if name not in np.__dict__:  # removed from newer NumPy, used by these tests
            setattr(np, name, kind)
    from onnx.backend.test.case.node import collect_testcases
    out.mkdir(parents=True, exist_ok=True)
    for case in collect_testcases(None):
        write_case(case, out)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    resnet50(out / "resnet50.onnx")
    bert_base(out / "bert_base.onnx")
    operator_cases(out / "cases")


if __name__ == "__main__":
    main()
