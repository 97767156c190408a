import sys
# usage: gen.py NAME SEEDS N... 
name, seeds = sys.argv[1], int(sys.argv[2]); ns=list(map(int, sys.argv[3:]))
SETS={'v6e':'''  - {name: v5e tiles, importer: set, from: measured/xla_tiles_v5e.zip, devices: [tpu_v5e]}
  - {name: v6e tiles, importer: set, from: measured/xla_tiles_v6e.zip, devices: [tpu_v6e]}
  - {name: v5p tiles, importer: set, from: measured/xla_tiles_v5p.zip, devices: [tpu_v5p]}''',
'v3':'''  - {name: v5e tiles, importer: set, from: measured/xla_tiles_v5e.zip, devices: [tpu_v5e]}
  - {name: v3, importer: tiles, from: data/tpu_v3_tiles/tile_runs.csv, mapping: tpu_v3_tiles, devices: [tpu_v3]}
  - {name: v6e tiles, importer: set, from: measured/xla_tiles_v6e.zip, devices: [tpu_v6e]}
  - {name: v5p tiles, importer: set, from: measured/xla_tiles_v5p.zip, devices: [tpu_v5p]}''',
'host':'''  - {name: v5e tiles, importer: set, from: measured/xla_tiles_v5e.zip, devices: [tpu_v5e]}
  - {name: host tiles, importer: set, from: measured/host_tiles_full.zip, devices: [../measured/host_tiles_full.zip/host.yaml]}''',
'intel':'''  - {name: zen5, importer: set, from: measured/host_fusion_full.zip, devices: [../measured/host_fusion_full.zip/host.yaml]}
  - {name: intel, importer: set, from: ../measured/host_programs_intel.zip, devices: [../measured/host_programs_intel.zip/host.yaml]}''',
'h200':'''  - {name: h100, importer: set, from: measured/h100_blocks.zip, devices: [h100_sxm]}
  - {name: h200, importer: set, from: measured/h200_blocks.zip, devices: [h200_sxm]}''',
}
split={'v6e':'held_out_families','v3':'held_out_works','host':'held_out_works','h200':'held_out_works','intel':'held_out_families'}[name]
print(f'''format: tilecast.experiment/1
name: pretraining_{name}
claim: x
data:
{SETS[name]}
split: {{kind: {split}, share: 20 %, seeds: {seeds}, seed: 1}}
{chr(10).join(['fit: [{at_least: 5 us}]','score: [{at_least: 5 us}]','learners:']) if name=='intel' else 'learners:'}''')
cols=[]
for n in ns:
    e = 300 if n<=100 else 100
    p = 40 if n<=100 else 15
    net=f'model: network, epochs: {e}, patience: {p}, at_nodes: [tile], graph: sage, reduction: column_wise, pool_sum: yes, loss: log_time'
    for m in ('none','physics','labels','both'):
        print(f'  - {{name: time.{m}.{n}, {net}, at_kernel: [static, tile, machine]}}'); cols.append(f'time.{m}.{n}')
    for m in ('none','labels','pooled'):
        print(f'  - {{name: residual.{m}.{n}, {net}, target: residual, at_kernel: [static, tile, machine, prior]}}'); cols.append(f'residual.{m}.{n}')
    for m in ('none','pooled'):
        print(f'  - {{name: trees.{m}.{n}, model: xgboost, target: residual, features: [static, ops, shape, tile, prior, machine]}}'); cols.append(f'trees.{m}.{n}')
print(f'columns: [analytical, {", ".join(cols)}]\nby: [set]\nmetrics: [mape, row_tau_b, tile_size_ape, tile_tau_b]')
# pretraining_trial.py v6e 3 20 100 1000 > validation/experiments/trial.yaml
# TRIAL_TARGET=1 (the set whose rows are few) TRIAL_MACHINES="tpu_v3 tpu_v5e,hbm.bandwidth=1600GB/s ..." (physics' rows)
# scripts/validate validation/experiments/trial.yaml
