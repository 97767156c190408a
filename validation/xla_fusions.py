#!/usr/bin/env python3
"""Ways to fuse a program, and the cycles of the code that XLA:TPU schedules for each, without a TPU.

usage: xla_fusions.py TPU FOLDER PROGRAM.hlo ...   FOLDER: a measurement set; goes on where it ended

TPU: v5e, v5p, v6e. Each PROGRAM (before optimisation) is compiled as it is, under every choice of FLAGS, and RANDOM
times with barriers behind random instructions, which no fusion crosses. Ways that give the same module count once. Of
each there is a row of measurements.csv and programs/PROGRAM.WAY.hlo, the scheduled module; before/ and after/ have it
around the passes that fuse, decisions/ what these say of each producer and consumer: fused or why not.
A time is the sum over kernels of the cycles of their schedules (xla_tiles.py), all arrays in main memory; contention
for memory is left out. Programs with loops are left out; `without_cycles` counts what the compiler says no cycles of.
Needs jax[tpu] (seen with jax 0.10.2, libtpu 0.0.42.1). A program and way takes 1 to 10 processor seconds.
"""
import csv, os, random, re, sys, tempfile

from xla_tiles import Compiler, cycles_in, in_child

FLAGS = {'no_output_fusion': {'xla_jf_conv_output_fusion': False}, 'no_input_fusion': {'xla_jf_conv_input_fusion': False},
         'no_multi_output': {'xla_jf_enable_multi_output_fusion': False}, 'vmem_2MiB': {'xla_tpu_scoped_vmem_limit_kib': 2048}}
RANDOM = 4
SHARE = 0.25  # of instructions with a barrier
CLOCKS = {'v5e': 1.5e9, 'v5p': 1.75e9, 'v6e': 1.75e9}
COLUMNS = ('program', 'runtime_ns', 'class', 'family', 'way', 'kernels', 'without_cycles')
STAGES = {'before': '.before_tpu_fusion', 'after': '.before_tpu_trivial_instruction_unfuser', 'programs': '.after_optimizations'}
INSTRUCTION = re.compile(r'  (?:ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\(')
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


def plain(text):
    """Without what says where an instruction came from."""
    return re.sub(r', (metadata|sharding|frontend_attributes)=\{([^{}"]|"[^"]*"|\{[^{}]*\})*\}', '', text)


def decisions_in(log):
    """producer,consumer,fused,reason of each fusion that was looked at."""
    rows = ['producer,consumer,fused,reason']
    for part in log.split('Evaluating fusion: producer ')[1:]:
        pair = re.match(r"'(\S+?)' into consumer '(\S+?)'", part)
        why = re.search(r'No fusing: ([^\n,]*)', part)
        refused = why or 'Not allowed at' in part
        rows.append(f'{pair[1]},{pair[2]},{0 if refused else 1},{why[1] if why else ""}')
    return '\n'.join(rows) + '\n'


def way(compiler, module, flags):
    """Stage -> text, `decisions`, and [cycles, kernels, kernels without cycles] of the entry."""
    log = compiler.dump + '.log'
    compiler.set_options(flags)
    os.dup2(os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 2)
    compiler.compile(module)
    cycles = cycles_in(compiler.dumped('.after_codegen'))
    found = {stage: plain(compiler.dumped(name)) for stage, name in STAGES.items()}
    compiler.clear()
    with open(log, errors='replace') as file:
        found['decisions'] = decisions_in(file.read())
    kernels = [m[1] for m in INSTRUCTION.finditer(found['programs'].split('\nENTRY ', 1)[1]) if m[3] not in WITHOUT_TIME]
    found['time'] = [sum(cycles.get(k, 0) for k in kernels), len(kernels), sum(not cycles.get(k) for k in kernels)]
    return found


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as file:
        file.write(text)


def rows_of(compiler, tpu, folder, path):
    name = os.path.basename(path).removesuffix('.hlo')
    rows, known = [], set()
    with open(path) as file:
        text = file.read()
    for label, (module, flags) in ways_of(text, name).items():
        found = in_child(lambda: way(compiler, module, flags))
        if found is None or ' while(' in found['programs']:
            print(f'{name} {label}: ' + ('refused' if found is None else 'has a loop'), flush=True)
            if label == 'default':
                break
            continue
        cycles, kernels, without = found.pop('time')
        body = re.sub(r'%[\w.\-]+|HloModule \S+', '', found['programs'])
        if body in known:
            continue
        known.add(body)
        for stage, content in found.items():
            write(f'{folder}/{stage}/{name}.{label}.' + ('csv' if stage == 'decisions' else 'hlo'), content)
        rows.append(dict(zip(COLUMNS, (f'programs/{name}.{label}.hlo', round(cycles / CLOCKS[tpu] * 1e9, 1), 'program', name,
                                       label, kernels, without))))
    print(f'{name}: {len(rows)} ways, ' + ', '.join(f'{r["way"]} {r["runtime_ns"] / 1e3:.1f} us' for r in rows), flush=True)
    return rows


def main(tpu, folder, programs):
    os.environ.update(TPU_VMODULE='tpu_instruction_fusion=2,instruction_fusion=2', TPU_MIN_LOG_LEVEL='0', TPU_STDERR_LOG_LEVEL='0')
    said, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)  # its start at this level of logging
    compiler = Compiler(tpu, tempfile.mkdtemp(), r'tpu_fusion|tpu_trivial_instruction_unfuser|after_codegen', backend_only=False)
    os.dup2(said, 2)
    table = f'{folder}/measurements.csv'
    done = {row['family'] for row in csv.DictReader(open(table))} if os.path.exists(table) else set()
    write(f'{folder}/manifest.yaml', f'''format: tilecast.measurements/1
name: "xla_fusions_{tpu}"
description: "Ways to fuse programs, cycles of the code that XLA:TPU schedules"
device: "tpu_{tpu}"
source: "validation/xla_fusions.py with jax 0.10.2, libtpu 0.0.42.1"
licence: "Apache-2.0"
timing: "device"
how_timed: "length of the schedule of each kernel times its trips, with the compiler's latencies, at the clock; summed"
''')
    with open(table, 'a', newline='') as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator='\n')
        if not done:
            out.writeheader()
        for path in programs:
            if os.path.basename(path).removesuffix('.hlo') not in done:
                out.writerows(rows_of(compiler, tpu, folder, path))
                file.flush()


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
