"""tilecast.serving: sizes of public models, what is refused, the sum of the operator table, and the
figures of measured operators where the third-party tables are there."""
import csv
import gzip
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time
import unittest

import tilecast
import tilecast.serving
import tilecast.training
from tilecast.serving import Layout, Transformer

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLAMA = ROOT / "configs/examples/llama_3_8b.json"
DATA = pathlib.Path(os.environ.get("TILECAST_SHARED", ROOT / "../shared")) / "data"
TABLES, STEPS = DATA / "aiconfigurator", DATA / "tpu_slices/steps.csv"

# Public sizes of models, in the form of their config.json.
QWEN3_30B = dict(model_type="qwen3_moe", hidden_size=2048, num_hidden_layers=48, num_attention_heads=32,
                 num_key_value_heads=4, head_dim=128, intermediate_size=6144, moe_intermediate_size=768,
                 vocab_size=151936, num_experts=128, num_experts_per_tok=8, decoder_sparse_step=1)
MIXTRAL = dict(model_type="mixtral", hidden_size=4096, num_hidden_layers=32, num_attention_heads=32,
               num_key_value_heads=8, intermediate_size=14336, vocab_size=32000, num_local_experts=8,
               num_experts_per_tok=2, sliding_window=None)
GEMMA3_27B = dict(model_type="gemma3", text_config=dict(
    model_type="gemma3_text", hidden_size=5376, num_hidden_layers=62, num_attention_heads=32,
    num_key_value_heads=16, head_dim=128, intermediate_size=21504, vocab_size=262208, sliding_window=1024))
DEEPSEEK_V3 = dict(model_type="deepseek_v3", hidden_size=7168, num_hidden_layers=61, num_attention_heads=128,
                   num_key_value_heads=128, intermediate_size=18432, moe_intermediate_size=2048,
                   vocab_size=129280, n_routed_experts=256, num_experts_per_tok=8, n_shared_experts=1,
                   first_k_dense_replace=3, moe_layer_freq=1, q_lora_rank=1536, kv_lora_rank=512,
                   qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, torch_dtype="bfloat16")


class Recipes(unittest.TestCase):
    def test_weights_are_the_published_numbers_of_parameters(self):
        for config, published in ((LLAMA, 8.03e9), (QWEN3_30B, 30.5e9), (MIXTRAL, 46.7e9), (GEMMA3_27B, 27.0e9),
                                  (DEEPSEEK_V3, 671e9)):
            parameters = Transformer(config).weight_bytes(Layout()) / 2
            self.assertAlmostEqual(parameters / published, 1, delta=0.005, msg=str(config))

    def test_devices_share_weights_and_cache(self):
        for config, whole, shared in ((LLAMA, Layout(), Layout(tensor=8)),
                                      (DEEPSEEK_V3, Layout(tensor=8), Layout(tensor=8, expert=64, data=8))):
            one, parts = (Transformer(config).weight_bytes(layout) for layout in (whole, shared))
            self.assertLess(parts, one / 5)
        llama = Transformer(LLAMA)
        self.assertEqual(llama.cache_bytes(Layout(), 1000), 32 * 2 * 8 * 128 * 2 * 1000)
        self.assertEqual(llama.cache_bytes(Layout(tensor=8), 1000), 32 * 2 * 128 * 2 * 1000)
        self.assertEqual(Transformer(DEEPSEEK_V3).cache_bytes(Layout(), 1), 61 * (512 + 64) * 2)
        local = Transformer(GEMMA3_27B)
        self.assertEqual(local.windows, {1024: 52, 0: 10})
        self.assertEqual(local.cache_bytes(Layout(), 4096), (52 * 1024 + 10 * 4096) * 2 * 16 * 128 * 2)

    def test_products_of_a_prompt_are_two_flops_a_parameter_and_token(self):
        for config, active in ((LLAMA, 8.03e9 - 2 * 128256 * 4096), (DEEPSEEK_V3, None)):
            model = Transformer(config)
            launches = model.step(Layout(), 1, 512, 512)
            flops = sum(2 * launch.count * launch.row["m"] * launch.row["n"] * launch.row["k"] * launch.row["batch"]
                        for launch in launches if launch.row["op"] == "matmul" and launch.name != "head")
            if active:
                self.assertAlmostEqual(flops / (2 * active * 512), 1, delta=0.001)
            names = {launch.name for launch in launches}
            self.assertEqual("experts" in names, model.experts > 0)

    def test_8_bits_convert_before_they_multiply(self):
        model = Transformer(LLAMA, weights="f8e4m3fn", cache="f8e4m3fn")
        rows = [launch.row for launch in model.step(Layout(), 4, 1, 1000)]
        products = [row for row in rows if row["op"] == "matmul"]
        self.assertEqual({row["dtype"] for row in products[:-1]}, {"f8e4m3fn"})
        self.assertEqual(products[-1]["dtype"], "bf16")  # logits
        self.assertEqual(sum(row["op"] == "convert" for row in rows), len(products) - 1)
        self.assertEqual({row["kv_dtype"] for row in rows if row["op"] == "attention"}, {"f8e4m3fn"})

    def test_errors_name_what_is_missing_or_unknown(self):
        lacking = {key: value for key, value in DEEPSEEK_V3.items() if key not in ("kv_lora_rank", "vocab_size")}
        for config, options, said in (
                (dict(MIXTRAL, model_type="falcon"), {}, "got 'falcon', expected one of llama"),
                (lacking, {}, "whole numbers for vocab_size, kv_lora_rank"),
                (dict(MIXTRAL, quantization_config={"quant_method": "gptq"}), {}, "'gptq' has no recipe"),
                ("no_such.json", {}, "no_such.json"),
                (LLAMA, {"tensor": 3}, "tensor: got 3, expected a divisor of 32"),
                (LLAMA, {"expert": 2}, "has no experts"),
                (MIXTRAL, {"expert": 8}, "expert: got 8"),
                (LLAMA, {"batch": 0}, "batch: got 0"),
                (LLAMA, {"weights": "int3"}, "got type 'int3'")):
            with self.assertRaises(tilecast.Error) as caught:
                tilecast.serving.plan(config, "h100_sxm", **options)
            self.assertIn(said, str(caught.exception))


class Plans(unittest.TestCase):
    def test_a_step_is_the_sum_of_its_operators(self):
        plan = tilecast.serving.plan(LLAMA, "h100_sxm", batch=[1, 32], tensor=[1, 8])
        self.assertEqual(len(plan), 4)
        for i, row in enumerate(plan):
            parts = list(plan.operators(i))
            for step, name in (("prefill", "ttft_s"), ("decode", "tpot_s")):
                self.assertAlmostEqual(sum(part["time_s"] for part in parts if part["step"] == step), row[name])
        head = [part for part in plan.operators(0) if (part["step"], part["operator"]) == ("decode", "head")]
        alone = tilecast.ops({"op": ["matmul"], "dtype": ["bf16"], "m": [1], "n": [128256], "k": [4096]}, "h100_sxm")
        self.assertAlmostEqual(head[0]["time_s"], alone["estimate_ns"][0] * 1e-9, delta=1e-9)

    def test_more_tokens_take_longer_and_more_memory(self):
        plan = tilecast.serving.plan(MIXTRAL, "h100_sxm", batch=[1, 4, 16, 64], context=1024, tensor=8)
        for name in ("ttft_s", "tpot_s", "memory_bytes", "tokens_per_s_per_chip"):
            self.assertEqual(list(plan[name]), sorted(plan[name]), name)
        longer = tilecast.serving.plan(MIXTRAL, "h100_sxm", batch=16, context=[512, 1024, 4096], tensor=8)
        for name in ("ttft_s", "tpot_s", "memory_bytes"):
            self.assertEqual(list(longer[name]), sorted(longer[name]), name)

    def test_the_best_keeps_the_limits_and_fits(self):
        plan = tilecast.serving.plan(LLAMA, "h100_sxm", batch=[1, 8, 64, 512], context=2048, tensor=[1, 2, 4, 8])
        best = plan.best(ttft_s=0.5, tpot_s=0.02)
        for row in plan:
            if row["fits"] and row["ttft_s"] <= 0.5 and row["tpot_s"] <= 0.02:
                self.assertLessEqual(row["tokens_per_s_per_chip"], best["tokens_per_s_per_chip"])
        self.assertTrue(best["fits"] and best["ttft_s"] <= 0.5 and best["tpot_s"] <= 0.02)
        self.assertIsNone(plan.best(tpot_s=1e-6))
        self.assertFalse(all(plan["fits"]))

    def test_the_command_prints_the_plan(self):
        def run(*more):
            return subprocess.run([sys.executable, "-m", "tilecast.serving", LLAMA, "-d", "h100_sxm", *more],
                                  capture_output=True, text=True)
        plan = tilecast.serving.plan(LLAMA, "h100_sxm", batch=[1, 8], tensor=2)
        self.assertEqual(json.loads(run("--batch", "1,8", "--tensor", "2", "-f", "json").stdout), list(plan))
        text = run("--batch", "1,8", "--ttft", "1s", "--tpot", "8ms", "--operators").stdout
        self.assertIn("best within the limits", text)
        self.assertIn("gate and up", text)
        self.assertIn("no row keeps the limits", run("--tpot", "1us").stdout)
        refused = run("--tensor", "3")
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("expected a divisor of 32", refused.stderr)


class Training(unittest.TestCase):
    def products(self, plan, *steps):
        return sum(part["count"] for part in plan.operators() if part["step"] in steps
                   and part["operator"].split(" (")[0] in ("qkv", "output", "gate and up", "down", "head"))

    def test_a_step_multiplies_thrice_and_computes_layers_again_on_demand(self):
        plain = tilecast.training.plan(LLAMA, "h100_sxm", batch=1, sequence=1024)
        again = tilecast.training.plan(LLAMA, "h100_sxm", batch=1, sequence=1024, remat="full")
        forward = self.products(plain, "forward")
        self.assertEqual(self.products(plain, "backward"), 2 * forward)
        self.assertEqual(self.products(again, "backward"), 3 * forward - 1)  # but for the head
        self.assertGreater(again["step_s"][0], plain["step_s"][0])
        self.assertLess(again["activation_bytes"][0], plain["activation_bytes"][0])
        (row,), parameters = list(plain), 8.03e9 - 128256 * 4096
        self.assertAlmostEqual(row["mfu"] * row["step_s"] * 989.43e12 / (6 * parameters * 1024), 1, delta=0.01)

    def test_replicas_share_states_and_travel_beside_the_computation(self):
        cut, kept = (tilecast.training.plan(LLAMA, "v6e-64", sequence=8192, data=[1, 64], shard=shard)
                     for shard in (True, False))
        self.assertLess(cut["states_bytes"][1], 0.05 * cut["states_bytes"][0])
        self.assertEqual(*kept["states_bytes"])
        for row in [*cut, *kept]:
            self.assertGreaterEqual(row["step_s"], max(row["computed_s"], row["beside_s"]))
            self.assertEqual(row["beside_s"] > 0, row["data"] > 1)

    def test_a_network_between_hosts_is_slower_than_links_inside(self):
        inside, across = tilecast.training.plan(LLAMA, "h100x64", tensor=[1, 8], data=8)
        self.assertGreater(across["beside_s"] * across["tensor"], inside["beside_s"])
        self.assertIn("name a slice", tilecast.training.plan(LLAMA, "h100_sxm", data=16).notes[0])
        with self.assertRaisesRegex(tilecast.Error, "remat: got 'some'"):
            tilecast.training.plan(LLAMA, "h100_sxm", remat="some")

    def test_experts_and_latents_train(self):
        for config in (MIXTRAL, DEEPSEEK_V3):
            plan = tilecast.training.plan(config, "h200_sxm", sequence=512, tensor=8, expert=8, remat="full")
            self.assertGreater(plan["step_s"][0], 0)

    @unittest.skipUnless(STEPS.exists(), "no third-party steps")
    def test_published_steps_of_slices_that_compute_layers_again(self):
        """MaxText on TPU v6e, layers computed again, their inputs kept by the host: nothing is fitted."""
        llama = json.loads(LLAMA.read_text())
        models = {"llama3.1-8b": llama, "mistral-7b": {**llama, "model_type": "mistral", "vocab_size": 32000},
                  "llama3.1-70b": {**llama, "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64,
                                   "intermediate_size": 28672}}
        errors = []
        with STEPS.open() as file:
            rows = [row for row in csv.DictReader(file) if row["model"] in models and row["device"] == "tpu_v6e"]
        for row in rows:
            chips = int(row["chips"])
            found, = tilecast.training.plan(models[row["model"]], f"v6e-{chips}", int(row["per_device_batch"]),
                                            int(row["sequence"]), data=chips, remat="full")
            errors.append(found["step_s"] / float(row["published_s"]) - 1)
            print(f"\n{row['model']:12} {chips:4} chips  {found['step_s']:7.3f} s, published "
                  f"{float(row['published_s']):7.3f}: {errors[-1]:+.1%}", end="")
        self.assertGreaterEqual(len(errors), 5)
        self.assertLess(statistics.mean(map(abs, errors)), 0.08)
        self.assertLess(max(map(abs, errors)), 0.16)


class Interpolated:
    """Measured rows at other sizes: the inverse-distance mean of the nearest rows' measured time over a simple
    bound, by logarithms of sizes."""

    def __init__(self, rows, bound):
        self._rows = [([math.log(size) for size in sizes], math.log(us / bound(*sizes))) for sizes, us in rows]
        self._bound = bound

    def __call__(self, *sizes):
        at = [math.log(size) for size in sizes]
        near = sorted((math.dist(at, other) ** 2 + 1e-6, ratio) for other, ratio in self._rows)[:6]
        mean = sum(ratio / far for far, ratio in near) / sum(1 / far for far, _ in near)
        return self._bound(*sizes) * math.exp(mean)


@unittest.skipUnless(TABLES.is_dir(), "no third-party tables")
class MeasuredOperators(unittest.TestCase):
    """Llama-3-8B on an H100, steps summed from aiconfigurator's tables: products and attention as measured
    there, norms and activations at 80 % of the memory's peak and 3 us (its rule for them). The tables here
    are half of theirs, without the model's own products: interpolated, with 5 % of noise."""
    PEAK, BANDWIDTH = 989.4e6, 3.35e6  # FLOPs and bytes in a us

    def table(self, name, **wanted):
        with gzip.open(TABLES / f"{name}_h100.csv.gz", "rt") as file:
            return [row for row in csv.DictReader(file) if all(row[key] == value for key, value in wanted.items())]

    def setUp(self):
        heads = dict(heads="32", kv_heads="8", head_dim="128", window="0", kv_dtype="bfloat16", kernel="fa3")
        self.product = Interpolated(
            [((int(row["m"]), int(row["n"]), int(row["k"])), float(row["us"]))
             for row in self.table("gemm", type="bfloat16")],
            lambda m, n, k: 2.4 + max(2 * m * n * k / self.PEAK, 2 * (m * k + n * k + m * n) / self.BANDWIDTH))
        self.prompt = Interpolated(
            [((int(row["batch"]), int(row["q_len"])), float(row["us"]))
             for row in self.table("attention_context", attn_dtype="bfloat16", **heads)],
            lambda b, s: 10 + 2 * b * 32 * s * s * 128 / self.PEAK + b * s * 6144 * 4 / self.BANDWIDTH)
        self.query = Interpolated(
            [((int(row["batch"]), int(row["kv_len"])), float(row["us"]))
             for row in self.table("attention_generation", **heads)],
            lambda b, s: 9 + b * s * 2 * 8 * 128 * 2 / self.BANDWIDTH)

    def step_s(self, tokens, attention, sampled):
        def memory(size):
            return 3 + size / (0.8 * self.BANDWIDTH)
        layer = sum(self.product(tokens, n, k) for n, k in ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)))
        layer += attention + 2 * memory(4 * 4096 * 2 * tokens) + memory(3 * 14336 * 2 * tokens)
        return (32 * layer + self.product(sampled, 128256, 4096) + memory(2 * 4096 * 2 * tokens)) * 1e-6

    def test_twenty_points_agree(self):
        begin = time.process_time()
        plan = tilecast.serving.plan(LLAMA, "h100_sxm", batch=[1, 8, 32, 64], context=[512, 1024, 2048, 4096, 8192])
        took = time.process_time() - begin
        print(f"\n{len(plan)} points in {took:.2f} s; ms: batch context, TTFT tables, TPOT tables")
        errors = {"ttft_s": [], "tpot_s": []}
        for row in plan:
            batch, context = row["batch"], row["context"]
            measured = {"ttft_s": self.step_s(batch * context, self.prompt(batch, context), batch),
                        "tpot_s": self.step_s(batch, self.query(batch, context + 1), batch)}
            print(f"{batch:3} {context:5}", *(f"{1e3 * row[name]:9.2f} {1e3 * measured[name]:9.2f}" for name in errors))
            for name, signed in errors.items():
                signed.append(row[name] / measured[name] - 1)
        for name, signed in errors.items():
            print(f"{name}: mean error {statistics.mean(map(abs, signed)):.1%}, worst {max(map(abs, signed)):.1%}, "
                  f"bias {statistics.mean(signed):+.1%}")
            self.assertLess(statistics.mean(map(abs, signed)), 0.06, name)
            self.assertLess(max(map(abs, signed)), 0.12, name)
        self.assertLess(took, 2)


if __name__ == "__main__":
    unittest.main()
