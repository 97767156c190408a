#!/usr/bin/env python3
"""Ways to fuse a program, and the cycles of the code that XLA:TPU schedules for each, without a TPU.

usage: xla_fusions.py TPU FOLDER TILECAST PROGRAM.hlo ...   FOLDER: a measurement set; goes on where it ended

TPU: v5e, v5p, v6e. Each PROGRAM (before optimisation) is compiled as it is, under every choice of FLAGS, and RANDOM
times with barriers behind random instructions, which no fusion crosses. Ways that give the same module count once. Of
each there is a row of measurements.csv and programs/PROGRAM.WAY.hlo, the scheduled module; before/ and after/ have it
around the passes that fuse, decisions/ what these say of each producer and consumer: fused or why not.
A time is a sum over kernels, all arrays in main memory: the longer of the cycles of its schedule (xla_tiles.py), which
leave contention for memory out, and its arrays at the described rates, if it reads them whole. Programs with loops are
left out, and those with a convolution or another kernel of more than SMALL bytes of which the compiler says no cycles;
`x_without_cycles` counts the small ones.
Needs jax[tpu] (seen with jax 0.10.2, libtpu 0.0.42.1). A program and way takes 1 to 10 processor seconds.
"""
import csv, math, os, random, re, sys, tempfile

from xla_tiles import Compiler, computations, cycles_in, described, in_child, without_origin

FLAGS = {'no_output_fusion': {'xla_jf_conv_output_fusion': False}, 'no_input_fusion': {'xla_jf_conv_input_fusion': False},
         'no_multi_output': {'xla_jf_enable_multi_output_fusion': False}, 'vmem_2MiB': {'xla_tpu_scoped_vmem_limit_kib': 2048}}
RANDOM = 4
SMALL = 4096
SHARE = 0.25  # of instructions with a barrier
COLUMNS = ('program', 'runtime_ns', 'class', 'family', 'x_way', 'x_kernels', 'x_without_cycles')
STAGES = {'before': '.before_tpu_fusion', 'after': '.before_tpu_trivial_instruction_unfuser', 'programs': '.after_optimizations'}
INSTRUCTION = re.compile(r'^  (?:ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*?)\)(.*)', re.M)
IN_PARTS = re.compile(r' (dynamic-slice|slice|gather|dynamic-update-slice|scatter|pad|concatenate)\(')
WITHOUT_TIME = ('parameter', 'constant', 'tuple', 'get-tuple-element', 'bitcast', 'iota', 'broadcast', 'after-all')


def with_barriers(text, seed):
    """The module with barriers behind random instructions of its entry."""
    draw, (head, entry), lines = random.Random(seed), text.split('\nENTRY ', 1), []
    for line in entry.splitlines():
        match = INSTRUCTION.match(line)
        if not match or 'ROOT' in line or match[2][0] == '(' or match[3] in WITHOUT_TIME or draw.random() > SHARE:
            lines.append(line)
            continue
        name, shape = match.group(1, 2)
        lines += [re.sub(r'^  (\S+) =', r'  \1.raw =', line), f'  {name}.in = ({shape}) tuple({name}.raw)',
                  f'  {name}.out = ({shape}) opt-barrier({name}.in)',
                  f'  {name} = {shape} get-tuple-element({name}.out), index=0']
    return head + '\nENTRY ' + '\n'.join(lines) + '\n'


def ways_of(text, name):
    """Way -> (module, flags of the compiler)."""
    ways = {'default': (text, {})} | {way: (text, flags) for way, flags in FLAGS.items()}
    return ways | {f'random_{i}': (with_barriers(text, f'{name} {i}'), {}) for i in range(1, RANDOM + 1)}


def decisions_in(log):
    """producer,consumer,fused,reason of each fusion that was looked at."""
    rows = ['producer,consumer,fused,reason']
    for part in log.split('Evaluating fusion: producer ')[1:]:
        pair = re.match(r"'(\S+?)' into consumer '(\S+?)'", part)
        why = re.search(r'No fusing: ([^\n,]*)', part)
        refused = why or 'Not allowed at' in part
        rows.append(f'{pair[1]},{pair[2]},{0 if refused else 1},{why[1] if why else ""}')
    return '\n'.join(rows) + '\n'


def bytes_of(shape):
    return sum(math.prod(int(d) for d in dims.split(',') if d) * max(int(bits or 8), 8) // 8
               for bits, dims in re.findall(r'\b[a-z]+(\d*)\w*\[([\d,]*)\]', shape))


def seconds_of(program, cycles, rates):
    """[seconds, kernels, kernels without cycles] of the entry of a scheduled module; None if cycles of a large one are missing."""
    clock, reads, writes = rates
    called = computations(program)
    shapes, total, kernels, without = {}, 0, 0, 0
    for name, shape, opcode, operands, rest in INSTRUCTION.findall(program.split('\nENTRY ', 1)[1]):
        shapes[name] = shape
        if opcode in WITHOUT_TIME:
            continue
        inner = ' '.join(called.get(c, '') for c in re.findall(r'calls=%([\w.\-]+)', rest))
        whole = not IN_PARTS.search(f' {opcode}({inner}')
        read = sum(bytes_of(shapes.get(o, '')) for o in re.findall(r'%([\w.\-]+)', operands))
        if not cycles.get(name) and read + bytes_of(shape) > SMALL:
            return None
        floor = (read / reads + bytes_of(shape) / writes) if whole and cycles.get(name) else 0
        total += max(cycles.get(name, 0) / clock, floor)
        kernels, without = kernels + 1, without + (not cycles.get(name))
    return [total, kernels, without]


def way(tpu, folder, module, flags, rates):
    """Stage -> text, `decisions`, and `time`: seconds_of()."""
    log = folder + '.log'
    os.dup2(os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 2)
    compiler = Compiler(tpu, folder, r'tpu_fusion|tpu_trivial_instruction_unfuser|after_codegen', backend_only=False)
    compiler.set_options(flags)
    compiler.compile(module)
    cycles = cycles_in(compiler.dumped('.after_codegen'))
    found = {stage: without_origin(compiler.dumped(name)) for stage, name in STAGES.items()}
    compiler.clear()
    with open(log, errors='replace') as file:
        found['decisions'] = decisions_in(file.read())
    found['time'] = seconds_of(found['programs'], cycles, rates)
    return found


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as file:
        file.write(text)


def rows_of(tpu, rates, folder, path):
    name = os.path.basename(path).removesuffix('.hlo')
    rows, known, dump = [], set(), tempfile.mkdtemp()
    with open(path) as file:
        text = file.read()
    for label, (module, flags) in ways_of(text, name).items():
        found = in_child(lambda: way(tpu, dump, module, flags, rates))  # the compiler with all its threads
        if found is None or ' while(' in found['programs'] or found['time'] is None:
            print(f'{name} {label}: ' + ('refused' if found is None else 'has a loop, or a kernel without cycles'), flush=True)
            if label == 'default':
                break
            continue
        seconds, kernels, without = found.pop('time')
        body = re.sub(r'%[\w.\-]+|HloModule \S+', '', found['programs'])
        if body in known:
            continue
        known.add(body)
        for stage, content in found.items():
            write(f'{folder}/{stage}/{name}.{label}.' + ('csv' if stage == 'decisions' else 'hlo'), content)
        rows.append(dict(zip(COLUMNS, (f'programs/{name}.{label}.hlo', round(seconds * 1e9, 1), 'program', name,
                                       label, kernels, without))))
    print(f'{name}: {len(rows)} ways, ' + ', '.join(f'{r["x_way"]} {r["runtime_ns"] / 1e3:.1f} us' for r in rows), flush=True)
    return rows


def main(tpu, folder, tilecast, programs):
    os.environ.update(TPU_VMODULE='tpu_instruction_fusion=2,instruction_fusion=2', TPU_MIN_LOG_LEVEL='0', TPU_STDERR_LOG_LEVEL='0')
    table = f'{folder}/measurements.csv'
    done = {row['family'] for row in csv.DictReader(open(table))} if os.path.exists(table) else set()
    write(f'{folder}/manifest.yaml', f'''format: tilecast.measurements/1
name: "xla_fusions_{tpu}"
description: "Ways to fuse programs, cycles of the code that XLA:TPU schedules"
device: "tpu_{tpu}"
source: "validation/xla_fusions.py with jax 0.10.2, libtpu 0.0.42.1"
licence: "Apache-2.0"
timing: "device"
how_timed: "sum over kernels: the longer of its schedule's cycles and of its arrays at the described rates"
''')
    rates = described(tilecast, f'tpu_{tpu}')
    with open(table, 'a', newline='') as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator='\n')
        if not done:
            out.writeheader()
        for path in programs:
            if os.path.basename(path).removesuffix('.hlo') not in done:
                out.writerows(rows_of(tpu, rates, folder, path))
                file.flush()


if __name__ == '__main__':
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
