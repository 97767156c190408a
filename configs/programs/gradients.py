"""Reverse-mode differentiation of what a Builder recorded: the backward pass as more HLO.

    dx, dw = gradients(b, y, dy, [x, w])

Cotangents flow from `y` (where the cotangent is `dy`) to the values asked for; only what lies on
such a path is emitted. One rule per opcode, as in JAX: dots become two dots, a broadcast a
reduction, a select two selects. A maximum passes its cotangent to its first operand where it is
the larger one; comparisons, iotas and reductions by maximum pass nothing (softmax does not depend
on the maximum that is subtracted for range).
"""


def _passes_nothing(value):
    return value.opcode == "compare" or value.attrs.get("combine") == "maximum"


def _depends_on(y, wrt):
    """The values between `wrt` and `y`, operands before users."""
    order, reaches = [], {}

    def visit(value):
        if value not in reaches:
            below = [visit(operand) for operand in value.operands]
            reaches[value] = value in wrt or (any(below) and not _passes_nothing(value))
            order.append(value)
        return reaches[value]

    visit(y)
    return [value for value in order if reaches[value]]


def _unbroadcast(b, value, g):
    """Sums `g` over what the broadcast `value` added."""
    mapping = value.attrs["mapping"]
    added = tuple(d for d in range(value.rank) if d not in mapping)
    return b.reduce(g, added) if added else g


def _spread(b, value, g):
    """Broadcasts `g` over the dimensions which the reduction `value` removed."""
    dims = value.operands[0].dims
    kept = [d for d in range(len(dims)) if d not in value.attrs["dimensions"]]
    return b.broadcast(g, dims, kept)


def _dot_operand(b, value, g, side):
    """The cotangent of one operand of a dot: a dot of `g` with the other operand."""
    this, other = value.operands[side], value.operands[1 - side]
    contract, other_contract = value.attrs["contract"][side], value.attrs["contract"][1 - side]
    batch, other_batch = value.attrs["batch"][side], value.attrs["batch"][1 - side]
    free = [d for d in range(this.rank) if d not in contract + batch]
    other_free = [d for d in range(other.rank) if d not in other_contract + other_batch]
    # In g: batch dimensions, then the free ones of the left, then those of the right operand.
    first = len(batch) + (len(free) if side == 0 else 0)
    g_other_free = tuple(range(first, first + len(other_free)))
    product = b.dot(g, other, contract=(g_other_free, tuple(other_free)),
                    batch=(tuple(range(len(batch))), other_batch))
    # The product's dimensions are batch, our free ones, then the contracted ones in the order in
    # which they stand in `other`; sort them back to where they are in `this`.
    pairs = sorted(zip(other_contract, contract))
    positions = list(batch) + free + [ours for _, ours in pairs]
    return b.transpose(product, [positions.index(d) for d in range(this.rank)])


def _tanh(b, y, g):
    """g (1 - y^2)."""
    one = b.fill(y.dtype, 1, y.dims)
    return b.multiply(g, b.subtract(one, b.multiply(y, y)))


def _rsqrt(b, y, g):
    """The derivative of x^(-1/2) is -y^3 / 2."""
    cube = b.multiply(y, b.multiply(y, y))
    return b.multiply(g, b.scale(cube, -0.5))


def _logistic(b, y, g):
    """g y (1 - y)."""
    one = b.fill(y.dtype, 1, y.dims)
    return b.multiply(g, b.multiply(y, b.subtract(one, y)))


def _unslice(b, value, g):
    """Zeros where the slice `value` took nothing."""
    dimension, start = value.attrs["dimension"], value.attrs["start"]
    whole = value.operands[0].dims[dimension]
    return b.pad(g, dimension, start, whole - start - value.dims[dimension])


def _parts(b, value, g):
    """Of every operand of a concatenation, the slice of `g` that stands where it does."""
    dimension, start, parts = value.attrs["dimension"], 0, []
    for operand in value.operands:
        limit = start + operand.dims[dimension]
        parts.append(lambda start=start, limit=limit: b.slice(g, dimension, start, limit))
        start = limit
    return parts


def _divide(b, value, g):
    x, y = value.operands
    return b.divide(g, y), lambda: b.unary("negate", b.divide(b.multiply(g, x), b.multiply(y, y)))


def _zeros(b, value):
    return b.fill(value.dtype, 0, value.dims)


def _operand_cotangents(b, value, g):
    """One entry per operand: nothing, the cotangent, or a function that emits it when needed."""
    operands = value.operands
    rules = {
        "add": lambda: (g, g),
        "subtract": lambda: (g, lambda: b.unary("negate", g)),
        "multiply": lambda: (lambda: b.multiply(g, operands[1]),
                             lambda: b.multiply(g, operands[0])),
        "divide": lambda: _divide(b, value, g),
        "maximum": lambda: (b.select(b.compare(operands[0], operands[1], "GT"), g,
                                     _zeros(b, value)), None),
        "select": lambda: (None, lambda: b.select(operands[0], g, _zeros(b, value)),
                           lambda: b.select(operands[0], _zeros(b, value), g)),
        "exponential": lambda: (b.multiply(g, value),),
        "log": lambda: (b.divide(g, operands[0]),),
        "tanh": lambda: (_tanh(b, value, g),),
        "rsqrt": lambda: (_rsqrt(b, value, g),),
        "logistic": lambda: (_logistic(b, value, g),),
        "slice": lambda: (_unslice(b, value, g),),
        "concatenate": lambda: _parts(b, value, g),
        "negate": lambda: (b.unary("negate", g),),
        "convert": lambda: (b.convert(g, operands[0].dtype),),
        "broadcast": lambda: (_unbroadcast(b, value, g),),
        "reshape": lambda: (b.reshape(g, operands[0].dims),),
        "transpose": lambda: (b.transpose(g, [value.attrs["permutation"].index(d)
                                              for d in range(value.rank)]),),
        "dot": lambda: (lambda: _dot_operand(b, value, g, 0),
                        lambda: _dot_operand(b, value, g, 1)),
        "reduce": lambda: (_spread(b, value, g), None),
    }
    return rules[value.opcode]()


def gradients(b, y, dy, wrt):
    """The cotangents of `wrt`, in order, given that of `y`; each has its value's shape and type."""
    assert (y.dtype, y.dims) == (dy.dtype, dy.dims)
    cotangent = {y: dy}
    path = _depends_on(y, set(wrt))
    on_path = set(path)
    for value in reversed(path):
        if value not in cotangent or not value.operands:
            continue
        with b.scope(value.scope):
            parts = _operand_cotangents(b, value, cotangent[value])
            for operand, part in zip(value.operands, parts):
                if operand not in on_path or part is None:
                    continue
                part = part() if callable(part) else part
                assert (part.dtype, part.dims) == (operand.dtype, operand.dims), (value, operand)
                known = cotangent.get(operand)
                cotangent[operand] = part if known is None else b.add(known, part)
    return [cotangent[value] for value in wrt]
