#!/usr/bin/env python3
"""Kernels that XLA:TPU schedules, without a TPU: their tiles and the cycles of their code, beside our compute part.

usage: tpu_kernels.py compile TPU FOLDER [PROGRAM ...]  modules of the programs below: FOLDER/set/tpu_TPU/PROGRAM.hlo
       tpu_kernels.py compare TILECAST SET [OUT.csv]    a row a kernel, then medians and spreads by TPU and kind

TPU: v5e, v5p, v6e. compile needs jax[tpu] (seen with jax 0.10.2 and libtpu 0.0.42.1) and 5 to 30 processor seconds
a program. SET: such a folder, or tpu_kernels.zip beside this file, made from it. The compiler writes the cycles of
a kernel's schedule, trips included, beside its tile (bundle_analysis_data). Compared are kernels whose arrays all lie
in VMEM, so that nothing waits for main memory, in cycles of the device's clock; the share of the clock that large
products sustain (matrix.efficiency) is none of the schedule's.
"""
import collections, csv, glob, json, math, os, re, statistics, subprocess, sys, tempfile, zipfile

TOPOLOGIES = {'v5e': 'v5e:2x2', 'v5p': 'v5p:2x2x1', 'v6e': 'v6e:2x2', 'v7x': 'tpu7x:2x2x1'}
SHORTEST = 100  # cycles; below, a kernel is only its prologue
SCHEDULED = ('hbm.bandwidth=1000TB/s', 'hbm.latency=0us', 'hbm_to_vmem.setup=0ns', 'matrix.efficiency=1')


def programs():
    """Name -> (function, shapes): several independent kernels each, so that one compilation gives several rows."""
    import jax, jax.numpy as jnp
    from jax import lax
    f32, bf16, s8 = jnp.float32, jnp.bfloat16, jnp.int8
    made = {}

    def add(name, function, *shapes):
        made[name] = (function, [(s[:-1], s[-1]) if not isinstance(s[-1], int) else (s, bf16) for s in shapes])

    def each(function):
        return lambda *arrays: tuple(function(a) for a in arrays)

    def pairs(function):
        return lambda *arrays: tuple(function(a, b) for a, b in zip(arrays[::2], arrays[1::2]))

    def product(a, b):
        exact = jnp.int32 if a.dtype == s8 else a.dtype
        return lax.dot_general(a, b, (((a.ndim - 1,), (b.ndim - 2,)), (tuple(range(a.ndim - 2)),) * 2),
                               preferred_element_type=exact)

    sizes = {'square': [(512, 512, 512), (1024, 1024, 1024), (768, 2048, 768)],
             'flat': [(8, 2048, 2048), (32, 1024, 4096), (128, 2048, 512), (1, 2048, 1024)],
             'deep': [(256, 8192, 256), (512, 4096, 128), (1024, 256, 1024), (2048, 64, 1024)],
             'ragged': [(1000, 1000, 1000), (300, 700, 500), (129, 257, 385), (1000, 100, 1500)]}
    for name, list_of in sizes.items():
        for kind, dtype in (('bf16', bf16), ('f32', f32), ('s8', s8)):
            shapes = [s for m, k, n in list_of for s in ((m, k, dtype), (k, n, dtype))]
            add(f'product_{name}_{kind}', pairs(product), *shapes)
    add('product_batched', pairs(product), *[s for b, m, k, n in (
        (16, 40, 128, 40), (32, 128, 64, 128), (64, 16, 128, 512), (8, 512, 64, 512), (96, 32, 32, 32))
        for s in ((b, m, k), (b, k, n))])
    add('product_epilogue', lambda x, w, b, u, v: (jax.nn.gelu(x @ w + b), jax.nn.relu(u @ v) * 2, (u @ v).sum(0)),
        (1024, 768), (768, 3072), (3072,), (2048, 512), (512, 1024))
    add('product_transposed', lambda a, b, c, d: (a.T @ b, jnp.einsum('ik,jk->ij', c, d)),
        (1024, 2048), (1024, 512), (768, 1024), (512, 1024))
    add('attention_scores', lambda q, k, v: jnp.einsum('bqhd,bkhd->bhqk', q, k) + 0 * v.sum(), (4, 256, 8, 64),
        (4, 256, 8, 64), (8, 128))
    add('two_products', lambda x, w, v: jnp.einsum('bij,bjk->bik', jnp.einsum('bij,jk->bik', x, w), v),
        (16, 40, 128), (128, 128), (16, 128, 40))

    def convolution(stride=1, groups=1, padding='SAME'):
        return lambda x, w: lax.conv_general_dilated(x, w, (stride, stride), padding, feature_group_count=groups,
                                                     dimension_numbers=('NHWC', 'HWIO', 'NHWC'))

    def several(*functions):
        return lambda *arrays: tuple(f(a, b) for f, a, b in zip(functions, arrays[::2], arrays[1::2]))

    add('convolution', several(*[convolution()] * 4), (8, 56, 56, 64), (3, 3, 64, 64), (8, 28, 28, 128),
        (3, 3, 128, 128), (8, 14, 14, 256), (3, 3, 256, 256), (8, 28, 28, 256), (1, 1, 256, 512))
    add('convolution_strided', several(convolution(2), convolution(2), convolution(2)), (8, 112, 112, 3),
        (7, 7, 3, 64), (8, 56, 56, 128), (3, 3, 128, 128), (8, 28, 28, 512), (1, 1, 512, 1024))
    add('depthwise', several(convolution(1, 96), convolution(2, 144), convolution(1, 384)), (4, 56, 56, 96),
        (3, 3, 1, 96), (4, 56, 56, 144), (3, 3, 1, 144), (4, 14, 14, 384), (5, 5, 1, 384))
    for kind, dtype in (('bf16', bf16), ('f32', f32)):
        big, wide, tall = (2048, 1024, dtype), (256, 8192, dtype), (16384, 128, dtype)
        add(f'elementwise_{kind}', lambda a, b, c, d: (jax.nn.gelu(a), jnp.exp(b), c * 2 + d, jnp.sqrt(d * d + 1),
                                                       jax.nn.silu(a) * a, jnp.tanh(b)), big, wide, tall, tall)
        add(f'softmax_{kind}', each(lambda x: jax.nn.softmax(x.astype(f32), -1).astype(dtype)), big, wide, tall,
            (8, 16, 128, 512, dtype))
        add(f'norms_{kind}', each(lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1)),
            big, wide, tall)
        add(f'sums_{kind}', lambda a, b, c: (a.sum(-1), b.sum(0), c.sum(-1), a.max(0), b.max(-1), c.min(0)), big, wide,
            tall)
        add(f'transposes_{kind}', lambda a, b, c, d: (a.T, b.T, c.transpose(0, 2, 1, 3), d.transpose(2, 0, 1)), big,
            (512, 3000, dtype), (8, 128, 16, 64, dtype), (64, 256, 128, dtype))
        add(f'moves_{kind}', lambda a, b, c: (jnp.concatenate([a, b], 1), jnp.pad(a, ((3, 5), (0, 128))), b[::-1],
                                              a.reshape(512, 4, 1024), c[:, 64:192], jnp.repeat(c, 2, 0)),
            big, big, (2048, 256, dtype))
    add('scans', lambda a, b: (jnp.cumsum(a, -1), jnp.cumsum(b, 0), jnp.argmax(a, -1), lax.cummax(b, 1)),
        (256, 1024, f32), (1024, 256, f32))
    add('updates', lambda cache, new, other, at: (lax.dynamic_update_slice(cache * 1, new, (0, at, 0, 0)),
                                                  lax.dynamic_update_slice(other, new * 2, (0, at, 0, 0))),
        (8, 512, 8, 128), (8, 1, 8, 128), (8, 512, 8, 128), (jnp.int32,))
    add('quantised', lambda a, b: ((a.astype(f32) * 0.1).astype(bf16), jnp.clip(jnp.round(b * 7), -128, 127)
                                   .astype(s8)), (2048, 1024, s8), (2048, 1024, f32))
    return made


def on_chip(function):
    """The same on arrays that kernels before made and kernels after read, so that they stay on the chip."""
    from jax import lax

    def within(*arrays):
        made = function(*lax.optimization_barrier(tuple(a + 1 for a in arrays)))
        kept = lax.optimization_barrier(made if isinstance(made, tuple) else (made,))
        return tuple(k[:1] for k in kept)

    return within


def compile_programs(tpu, folder, wanted):
    dump = tempfile.mkdtemp()
    os.environ.update(TPU_SKIP_MDS_QUERY='1', JAX_PLATFORMS='cpu', TPU_MIN_LOG_LEVEL='3',
                      XLA_FLAGS=f'--xla_dump_to={dump} --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=after_codegen',
                      LIBTPU_INIT_ARGS=f'--xla_jf_dump_static_llo_profile_to={dump}/profile')
    import jax
    from jax.experimental import topologies
    os.makedirs(f'{folder}/set/tpu_{tpu}', exist_ok=True)
    for name, (function, shapes) in programs().items():
        if wanted and name not in wanted:
            continue
        child = os.fork()  # the profile ends the process on some programs: the others still compile
        if child:
            if os.waitpid(child, 0)[1]:
                print(f'{tpu} {name}: not compiled', file=sys.stderr)
            continue
        device = topologies.get_topology_desc(platform='tpu', topology_name=TOPOLOGIES[tpu]).devices[0]
        place = jax.sharding.SingleDeviceSharding(device)
        jax.jit(on_chip(function)).lower(*[jax.ShapeDtypeStruct(s, t, sharding=place) for s, t in shapes]).compile()
        newest = max(glob.glob(f'{dump}/*.after_codegen.txt'), key=os.path.getmtime)
        with open(f'{folder}/set/tpu_{tpu}/{name}.hlo', 'w') as out:
            out.write(stripped(open(newest).read()))
        os._exit(0)


def stripped(text):
    """Without source positions and the keys of configurations that neither we nor a reader needs."""
    def kept(match):
        config, end = json.JSONDecoder().raw_decode(match.string, match.start(1))
        window = config.get('window_config', {})
        tile = {k: v for k, v in window.items() if k.endswith('bounds') or k == 'estimated_cycles'}
        small = {'window_config': tile} if tile else {}
        if 'bundle_analysis_data' in config:
            small['bundle_analysis_data'] = {'estimated_cycles': config['bundle_analysis_data']['estimated_cycles']}
        return match.string[:match.start()], small, match.string[end:]

    lines = []
    for line in text.splitlines():
        if re.match(r'^(FileNames|FunctionNames|FileLocations|StackFrames|\d+ )', line):
            continue
        line = re.sub(r', (metadata|sharding|frontend_attributes)=\{([^{}]|\{[^{}]*\})*\}', '', line)
        found = re.search(r', backend_config=(?=(\{))', line)
        if found:
            before, small, after = kept(found)
            line = before + (f', backend_config={json.dumps(small)}' if small else '') + after
        if line or (lines and lines[-1]):
            lines.append(line)
    return '\n'.join(lines) + '\n'


def scheduled(path):
    """Kernel -> (cycles, tile) of a module."""
    found = {}
    for line in open(path):
        match = re.match(r'\s*(?:ROOT )?%?([\w.\-]+) = .*backend_config=(\{.*\})', line)
        config = json.loads(match[2]) if match else {}
        if 'bundle_analysis_data' in config:
            cycles = float(config['bundle_analysis_data']['estimated_cycles'])
            found[match[1]] = cycles, config.get('window_config', {})
    return found


def kind_of(text):
    return 'product' if re.search(r' (convolution|dot)\(', text) else 'other'


def kept_on_chip(path):
    """Kernels of a module whose operands and results all lie in VMEM (memory space 1)."""
    places, kernels = {}, {}
    instruction = r'^\s+(?:ROOT )?%([\w.\-]+) = (\(.*?\)|\S+) [\w\-]+\((.*?)\)'
    for name, shape, operands in re.findall(instruction, open(path).read(), re.M):
        arrays = [a for a in re.findall(r'\w+\[[\d,]*\](?:\{[^}]*\})?', shape) if '[]' not in a]
        places[name] = all('S(1)' in a for a in arrays)
        kernels[name] = re.findall(r'%([\w.\-]+)', operands)
    return {name for name, operands in kernels.items() if places[name] and all(places.get(o, True) for o in operands)}


def bodies(path):
    """Kernel -> the text of its instruction and of what it calls."""
    text, called = open(path).read(), {}
    for name, body in re.findall(r'^%([\w.\-]+) \(.*?\{\n(.*?)^\}', text, re.M | re.S):
        called[name] = body
    return {name: line + called.get((re.search(r'calls=%([\w.\-]+)', line) or ['', ''])[1], '') for name, line in
            re.findall(r'^\s+(?:ROOT )?%([\w.\-]+) = (.*)$', text, re.M)}


def compare(tilecast, folder, out):
    rows = []
    if zipfile.is_zipfile(folder):
        unpacked = tempfile.mkdtemp()
        zipfile.ZipFile(folder).extractall(unpacked)
        folder = unpacked
    for path in sorted(glob.glob(f'{folder}/**/tpu_*/*.hlo', recursive=True)):
        device = os.path.basename(os.path.dirname(path))
        settings = [word for value in SCHEDULED for word in ('--set', value)]
        answer = subprocess.run([tilecast, 'simulate', '-d', device, '--model', 'analytical', '--format', 'json',
                                 *settings, path], capture_output=True, text=True)
        if answer.returncode:
            print(path, answer.stderr.strip(), file=sys.stderr)
            continue
        cycles, text, inside = scheduled(path), bodies(path), kept_on_chip(path)
        shown = subprocess.run([tilecast, 'hw', 'show', device], capture_output=True, text=True).stdout
        clock_hz = 1e9 * float(re.search(r'^clock: ([\d.]+) GHz', shown, re.M)[1])
        for kernel in json.loads(answer.stdout)['programs'][0]['kernels']:
            name = kernel['name']
            took, tile = cycles.get(name, (0, {}))
            if name not in inside or took < SHORTEST or kernel['time_s'] <= 0:
                continue
            rows.append({'device': device, 'program': os.path.basename(path)[:-4], 'kernel': name,
                         'kind': kind_of(text.get(name, '')), 'iterations': 'x'.join(tile.get('iteration_bounds', [])),
                         'cycles': took, 'ours': kernel['time_s'] * clock_hz, 'bound': kernel['bound'],
                         'flags': '; '.join(kernel['flags'])})
    with open(out, 'w', newline='') as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    by_kind = collections.defaultdict(list)
    for row in rows:
        by_kind[row['device'], row['kind']].append(math.log(row['ours'] / row['cycles']))
    for key, logs in sorted(by_kind.items()):
        middle, spread = statistics.median(logs), statistics.median(abs(x) for x in logs)
        print(f'{" ".join(key):20} n {len(logs):4}  median ours / scheduled {math.exp(middle):5.2f}  median factor '
              f'{math.exp(spread):5.2f}')


if __name__ == '__main__':
    if len(sys.argv) > 3 and sys.argv[1] == 'compile':
        compile_programs(sys.argv[2], sys.argv[3], sys.argv[4:])
    elif len(sys.argv) > 3 and sys.argv[1] == 'compare':
        compare(sys.argv[2], sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else os.devnull)
    else:
        sys.exit(__doc__)
