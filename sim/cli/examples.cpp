#include "sim/cli/commands.h"

namespace tilecast::sim::cli {
namespace {

constexpr Example kExamples[] = {
    {"simulate --device tpu_v3 configs/programs/mlp_train.hlo",
     "how long the program takes, kernel by kernel"},
    {"simulate -d tpu_v3 -d h100_sxm configs/programs/mlp_train.hlo "
     "configs/programs/small_resnet.hlo",
     "programs and devices in one table"},
    {"simulate -d tpu_v3 --set hbm.bandwidth=900GB/s configs/programs/mlp_train.hlo",
     "the same machine with twice the memory bandwidth"},
    {"simulate -d tpu_v3 --model analytical --format trace -o mlp.json "
     "configs/programs/mlp_train.hlo",
     "physics alone, as a timeline for https://ui.perfetto.dev"},

    {"explain --device tpu_v3 configs/examples/product.hlo",
     "how busy each resource is, and the best tiles"},
    {"explain -d tpu_v3 configs/programs/mlp_train.hlo --kernel dot_subtract_fusion.108",
     "one kernel of a program"},
    {"explain -d tpu_v3 configs/examples/product.hlo --tile 'out=64x4 kernel=256x1'",
     "the same with a tile of your choice"},
    {"explain -d a100_sxm_40gb configs/examples/gpu_product.hlo --tile 'out=128x128 kernel=64x128 "
     "stages=3 warps=4' --loops cuda",
     "the loops of a block as CUDA C++ (pipelined: as a loop program)"},

    {"advise -d cpu_generic --unroll 1,2,4,8 configs/examples/product.hlo",
     "registers, spills and time of each factor, with nothing compiled"},
    {"advise -d cpu_generic --fuse multiply.45,tanh.46 configs/programs/small_mixer.hlo",
     "an array in its reader's kernel, or apart"},

    {"kernels configs/programs/mlp_train.hlo", "FLOPs and bytes of every kernel, without a device"},
    {"kernels --device tpu_v3 --format csv configs/programs/mlp_train.hlo",
     "the same with bytes in the padded layout of a TPU"},
    {"kernels --memory --device tpu_v3 configs/programs/mlp_train.hlo",
     "what lies in the TPU's memory when it is fullest"},

    {"convert configs/examples/product.hlo -o product.mlir", "the program as StableHLO text"},
    {"convert product.mlir -o - --to hlo", "and back, to the terminal"},

    {"hw list", "the presets with clock, memory and peak"},
    {"hw list --format csv", "the same for a spreadsheet"},
    {"hw show tpu_v3 > my_tpu.yaml", "a description in full, to edit"},
    {"hw show --schema", "every key with its unit, range and meaning"},
    {"hw check", "peaks recomputed from the descriptions, beside the published ones"},
    {"hw check ./my_tpu.yaml", "the same for a description of your own"},
    {"hw diff tpu_v2 tpu_v3", "what changed from one generation to the next"},
    {"hw diff h100_sxm h200_sxm --format csv", "the same for a spreadsheet"},
    {"hw export h100_sxm --to xla-gpu-target",
     "the target that XLA:GPU compiles for, where there is no GPU"},
    {"hw export b300 --set multiplexing.workers=200 -o more_workers.txtpb",
     "that of a machine that nobody built, for --xla_gpu_target_config_filename"},
    {"hw probe -o this_machine.yaml --name my_laptop",
     "measure this processor for about 20 s and describe it as a device", false},
    {"hw probe --seconds 60 --format json", "longer and more exact, with every repeat's spread",
     false},

    {"ops --device h100_sxm configs/examples/operators.csv",
     "the table with more columns: time, bound, utilisation, energy, power, clock"},
    {"ops -d tpu_v3 --model roofline configs/examples/operators.csv --format table",
     "the speed of light of the same operators"},

    {"sweep configs/examples/next_tpu.yaml --pareto time_s,area",
     "machines that no other beats in time and area"},
    {"sweep configs/examples/next_tpu.yaml --format csv -o machines.csv",
     "every machine, for a spreadsheet; --resume goes on where it was broken off"},
    {"sweep configs/examples/next_tpu.yaml --journal next_tpu.journal --format csv -o machines.csv",
     "the same on a cluster behind mpirun -n 64, with a journal that stays", false},
    {"sweep configs/examples/next_tpu.yaml --optimise --evaluations 120",
     "the fastest machine within the constraints, between the points of the grid, too"},
    {"sensitivity -d tpu_v3 configs/programs/mlp_train.hlo",
     "which numbers of the machine matter, and what limits next"},
    {"sensitivity -d tpu_v3 --format csv configs/programs/mlp_train.hlo",
     "every number, for a plot"},

    {"tiles --device tpu_v3 configs/examples/product.hlo configs/examples/tiles.csv",
     "four tiles of one matrix product"},
    {"tiles -d tpu_v3 --model hybrid configs/examples/product.hlo configs/examples/tiles.csv",
     "the same with correction and 90 % interval"},
    {"tiles -d a100_sxm_40gb --list schedules --most 5 configs/examples/gpu_product.hlo",
     "the fastest blocks of a product on a GPU, with their stages and warps"},

    {"features", "every column with its unit and meaning"},
    {"features --device tpu_v3 configs/examples/product.hlo --group prior --format csv",
     "what the analytical model tells a learned one about a kernel"},

    {"train validation/experiments/learned_host_tiles.yaml --learner trees --dry-run",
     "what would be trained, and on which rows"},
    {"train validation/experiments/learned_host_fusion.yaml --learner trees --out host_trees",
     "boosted trees on 2,351 kernels, with their error on held-out programs", false},
    {"train validation/experiments/learned_host_tiles.yaml --learner sage_rank --out host_sage "
     "--resume",
     "resume an interrupted graph network", false},

    {"evaluate --device tpu_v3 configs/measurements/example_matmul",
     "roofline and analytical model against a set"},
    {"evaluate -d tpu_v3 configs/measurements/example_matmul --by class,size",
     "tables by op class and size"},
    {"evaluate -d tpu_v3 configs/measurements/example_matmul --rows rows.csv",
     "every row with its predictions, for a plot"},

    {"calibrate --device tpu_v3 configs/measurements/example_matmul -o my_v3.yaml",
     "fit the constants and write a device that extends the old one"},
    {"calibrate -d tpu_v3 configs/measurements/example_matmul --fix matrix --format json",
     "keep one constant as described"},
    {"calibrate -d tpu_v3 configs/measurements/example_matmul -o hybrid_v3.yaml --then-train "
     "my_model",
     "also fit a correction of what the constants leave"},
    {"calibrate -d mi300x run.xplane.pb -o my_mi300x.yaml", "fit the constants to a profile",
     false},

    {"compare -d tpu_v3 --with hbm.bandwidth=900GB/s configs/programs/mlp_train.hlo",
     "what twice the bandwidth gains, by resource, layer and kernel"},
    {"compare -d tpu_v5e configs/programs/small_mlp_train.hlo configs/programs/mlp_train.hlo",
     "two programs, or versions of one"},
    {"compare -d tpu_v3 configs/examples/step.hlo --trace configs/examples/step_profile.json",
     "a program against its profile"},
    {"compare run.xplane.pb --top 10",
     "a profile of JAX or XLA against the model of the device that it names", false},

    {"import operators --mapping configs/examples/gemm_times.yaml -o gemm "
     "configs/examples/gemm_times.csv",
     "a table of your own through a mapping of your own"},
    {"import operators --mapping neusight -o neusight data/neusight",
     "public files through a shipped mapping", false},
    {"import kernel-tuner --mapping kernel_tuner_gemm -o clblast "
     "configs/examples/clblast_gemm_RTX_3090.csv",
     "a cache that was exported as CSV"},
    {"import kernel-tuner --mapping kernel_tuner_gemm -o clblast_all RTX_3090.json.gz",
     "a cache as Kernel Tuner wrote it", false},
    {"import tiles --mapping tpu_v3_tiles -o tile_set configs/examples/tile_runs.csv",
     "runs of tiles, with the HLO file of their kernel beside the table"},
    {"import tiles --mapping tpu_v3_tiles --modules dumps -o autotuned tile_runs.csv",
     "HLO files in a folder of their own", false},
    {"import trace --device tpu_v3 --module configs/examples/step.hlo -o step "
     "configs/examples/step_profile.json",
     "mean device time of every kernel of a profiled step"},
    {"import trace -d tpu_v3 --module step.hlo -o step_set plugins/profile/run/host.trace.json.gz",
     "what JAX's profiler wrote", false},
    {"import xplane -d tpu_v5e -o step_set logs",
     "the newest run of a log folder of JAX's profiler, all hosts", false},
    {"import xplane -d h100_sxm --module step.hlo -o step_set host.xplane.pb",
     "a profile without its modules", false},

    {"measure host --out my_machine --budget 10m",
     "describe this processor, then measure what comes with Tilecast", false},
    {"measure host --device cpu_generic --out mine --tiles-per-kernel 32 "
     "configs/programs/small_mixer.hlo",
     "kernels of your own program", false},
    {"measure repeat my_machine --limit 200 --out my_machine_again",
     "200 kernels again, some other time", false},
    {"measure repeat my_machine --budget 2m --out my_machine_again --format json",
     "as many as two minutes allow", false},

    {"tune tiles --device tpu_v3 --from tile_set --strategy model --trials 2",
     "a search among tiles that were measured already"},
    {"tune tiles -d tpu_v3 configs/examples/product.hlo --measure 'echo \"172 us\"' --trials 3 -o "
     "trials.csv",
     "a search that runs a command for each tile; put your own instead of echo"},
    {"tune tiles -d a4000 --from convolution_set --compare",
     "how strategies do on a set that holds every tile", false},

    {"tune fusion -d tpu_v3 --costs 2000 -o mlp.fusion configs/programs/small_mlp_train.hlo",
     "decisions for --fusion, chosen by the model alone"},
    {"tune fusion -d my_machine/host.yaml --hardware host --hardware-budget 1m --journal mixer.csv "
     "configs/programs/small_mixer.hlo",
     "the fastest by the model, then timed on this machine", false},

    {"tune program -d tpu_v3 -o mixer.tiles configs/programs/small_mixer.hlo",
     "tiles for --tiles, chosen by the model alone"},
    {"tune program -d my_machine/host.yaml --hardware host --top 20 --fusion mixer.fusion "
     "configs/programs/small_mixer.hlo",
     "the first 20 tiles of each kernel on this machine, of a program with tuned fusions", false},

    {"report before.json after.json -o difference.html",
     "two results of simulate --format json, and their difference by kernel and resource", false},
    {"report rows.csv -o errors.html --title 'Matrix products on a TPU v3'",
     "measured against predicted, with residuals by class"},
    {"serve --folder configs/programs", "the page and the API on loopback", false},
    {"serve --host 0.0.0.0 --token sesame --port 8080", "for others, who must send the token",
     false},
};

}  // namespace

std::span<const Example> examples() {
  return kExamples;
}

}  // namespace tilecast::sim::cli
