"""Writes HLO text in the manner of a JAX dump before optimisation.

    b = Builder("mlp")
    x, w = b.parameter("f32", (512, 1024)), b.parameter("f32", (1024, 4096))
    y = b.maximum(b.dot(x, w, contract=((1,), (0,))), b.fill("f32", 0, (512, 4096)))
    text = b.module([y])

A `Value` is one instruction's result. Every operation checks its shapes while the graph is built,
and element types never mix: `convert` is explicit, as in HLO. Scopes (`with b.scope("block1")`)
become the instructions' metadata. The result depends on nothing but the calls.
"""
import contextlib
import dataclasses
import math


@dataclasses.dataclass(frozen=True, eq=False)
class Value:
    """The result of one instruction."""
    name: str
    dtype: str
    dims: tuple
    opcode: str
    operands: tuple = ()
    scope: str = ""
    attrs: dict = dataclasses.field(default_factory=dict)

    @property
    def rank(self):
        return len(self.dims)


def shape_text(dtype, dims):
    """`f32[2,3]{1,0}`: row-major, as every array of a dump before layout assignment."""
    layout = "{" + ",".join(str(d) for d in reversed(range(len(dims)))) + "}" if dims else ""
    return f"{dtype}[{','.join(map(str, dims))}]{layout}"


def tuple_text(values):
    """The tuple of the shapes of `values`, with the index comments dumps have."""
    parts = [("" if i == 0 or i % 5 else f"/*index={i}*/") + shape_text(v.dtype, v.dims)
             for i, v in enumerate(values)]
    return "(" + ", ".join(parts) + ")"


def list_text(numbers):
    return "{" + ",".join(map(str, numbers)) + "}"


def window_text(sizes, strides, pads):
    text = "size=" + "x".join(map(str, sizes))
    if any(s != 1 for s in strides):
        text += " stride=" + "x".join(map(str, strides))
    if any(lo or hi for lo, hi in pads):
        text += " pad=" + "x".join(f"{lo}_{hi}" for lo, hi in pads)
    return "{" + text + "}"


def computation_text(name, lines):
    """A computation whose last line is its root."""
    body = [f"  {line}\n" for line in [*lines[:-1], "ROOT " + lines[-1]]]
    return f"{name} {{\n{''.join(body)}}}\n"


def header_text(name, inputs, outputs):
    shapes = ", ".join(shape_text(v.dtype, v.dims) for v in inputs)
    return f"HloModule {name}, entry_computation_layout={{({shapes})->{tuple_text(outputs)}}}\n"


def without(dims, removed):
    return tuple(d for i, d in enumerate(dims) if i not in removed)


class Builder:
    """One module: its entry computation, and the small computations that reductions call."""

    def __init__(self, name):
        self.name = name
        self.lines = []
        self.parameters = []
        self.regions = {}
        self.called = []
        self.scopes = []
        self.next_id = 1

    # ---- names and text --------------------------------------------------------------------

    @contextlib.contextmanager
    def scope(self, name):
        """Instructions made inside carry `name` in their metadata; scopes nest."""
        self.scopes.append(name)
        yield
        self.scopes.pop()

    def fresh(self, stem):
        self.next_id += 1
        return f"{stem}.{self.next_id - 1}"

    def emit(self, opcode, dtype, dims, operands=(), attrs="", payload=None, **record):
        """Adds one instruction; `payload` replaces the operand list (constants, parameters)."""
        dims = tuple(dims)
        inputs = payload if payload is not None else ", ".join(v.name for v in operands)
        scope = "/".join(self.scopes)
        value = Value(self.fresh(opcode), dtype, dims, opcode, tuple(operands), scope, record)
        metadata = f', metadata={{op_name="{scope}/{opcode}"}}' if scope else ""
        self.lines.append(f"{value.name} = {shape_text(dtype, dims)} {opcode}({inputs})"
                          f"{', ' + attrs if attrs else ''}{metadata}")
        return value

    def region(self, opcode, dtype):
        """The computation `opcode(a, b)` on scalars, made once per element type."""
        if (opcode, dtype) not in self.regions:
            number = len(self.regions)
            scalar = f"{dtype}[]"
            a, b, root = self.fresh("Arg_0"), self.fresh("Arg_1"), self.fresh(opcode)
            name = self.fresh(f"region_{number}")
            self.called.append(computation_text(name, [
                f"{a} = {scalar} parameter(0)", f"{b} = {scalar} parameter(1)",
                f"{root} = {scalar} {opcode}({a}, {b})"]))
            self.regions[(opcode, dtype)] = name
        return self.regions[(opcode, dtype)]

    def close(self, results):
        """All lines of the entry, which returns the tuple of `results`."""
        names = ", ".join(v.name for v in results)
        return [*self.lines, f"{self.fresh('tuple')} = {tuple_text(results)} tuple({names})"]

    def module(self, results):
        """The module's text; the entry returns the tuple of `results`."""
        lines = self.close(results)
        return "\n".join([header_text(self.name, self.parameters, results), *self.called,
                          computation_text("ENTRY " + self.fresh("main"), lines)])

    # ---- operations ------------------------------------------------------------------------

    def parameter(self, dtype, dims):
        value = self.emit("parameter", dtype, dims, payload=str(len(self.parameters)))
        self.parameters.append(value)
        return value

    def constant(self, dtype, number):
        return self.emit("constant", dtype, (), payload=str(number))

    def fill(self, dtype, number, dims):
        return self.broadcast(self.constant(dtype, number), dims, ())

    def iota(self, dtype, dims, dimension):
        return self.emit("iota", dtype, dims, attrs=f"iota_dimension={dimension}")

    def broadcast(self, x, dims, mapping):
        """Dimension i of `x` becomes dimension mapping[i]."""
        assert tuple(dims[m] for m in mapping) == x.dims, (x.dims, dims, mapping)
        return self.emit("broadcast", x.dtype, dims, (x,), f"dimensions={list_text(mapping)}",
                         mapping=tuple(mapping))

    def unary(self, opcode, x):
        return self.emit(opcode, x.dtype, x.dims, (x,))

    def binary(self, opcode, x, y):
        assert (x.dtype, x.dims) == (y.dtype, y.dims), (opcode, x, y)
        return self.emit(opcode, x.dtype, x.dims, (x, y))

    def add(self, x, y):
        return self.binary("add", x, y)

    def subtract(self, x, y):
        return self.binary("subtract", x, y)

    def multiply(self, x, y):
        return self.binary("multiply", x, y)

    def divide(self, x, y):
        return self.binary("divide", x, y)

    def maximum(self, x, y):
        return self.binary("maximum", x, y)

    def scale(self, x, number):
        return self.multiply(x, self.fill(x.dtype, number, x.dims))

    def convert(self, x, dtype):
        return x if x.dtype == dtype else self.emit("convert", dtype, x.dims, (x,))

    def compare(self, x, y, direction):
        assert (x.dtype, x.dims) == (y.dtype, y.dims)
        return self.emit("compare", "pred", x.dims, (x, y), f"direction={direction}")

    def select(self, condition, x, y):
        assert condition.dims == x.dims == y.dims and x.dtype == y.dtype
        return self.emit("select", x.dtype, x.dims, (condition, x, y))

    def reshape(self, x, dims):
        assert math.prod(dims) == math.prod(x.dims)
        return self.emit("reshape", x.dtype, dims, (x,))

    def slice(self, x, dimension, start, limit):
        """Elements start .. limit-1 of one dimension."""
        bounds = [(0, d) for d in x.dims]
        bounds[dimension] = (start, limit)
        dims = [hi - lo for lo, hi in bounds]
        return self.emit("slice", x.dtype, dims, (x,), "slice={"
                         + ", ".join(f"[{lo}:{hi}]" for lo, hi in bounds) + "}",
                         dimension=dimension, start=start)

    def pad(self, x, dimension, low, high):
        """Zeros before and after one dimension."""
        edges = [(0, 0)] * x.rank
        edges[dimension] = (low, high)
        dims = [d + lo + hi for d, (lo, hi) in zip(x.dims, edges)]
        return self.emit("pad", x.dtype, dims, (x, self.constant(x.dtype, 0)),
                         "padding=" + "x".join(f"{lo}_{hi}" for lo, hi in edges))

    def concatenate(self, parts, dimension):
        dims = list(parts[0].dims)
        dims[dimension] = sum(p.dims[dimension] for p in parts)
        return self.emit("concatenate", parts[0].dtype, dims, tuple(parts),
                         f"dimensions={list_text((dimension,))}", dimension=dimension)

    def transpose(self, x, permutation):
        if list(permutation) == list(range(x.rank)):
            return x
        return self.emit("transpose", x.dtype, [x.dims[p] for p in permutation], (x,),
                         f"dimensions={list_text(permutation)}", permutation=tuple(permutation))

    def reduce(self, x, dimensions, opcode="add"):
        init = self.constant(x.dtype, {"add": "0", "maximum": "-inf"}[opcode])
        return self.emit("reduce", x.dtype, without(x.dims, dimensions), (x, init),
                         f"dimensions={list_text(dimensions)}, "
                         f"to_apply={self.region(opcode, x.dtype)}",
                         dimensions=tuple(dimensions), combine=opcode)

    def dot(self, x, y, contract, batch=((), ())):
        """Result: batch dimensions, then what is left of x, then what is left of y."""
        assert [x.dims[d] for d in contract[0]] == [y.dims[d] for d in contract[1]], (x, y)
        assert [x.dims[d] for d in batch[0]] == [y.dims[d] for d in batch[1]], (x, y)
        assert x.dtype == y.dtype
        dims = (tuple(x.dims[d] for d in batch[0]) + without(x.dims, batch[0] + contract[0])
                + without(y.dims, batch[1] + contract[1]))
        attrs = []
        if batch[0]:
            attrs.append(f"lhs_batch_dims={list_text(batch[0])}")
        attrs.append(f"lhs_contracting_dims={list_text(contract[0])}")
        if batch[1]:
            attrs.append(f"rhs_batch_dims={list_text(batch[1])}")
        attrs.append(f"rhs_contracting_dims={list_text(contract[1])}")
        return self.emit("dot", x.dtype, dims, (x, y), ", ".join(attrs), contract=contract,
                         batch=batch)

    def convolution(self, x, kernel, stride=1, padding=0):
        """x is NHWC, the kernel HWIO; the same stride and padding in both directions."""
        n, h, w, ci = x.dims
        kh, kw, ki, co = kernel.dims
        assert ki == ci and x.dtype == kernel.dtype
        window = window_text((kh, kw), (stride, stride), ((padding, padding),) * 2)
        dims = (n, (h + 2 * padding - kh) // stride + 1, (w + 2 * padding - kw) // stride + 1, co)
        return self.emit("convolution", x.dtype, dims, (x, kernel),
                         f"window={window}, dim_labels=b01f_01io->b01f")

    def max_pool(self, x, size, stride, padding):
        n, h, w, c = x.dims
        window = window_text((1, size, size, 1), (1, stride, stride, 1),
                             ((0, 0), (padding, padding), (padding, padding), (0, 0)))
        dims = (n, (h + 2 * padding - size) // stride + 1, (w + 2 * padding - size) // stride + 1, c)
        init = self.constant(x.dtype, "-inf")
        return self.emit("reduce-window", x.dtype, dims, (x, init),
                         f"window={window}, to_apply={self.region('maximum', x.dtype)}")
