#!/usr/bin/env python3
"""Cycles of the code that XLA:TPU schedules for any tile of a kernel, without a TPU.

usage: xla_tiles.py kernels TPU FOLDER           FOLDER/TPU/PROGRAM.KERNEL.hlo: what XLA makes of
                                                 xla_cpu_programs.py and tpu_kernels.py
       xla_tiles.py label TPU FOLDER [MOST]      FOLDER/TPU.csv: MOST (32) tiles of each; goes on where it ended
       xla_tiles.py estimates TPU FOLDER         FOLDER/TPU_estimates.csv: what the compiler's search says of each window
       xla_tiles.py runs TPU FOLDER TILECAST     FOLDER/TPU_runs.csv, for `tilecast import tiles --modules FOLDER`: the
                                                 longer of those cycles and what the tile moves at the described rates

TPU: v5e, v5p, v6e. Needs jax[tpu] (seen with jax 0.10.2, libtpu 0.0.42.1). A kernel is a module of one instruction
whose arrays lie in main memory. Its tiles: the compiler's own, and random ones that cut the same loops elsewhere. Each
is forced by the kernel's window_config, several in a module; only the compiler's back end runs. A label is the length of
the schedule times its trips with the compiler's latencies of transfers, contention for memory left out.
"""
import contextlib, csv, ctypes, glob, json, math, os, random, re, signal, subprocess, sys, tempfile

from tpu_kernels import TOPOLOGIES, programs as tpu_programs

SHORTEST = 2000  # cycles, by the compiler's estimate; below, tiles hardly matter
LEAST = 8        # tiles of a kernel
TRIED = 4        # a kernel of which most of so many tiles are refused is left
TOGETHER = 16    # tiles in a module
MOST_STEPS = 4096
MOST_SECONDS = 45
BOUNDS = ('output_bounds', 'kernel_bounds', 'input_bounds', 'iteration_bounds')
SAME_PROGRAM = re.compile(r'(-[\dx]+|_(bf16|f32|s8))$')  # sizes and types in names of programs
COLUMNS = ('hlo_file', *BOUNDS, 'is_default', 'cycles')
WINDOW = re.compile(r'backend_config=(?=\{)')


def quiet():
    for name in ('TPU_MIN_LOG_LEVEL', 'TPU_STDERR_LOG_LEVEL'):
        os.environ.setdefault(name, '3')
    os.environ.update(TPU_SKIP_MDS_QUERY='1', JAX_PLATFORMS='cpu', ALLOW_MULTIPLE_LIBTPU_LOAD='1',
                      TPU_ACCELERATOR_TYPE='v5litepod-4', TPU_WORKER_HOSTNAMES='localhost')


def config_of(line):
    """(text before, configuration, text after) of an instruction; None without a window."""
    found = WINDOW.search(line)
    if not found:
        return None
    config, end = json.JSONDecoder().raw_decode(line, found.end())
    return (line[:found.end()], config, line[end:]) if 'window_config' in config else None


# ---- kernels


def kernels(tpu, folder):
    quiet()
    import jax
    from jax.experimental import topologies
    import xla_cpu_programs
    device = topologies.get_topology_desc(platform='tpu', topology_name=TOPOLOGIES[tpu]).devices[0]
    place = jax.sharding.SingleDeviceSharding(device)
    os.makedirs(f'{folder}/{tpu}', exist_ok=True)
    programs = {name: make() for name, make in xla_cpu_programs.programs().items()}
    programs |= {name: (function, [jax.ShapeDtypeStruct(*shape) for shape in shapes])
                 for name, (function, shapes) in tpu_programs().items()}
    for name, (function, arguments) in programs.items():
        shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=place), arguments)
        try:
            text = jax.jit(function).lower(*shapes).compile().as_text()
        except Exception as error:  # what does not compile is said and left out
            print(f'{tpu} {name}: {str(error).splitlines()[0][:160]}', file=sys.stderr)
            continue
        known = set()
        for kernel, module in single(text).items():
            body = re.sub(r'%[\w.\-]+|_\d+', '', module)
            if body not in known:
                known.add(body)
                with open(f'{folder}/{tpu}/{name}.{kernel}.hlo', 'w') as file:
                    file.write(module)


def without_origin(text):
    """Without what says where an instruction came from."""
    return re.sub(r', (metadata|sharding|frontend_attributes)=\{([^{}"]|"[^"]*"|\{[^{}]*\})*\}', '', text)


def computations(text):
    """Name -> text of what instructions call."""
    return {m[1]: m[0] for m in re.finditer(r'^%([\w.\-]+) \(.*?^\}\n', text, re.M | re.S)}


def single(text):
    """Kernel -> a module of it alone, of those that have a window and take long enough."""
    text = re.sub(r'S\([16]\)(?=\})', '', without_origin(text))  # arrays in main memory
    called = computations(text)
    shapes, found = {}, {}
    for line in text.splitlines():
        match = re.match(r'\s+(?:ROOT )?%([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*?)\)(.*)', line)
        if not match:
            continue
        name, shape, opcode, operands, _ = match.groups()
        shapes[name] = shape
        parts = config_of(line)
        if not parts or int(parts[1]['window_config']['estimated_cycles']) < SHORTEST:
            continue
        names = re.findall(r'%([\w.\-]+)', operands)
        if any(o not in shapes or shapes[o].startswith('(') for o in names) or 'custom-call' in opcode:
            continue
        needed, queue = [], re.findall(r'(?:calls|to_apply)=%([\w.\-]+)', line)
        while queue:
            one = queue.pop(0)
            if one in called and one not in needed:
                needed.append(one)
                queue += re.findall(r'(?:calls|to_apply)=%([\w.\-]+)', called[one])
        if any(re.search(r'\b(async-start|all-\w+|custom-call)\(', called[n]) for n in needed):
            continue
        found[name] = module_of(name, shape, [shapes[o] for o in names], line, [called[n] for n in reversed(needed)])
    return found


def module_of(name, shape, operands, line, called):
    inner = re.sub(r'^\s+(ROOT )?', '', line)
    listed = re.search(r' = (?:\(.*?\)|\S+) [\w\-]+\((.*?)\)', inner)[1]
    new = ', '.join(f'%p{i}' for i in range(len(operands)))
    inner = inner.replace(f'({listed})', f'({new})', 1).replace(f'%{name} =', '%k =', 1)
    parts = config_of(inner)
    if parts:
        inner = parts[0] + json.dumps({'window_config': parts[1]['window_config']}) + parts[2]
    lines = [f'  %p{i} = {s} parameter({i})' for i, s in enumerate(operands)] + ['  ROOT ' + inner]
    head = f'HloModule {re.sub("[^a-zA-Z0-9_]", "_", name)}, is_scheduled=true\n\n'
    return head + '\n'.join(called) + '\nENTRY %main {\n' + '\n'.join(lines) + '\n}\n'


# ---- tiles


def ceil_div(a, b):
    return -(-a // b)


def native_sizes(shape):
    """Native tiles of an array along its dimensions, major first."""
    dims, order, tile = re.match(r'\w+\[([\d,]*)\]\{([\d,]*)(?::T\(([\d,]*)\))?', shape).groups()
    sizes = [int(d) for d in dims.split(',') if d]
    physical = [sizes[int(o)] for o in reversed(order.split(','))] if order else []
    cut = [int(t) for t in tile.split(',')] if tile else []
    for i, t in enumerate(reversed(cut)):
        if i < len(physical):
            physical[-1 - i] = ceil_div(physical[-1 - i], t)
    return physical


def choices(size):
    """Pieces of a loop: as few cuts as give different numbers of steps."""
    pieces, steps = {size}, 1
    while steps < size:
        steps = steps + 1 if steps < 8 else int(steps * 1.5)
        pieces.add(max(1, ceil_div(size, steps)))
    return sorted(pieces)


def loop_tiles(shape, out, steps, module):
    """Native tiles of the loops: over a result or, of a reduction, over what it reduces."""
    for array in [shape] + re.findall(r' = (\w+\[[\d,]+\]\{[^}]*\}) ', module):
        sizes = native_sizes(array)
        if len(sizes) == len(out) and all(ceil_div(s, o) == n for s, o, n in zip(sizes, out, steps)):
            return sizes
    return None


LANES, ROWS = 128, 8


class Product:
    """A product of two dimensions: each loop's size in elements, and where arrays have it."""

    def __init__(self, line, called):
        found = re.search(r'= (\w+\[[\d,]+\]\{[^}]*\}) convolution\(%([\w.\-]+), %([\w.\-]+)\), dim_labels=(\w+)_(\w+)->(\w+)', called)
        self.understood = found is not None
        if not found:
            return
        shapes = dict(re.findall(r'%([\w.\-]+) = (\w+\[[\d,]+\]\{[^}]*\})', called))
        shape, left, right, *labels = found.groups()
        loops = ({'b': 'rows', 'f': 'deep'}, {'i': 'deep', 'o': 'columns'}, {'b': 'rows', 'f': 'columns'})
        self.sizes, self.arrays, self.unit = {}, [], {}
        for array, label, loop in zip((shapes.get(left), shapes.get(right), shape), labels, loops):
            match = re.match(r'\w+\[(\d+),(\d+)\]\{([01]),([01])', array or '')
            if not match or len(label) != 2:
                self.understood = False
                return
            names = [loop[c] for c in label]
            physical = [names[int(match[4])], names[int(match[3])]]  # major, minor
            self.arrays.append(physical)
            for name, size in zip(names, match.groups()[:2]):
                self.sizes[name] = int(size)
        for name in self.sizes:
            self.unit[name] = LANES if any(a[1] == name for a in self.arrays) else ROWS

    def window(self, cut):
        """The configuration for so many units of each loop a step."""
        elements = {n: min(cut[n] * self.unit[n], ceil_div(self.sizes[n], self.unit[n]) * self.unit[n]) for n in cut}
        windows = [[ceil_div(elements[a[0]], ROWS), ceil_div(elements[a[1]], LANES)] for a in self.arrays]
        steps = [ceil_div(self.sizes[n], elements[n]) for n in ('columns', 'rows', 'deep')]
        return {'kernel_window_bounds': windows[1], 'output_window_bounds': windows[2], 'input_window_bounds': windows[0],
                'iteration_bounds': steps}

    def units(self):
        return {n: ceil_div(self.sizes[n], self.unit[n]) for n in self.sizes}


def as_numbers(window):
    keys = ('output_window_bounds', 'kernel_window_bounds', 'input_window_bounds', 'iteration_bounds')
    return {k: [int(x) for x in window[k]] for k in keys}


def own_window(module):
    """The kernel's line and the window that the compiler chose."""
    line = next(l for l in module.splitlines() if 'backend_config=' in l and l.lstrip().startswith('ROOT %k ='))
    return line, as_numbers(config_of(line)[1]['window_config'])


def tiles_of(module, most, seed):
    """The compiler's window first, then others; [] where windows are not understood."""
    line, own = own_window(module)
    shape = re.search(r' = \(?(\S+?\})', line)[1]
    make = None
    if not own['kernel_window_bounds'] and not own['input_window_bounds']:
        sizes = loop_tiles(shape, own['output_window_bounds'], own['iteration_bounds'], module)
        if sizes:
            def make(random_):
                cut = [random_.choice(choices(s)) for s in sizes]
                return {**own, 'output_window_bounds': cut,
                        'iteration_bounds': [ceil_div(s, c) for s, c in zip(sizes, cut)]}
    else:
        product = Product(line, module)
        if product.understood and len(own['iteration_bounds']) == 3:
            units = product.units()
            again = [product.window({n: ceil_div(u, s) for (n, u), s in zip(
                ((n, units[n]) for n in ('columns', 'rows', 'deep')), own['iteration_bounds'])})]
            if again[0] == own:
                def make(random_):
                    cut = {n: random_.choice(choices(u)) for n, u in units.items()}
                    while units['deep'] % cut['deep']:  # others end the compiler
                        cut['deep'] = random_.choice(choices(units['deep']))
                    return product.window(cut)
    if make is None:
        return []
    random_, found = random.Random(seed), [own]
    for _ in range(50 * most):
        tile = make(random_)
        if len(found) < most and tile not in found and math.prod(tile['iteration_bounds']) <= MOST_STEPS:
            found.append(tile)
    return found if len(found) >= LEAST else []


# ---- labels


class Compiler:
    """XLA:TPU, or its back end alone, through PJRT's C interface (xla/pjrt/c/pjrt_c_api.h): the places of functions in PJRT_Api."""
    ERROR_MESSAGE, INITIALIZE, TOPOLOGY, COMPILE = 48, 64, 696, 752

    def __init__(self, tpu, dump, passes='after_codegen', backend_only=True):
        os.environ.update(XLA_FLAGS=f'--xla_dump_to={dump} --xla_dump_hlo_as_text --xla_dump_hlo_pass_re={passes}',
                          LIBTPU_INIT_ARGS=f'--xla_jf_dump_static_llo_profile_to={dump}/profile --xla_msa_enable=false')
        quiet()
        import libtpu
        library = ctypes.CDLL(os.path.join(os.path.dirname(libtpu.__file__), 'libtpu.so'))
        library.GetPjrtApi.restype = ctypes.c_void_p
        self.api, self.dump = library.GetPjrtApi(), dump
        self.call(self.INITIALIZE, [])
        name = TOPOLOGIES[tpu].encode()
        self.topology = self.call(self.TOPOLOGY, [name, len(name), None, 0, None])[-1]
        self.set_options({})
        if backend_only:
            self.options += b'\x1a\x02\x58\x01'  # executable_build_options { run_backend_only: true }

    def set_options(self, flags):
        import numpy
        from jax._src import compiler
        self.options = compiler.get_compile_options(num_replicas=1, num_partitions=1, device_assignment=numpy.array([[0]]),
                                                    env_options_overrides=flags).SerializeAsString()

    def call(self, place, values):
        """Calls with a struct of its size, no extension, and these values; the struct afterwards."""
        kept = [ctypes.create_string_buffer(v, len(v)) if isinstance(v, bytes) else v for v in values]
        words = [ctypes.addressof(v) if isinstance(v, ctypes.Array) else (v or 0) for v in kept]
        struct = (ctypes.c_size_t * (2 + len(words)))(8 * (2 + len(words)), 0, *words)
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(
            ctypes.c_void_p.from_address(self.api + place).value)
        error = function(ctypes.addressof(struct))
        if error:
            raise RuntimeError(self.message(error))
        return list(struct)

    def message(self, error):
        text = (ctypes.c_size_t * 5)(40, 0, error, 0, 0)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(self.api + self.ERROR_MESSAGE).value)(
            ctypes.addressof(text))
        return ctypes.string_at(text[3], text[4]).decode(errors='replace').splitlines()[0]

    def compile(self, module):
        import jaxlib._hlo
        code = jaxlib._hlo.hlo_module_from_text(module).as_serialized_hlo_module_proto()
        body = ctypes.create_string_buffer(code, len(code))
        form = ctypes.create_string_buffer(b'hlo')
        program = (ctypes.c_size_t * 6)(48, 0, ctypes.addressof(body), len(code), ctypes.addressof(form), 3)
        self.call(self.COMPILE, [self.topology, ctypes.addressof(program), self.options, len(self.options), None, None])

    def dumped(self, name):
        """The newest file that the compiler wrote under this name."""
        with open(max(glob.glob(f'{self.dump}/*{name}.txt'), key=os.path.getmtime)) as file:
            return file.read()

    def clear(self):
        for file in filter(os.path.isfile, glob.glob(f'{self.dump}/*')):
            os.remove(file)

    def cycles(self, module):
        """Kernel -> cycles of its schedule."""
        self.compile(module)
        found = cycles_in(self.dumped('.after_codegen'))
        self.clear()
        return found


def cycles_in(text):
    """Kernel -> cycles of its schedule, as the compiler writes them beside it."""
    found = {}
    for line in text.splitlines():
        match, parts = re.match(r'\s*(?:ROOT )?%?([\w.\-]+) = ', line), config_of(line)
        if match and parts and 'bundle_analysis_data' in parts[1]:
            found[match[1]] = float(parts[1]['bundle_analysis_data']['estimated_cycles'])
    return found


def variants(module, tiles):
    """The kernel once for each tile, in one module; each has what it calls to itself."""
    head, entry = module.split('ENTRY ', 1)
    title, called = head.split('\n', 1)
    names = re.findall(r'^(%[\w.\-]+) \(', called, re.M)
    lines = entry.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith('  ROOT %k ='))
    before, config, after = config_of(lines[at].replace('ROOT ', ''))
    copies, made = [], []
    for i, tile in enumerate(tiles):
        def own(text):
            return re.sub(r'%[\w.\-]+', lambda m: f'{m[0]}.v{i}' if m[0] in names else m[0], text)
        window = {**config['window_config'], **{k: [str(x) for x in v] for k, v in tile.items()}}
        copies.append(own(called))
        made.append(own(before).replace('%k =', f'%k{i} =', 1) + json.dumps({'window_config': window}) + after)
    shape = re.search(r'= (\(.*?\)|\S+) [\w\-]+\(', lines[at])[1]
    results, parts = [f'%k{i}' for i in range(len(tiles))], [shape]
    if shape.startswith('('):
        parts = re.findall(r'\w+\[[\d,]*\](?:\{[^}]*\})?', shape)
        made += [f'  {k}.{j} = {part} get-tuple-element({k}), index={j}' for k in results for j, part in enumerate(parts)]
        results = [f'{k}.{j}' for k in results for j in range(len(parts))]
    shapes = [plain(part) for part in parts] * len(tiles)
    made += [f'  {name}.b = {shape} bitcast({name})' for name, shape in zip(results, shapes)]
    made.append(f'  ROOT %all = ({", ".join(shapes)}) tuple({", ".join(name + ".b" for name in results)})')
    given = [re.sub(r'%p(\d+) = (\S+) parameter\(\d+\)',
                    lambda m: f'%q{m[1]} = {plain(m[2])} parameter({m[1]})\n  %p{m[1]} = {m[2]} bitcast(%q{m[1]})', line)
             for line in lines[1:at]]
    return '\n'.join([title, *copies, 'ENTRY ' + lines[0], *given, *made, *lines[at + 1:]]) + '\n'


def plain(shape):
    """The same bytes as rows of whole native tiles: the back end takes arguments and results in its own layout alone."""
    match = re.match(r'([a-z]+)(\d+)\[([\d,]*)\]\{([\d,]*):T\((\d+),(\d+)\)', shape)
    if not match or not match[3]:
        return shape
    kind, bits, dims, order, rows, lanes = match[1], int(match[2]), *match.groups()[2:]
    sizes = [int(dims.split(',')[int(o)]) for o in reversed(order.split(','))]
    columns = ceil_div(sizes[-1], int(lanes)) * int(lanes)
    height = math.prod(sizes[:-2]) * ceil_div(sizes[-2], int(rows)) * int(rows) if len(sizes) > 1 else 0
    if not height or height % ROWS:
        return shape
    packed = {16: '(2,1)', 8: '(4,1)'}.get(bits, '')
    return f'{kind}{bits}[{height},{columns}]{{1,0:T({ROWS},{lanes}){packed}}}'


def in_child(work):
    """What work() gives, from a process of its own, because some windows end the compiler; None then."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(MOST_SECONDS)  # others never end
        try:
            os.write(write, json.dumps(work()).encode())
            os._exit(0)
        except Exception as error:
            print(f'  {str(error)[:200]}', file=sys.stderr)
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    return json.loads(text) if not os.waitpid(child, 0)[1] and text else None


def cycles_of(compiler, module, tiles):
    """Cycles of each tile, None of one that the compiler refuses: halves until those are alone."""
    said = in_child(lambda: compiler.cycles(variants(module, tiles)))
    if said is not None:
        return [said.get(f'k{i}') or None for i in range(len(tiles))]  # 0: not analysed
    if len(tiles) == 1:
        return [None]
    half = len(tiles) // 2
    return cycles_of(compiler, module, tiles[:half]) + cycles_of(compiler, module, tiles[half:])


@contextlib.contextmanager
def goes_on(path, columns):
    """(writer, kernels that are there, file) of a table that a run before this one may have begun."""
    done = {row['hlo_file'] for row in csv.DictReader(open(path))} if os.path.exists(path) else set()
    with open(path, 'a', newline='') as file:
        table = csv.DictWriter(file, columns)
        if not done:
            table.writeheader()
        yield table, done, file


def label(tpu, folder, most):
    compiler = Compiler(tpu, tempfile.mkdtemp())
    with goes_on(f'{folder}/{tpu}.csv', COLUMNS) as (table, done, file):
        found = sorted(glob.glob(f'{folder}/{tpu}/*.hlo'))
        random.Random(1).shuffle(found)  # a run that is broken off has seen all kinds
        for kernel in found:
            name = os.path.relpath(kernel, folder)
            if name in done:
                continue
            module = open(kernel).read()
            tiles = tiles_of(module, most, name)
            if not tiles:
                continue
            cycles = cycles_of(compiler, module, tiles[:TRIED])
            tiles = tiles if 2 * sum(map(bool, cycles)) >= len(cycles) else []
            step = TOGETHER if all(cycles) else TRIED
            for at in range(TRIED, len(tiles), step):
                cycles += cycles_of(compiler, module, tiles[at:at + step])
            print(f'{name}: {sum(c is not None for c in cycles)} of {len(tiles)} tiles', flush=True)
            for i, (tile, took) in enumerate(zip(tiles, cycles)):
                if took is not None:
                    bounds = {k.replace('_window', ''): 'x'.join(map(str, v)) for k, v in tile.items()}
                    table.writerow({'hlo_file': name, **bounds, 'is_default': int(i == 0), 'cycles': took})
            file.flush()


# ---- the compiler's estimates


SEARCHED = re.compile(r'\] Potential (?:window config|kernel window \[([\d, ]*)\] potential output window) \[([\d, ]*)\]'
                      r'.*? (?:total_)?cycles (\d+)')


def estimates_of(compiler, module):
    """(kernel window, output window) -> cycles, of all windows that the compiler's search looks at."""
    alone = variants(module, [own_window(module)[1]])
    line = next(l for l in alone.splitlines() if l.startswith('  %k0 ='))
    before, _, after = config_of(line)
    log = compiler.dump + '.log'

    def search():
        os.dup2(os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 2)
        return compiler.cycles(alone.replace(line, before + '{}' + after))

    in_child(search)
    found = {}
    with open(log, errors='replace') as file:
        for match in filter(None, map(SEARCHED.search, file)):
            found[tuple((part or '').replace(', ', 'x') for part in match.groups()[:2])] = int(match[3])
    return found


def estimates(tpu, folder):
    os.environ.update(TPU_VMODULE='spatial_major_convolution=10,fusion_emitter=10', TPU_MIN_LOG_LEVEL='0', TPU_STDERR_LOG_LEVEL='0')
    compiler = Compiler(tpu, tempfile.mkdtemp())
    with goes_on(f'{folder}/{tpu}_estimates.csv', ('hlo_file', 'kernel_bounds', 'output_bounds', 'cycles')) as (table, done, _):
        for name in sorted({row['hlo_file'] for row in csv.DictReader(open(f'{folder}/{tpu}.csv'))} - done):
            with open(f'{folder}/{name}') as module:
                found = estimates_of(compiler, module.read())
            for (kernel, output), cycles in found.items():
                table.writerow({'hlo_file': name, 'kernel_bounds': kernel, 'output_bounds': output, 'cycles': cycles})
            print(f'{name}: {len(found)} windows', flush=True)


# ---- times


def moved_bytes(module, tile):
    """Read, written: every array once, operands of products as often as their blocks are brought."""
    def size(shape):
        dims = re.match(r'(\w+?)(\d+)\[([\d,]*)\]', shape)
        return math.prod(int(d) for d in dims[3].split(',') if d) * int(dims[2]) // 8 if dims else 0

    entry = module[module.index('ENTRY'):]
    line = next(l for l in entry.splitlines() if l.startswith('  ROOT %k ='))
    shape = re.search(r'= (\(.*?\)|\S+) [\w\-]+\(', line)[1]
    written = sum(size(s) for s in re.findall(r'\w+\[[\d,]*\]', shape))
    read = [size(s) for s in re.findall(r' = (\w+\[[\d,]*\])\S* parameter\(', entry)]
    if len(tile['iteration_bounds']) == 3 and tile['kernel_window_bounds']:
        columns, rows, deep = tile['iteration_bounds']
        largest = sorted(range(len(read)), key=lambda i: -read[i])[:2]
        product = Product(line, module)
        left = product.sizes['rows'] * product.sizes['deep']
        for i in largest:  # rows x deep comes once a column block; deep x columns stays while it is whole
            again = columns if read[i] // 4 <= left <= read[i] else rows if deep > 1 else 1
            read[i] *= again
    return sum(read), written


def described(tilecast, device):
    """Clock in Hz, and bytes a second that main memory reads and writes."""
    shown = subprocess.run([tilecast, 'hw', 'show', device], capture_output=True, text=True, check=True).stdout
    number = lambda pattern: float(re.search(pattern, shown, re.M | re.S)[1])
    unit = {'GB/s': 1e9, 'TB/s': 1e12}[re.search(r'hbm:.*?bandwidth: [\d.]+ (\S+)', shown, re.S)[1]]
    peak = number(r'hbm:.*?bandwidth: ([\d.]+)') * unit
    return (number(r'^clock: ([\d.]+) GHz') * 1e9, peak * number(r'hbm:.*?efficiency: ([\d.]+)'),
            peak * number(r'hbm:.*?write_efficiency: ([\d.]+)'))


def runs(tpu, folder, tilecast):
    clock, reads, writes = described(tilecast, f'tpu_{tpu}')
    modules = {path: open(path).read() for path in glob.glob(f'{folder}/{tpu}/*.hlo')}
    searched = f'{folder}/{tpu}_estimates.csv'
    estimated = {(row['hlo_file'], row['kernel_bounds'], row['output_bounds']): row['cycles']
                 for row in csv.DictReader(open(searched))} if os.path.exists(searched) else {}
    with open(f'{folder}/{tpu}_runs.csv', 'w', newline='') as out:
        names = ['file', 'config_index', 'is_default', 'compute_time_ns', 'compiler_cycles', 'family', *BOUNDS]
        table = csv.DictWriter(out, names)
        table.writeheader()
        for n, row in enumerate(csv.DictReader(open(f'{folder}/{tpu}.csv'))):
            tile = {b.replace('bounds', 'window_bounds') if 'iter' not in b else b: [int(x) for x in row[b].split('x') if x]
                    for b in BOUNDS}
            read, written = moved_bytes(modules[f'{folder}/{row["hlo_file"]}'], tile)
            seconds = max(float(row['cycles']) / clock, read / reads + written / writes)
            program = os.path.basename(row['hlo_file']).split('.')[0]
            said = estimated.get((row['hlo_file'], row['kernel_bounds'], row['output_bounds']), '')
            table.writerow({'file': row['hlo_file'], 'config_index': n, 'is_default': row['is_default'],
                            'compute_time_ns': round(seconds * 1e9, 1), 'compiler_cycles': said,
                            'family': SAME_PROGRAM.sub('', program), **{b: row[b].replace('x', ' ') for b in BOUNDS}})


if __name__ == '__main__':
    if len(sys.argv) > 3 and sys.argv[1] == 'kernels':
        kernels(sys.argv[2], sys.argv[3])
    elif len(sys.argv) > 3 and sys.argv[1] == 'label':
        label(sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 32)
    elif len(sys.argv) > 3 and sys.argv[1] == 'estimates':
        estimates(sys.argv[2], sys.argv[3])
    elif len(sys.argv) > 4 and sys.argv[1] == 'runs':
        runs(*sys.argv[2:5])
    else:
        sys.exit(__doc__)
