"""The operators of a transformer, by the config.json of its repository on Hugging Face.

    model = Transformer("config.json")
    for launch in model.step(Layout(tensor=8), batch=32, queries=1, keys=2048): ...

A Launch is a row of `tilecast ops` with how often it runs in a step. Engines fuse as follows: a norm with
the sum before it, both halves of a gated layer in one product, its activation with the product of the
halves, attention in one kernel that follows the copy of new keys and values into their cache.
"""
from __future__ import annotations

import collections as _collections
import dataclasses as _dataclasses
import json as _json
import os as _os
import typing as _typing

from ._tilecast import Error

if _typing.TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Union

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "f8e4m3fn": 1, "f8e5m2": 1}
_DTYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}

# By model_type, what config.json leaves to the code. norms: of a layer. window: which layers see only
# sliding_window keys: all, those from max_window_layers on, or all but every Nth.
_KINDS: Dict[str, Dict[str, Any]] = {
    "llama": {},
    "mistral": {"window": "all"},
    "mixtral": {"window": "all", "experts": "num_local_experts", "expert_size": "intermediate_size"},
    "qwen2": {"window": "late"},
    "qwen2_moe": {"window": "late", "experts": "num_experts"},
    "qwen3": {"window": "late", "qk_norm": True},
    "qwen3_moe": {"window": "late", "qk_norm": True, "experts": "num_experts"},
    "gemma": {"tied": True},
    "gemma2": {"tied": True, "norms": 4, "window": 2},
    "gemma3_text": {"tied": True, "norms": 4, "window": 6, "qk_norm": True},
    "deepseek_v2": {"experts": "n_routed_experts", "latent": True},
    "deepseek_v3": {"experts": "n_routed_experts", "latent": True},
}


@_dataclasses.dataclass(frozen=True)
class Launch:
    """An operator of a step. row: of `tilecast ops`; count: times in a step; weights: parameters that all of
    them read, on one device."""
    name: str
    row: Dict[str, Any]
    count: float = 1
    weights: int = 0


@_dataclasses.dataclass(frozen=True)
class Layout:
    """How one model lies on devices. Heads and layers are cut over `tensor` devices; `data` replicas of that
    take different sequences. expert: devices that share a layer's experts, up to tensor x data; with more
    than `tensor` tokens travel between replicas."""
    tensor: int = 1
    expert: int = 1
    data: int = 1

    @property
    def devices(self) -> int:
        return self.tensor * self.data

    @property
    def replicas(self) -> int:
        """Those whose tokens meet in a layer of experts."""
        return max(1, self.expert // self.tensor)

    @property
    def expert_share(self) -> int:
        """Devices over which each expert is cut."""
        return max(1, self.tensor // self.expert)


class Transformer:
    """A decoder as its config.json (path or dict) describes it. weights, cache: types of weights and of the
    KV cache ("bf16", "f8e4m3fn" ...); default: those of the file. Raises tilecast.Error for architectures
    without a recipe, and names the keys that the file lacks."""

    def __init__(self, config: Union[str, _os.PathLike[str], Mapping[str, Any]], weights: str = "", cache: str = ""):
        self.file = "config"
        if isinstance(config, (str, _os.PathLike)):
            self.file = _os.fspath(config)
            try:
                with open(self.file, encoding="utf-8") as file:
                    config = dict(_json.load(file))
            except (OSError, ValueError) as error:
                raise Error(f"{self.file}: {error}") from error
        self._said = {**config, **(config.get("text_config") or {})}
        self.kind = str(self._said.get("model_type"))
        if self.kind not in _KINDS:
            raise Error(f"{self.file}: model_type: got {self.kind!r}, expected one of {', '.join(_KINDS)} "
                        "(other architectures have no recipe)")
        self._rules = _KINDS[self.kind]
        self._read_sizes()
        self._read_types(weights, cache)
        self.windows = self._read_windows()

    def _whole(self, *keys: str, default: Any = None) -> List[Any]:
        """Their values; an Error that names all that are missing."""
        found = [default if self._said.get(key) is None else self._said[key] for key in keys]
        lacking = [key for key, value in zip(keys, found)
                   if not isinstance(value, int) or isinstance(value, bool) or value < 0]
        if lacking:
            raise Error(f"{self.file}: a model of type '{self.kind}' needs whole numbers for {', '.join(lacking)}")
        return found

    def _read_sizes(self):
        rules, say = self._rules, self._said.get
        self.latent, self.qk_norm = "latent" in rules, "qk_norm" in rules
        self.norms = rules.get("norms", 2)
        needed = ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size"]
        experts = [rules["experts"], "num_experts_per_tok",
                   rules.get("expert_size", "moe_intermediate_size")] if "experts" in rules else []
        parts = ["kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"] if self.latent else []
        parts += ["head_dim"] if self.kind.startswith("gemma") else []
        values = self._whole(*needed, *experts, *parts)
        self.hidden, self.layers, self.heads, self.vocab, self.inter = values[:5]
        self.kv_heads, self.head_dim = self._whole("num_key_value_heads", default=self.heads) + self._whole(
            "head_dim", default=self.hidden // max(self.heads, 1))
        self.experts, self.topk, self.expert_size = values[5:8] if experts else (0, 0, 0)
        if self.latent:
            self.rank, self.nope, self.rope, self.value_dim = values[8:12]
            self.query_rank, = self._whole("q_lora_rank", default=0)
        self.shared = 0  # width of the experts that all tokens take
        if experts:
            self.shared = say("shared_expert_intermediate_size") or (say("n_shared_experts") or 0) * self.expert_size
        self.tied = say("tie_word_embeddings", rules.get("tied", False))
        self.sparse = self._sparse_layers() if experts else 0

    def _sparse_layers(self) -> int:
        """How many layers hold experts."""
        say = self._said.get
        every, dense = say("decoder_sparse_step") or say("moe_layer_freq") or 1, say("mlp_only_layers") or []
        first, late = say("first_k_dense_replace") or 0, 0 if self.latent else 1
        return sum(i >= first and i not in dense and (i + late) % every == 0 for i in range(self.layers))

    def _read_types(self, weights, cache):
        said = self._said.get("torch_dtype") or self._said.get("dtype") or "bfloat16"
        self.dtype = _DTYPES.get(said, said)
        how = (self._said.get("quantization_config") or {}).get("quant_method")
        if how not in (None, "fp8") and not weights:
            raise Error(f"{self.file}: quantization_config: quant_method '{how}' has no recipe (hint: weights= says "
                        f"the type to price, one of {', '.join(BYTES)})")
        self.weights = weights or ("f8e4m3fn" if how == "fp8" else self.dtype)
        self.cache = cache or self.dtype
        for dtype in (self.dtype, self.weights, self.cache):
            if dtype not in BYTES:
                raise Error(f"{self.file}: got type '{dtype}', expected one of {', '.join(BYTES)}")

    def _read_windows(self) -> Dict[int, int]:
        """How many layers see how many keys; 0: all of them."""
        say, rule = self._said.get, self._rules.get("window")
        window, kinds = say("sliding_window") or 0, say("layer_types")
        unused = say("use_sliding_window") is False or (rule == "late" and not say("use_sliding_window"))
        if not rule or not window or unused:
            return {0: self.layers}
        if kinds:
            local = sum(kind == "sliding_attention" for kind in kinds)
        elif rule == "all":
            local = self.layers
        elif rule == "late":
            local = max(0, self.layers - (say("max_window_layers") or 0))
        else:
            local = self.layers - self.layers // (say("sliding_window_pattern") or rule)
        return {size: count for size, count in ((window, local), (0, self.layers - local)) if count}

    def check(self, layout: Layout):
        """Raises tilecast.Error if the layout cannot hold the model."""
        tensor, expert = layout.tensor, layout.expert
        for what, size, by in (("tensor", self.heads, tensor), ("tensor", self.inter, tensor),
                               ("expert", self.experts, expert if self.experts else 1)):
            if size % by:
                raise Error(f"{what}: got {by}, expected a divisor of {size} ({self.file})")
        if self.kv_heads % tensor and tensor % self.kv_heads:
            raise Error(f"tensor: got {tensor}, expected a divisor or a multiple of {self.kv_heads} key-value heads")
        if expert > 1 and not self.experts:
            raise Error(f"expert: got {expert}, but {self.file} has no experts")
        if max(expert, tensor) % min(expert, tensor) or layout.data % layout.replicas:
            raise Error(f"expert: got {expert}, expected a divisor of tensor {tensor}, or tensor times a divisor of "
                        f"data {layout.data}")

    def step(self, layout: Layout, batch: int, queries: int, keys: int, train: bool = False) -> List[Launch]:
        """A step of one replica: `queries` new tokens in each of `batch` sequences, the last of `keys`. Logits are of
        the last tokens, each sampled; train=True: of all tokens, for a loss, and nothing is cached."""
        build = _Step(self, layout, batch, queries, keys, train)
        build.embedding()
        build.attention()
        build.feed_forward()
        build.head()
        return build.launches

    def cache_bytes(self, layout: Layout, keys: int) -> float:
        """Of a sequence with `keys` tokens, on one device."""
        of_token = self.rank + self.rope if self.latent else 2 * max(1, self.kv_heads // layout.tensor) * self.head_dim
        seen = sum(count * min(window or keys, keys) for window, count in self.windows.items())
        return seen * of_token * BYTES[self.cache]

    def weight_bytes(self, layout: Layout) -> float:
        """On one device. Embeddings, router and norms keep the type of activations."""
        wide = BYTES[self.dtype]
        embedding = 0 if self.tied else self.vocab * self.hidden / layout.tensor
        size = embedding * wide + (self.norms * self.layers + 1) * self.hidden * wide
        for launch in self.step(layout, 1, 1, 1):
            dtype = launch.row.get("weight_dtype", launch.row["dtype"])
            size += launch.weights * BYTES[dtype]
        return size

    def activation_bytes(self, layout: Layout, batch: int, tokens: int) -> float:
        """At least, on one device: the residual, a norm's result and the widest layer of `tokens`, and logits."""
        widest = max((self.heads + 2 * self.kv_heads) * self.head_dim, 3 * self.inter) / layout.tensor
        if self.experts:
            each = 2 * self.hidden + 3 * self.expert_size / layout.expert_share
            widest = max(widest, self.topk * layout.replicas / layout.expert * each)
        return tokens * (2 * self.hidden + widest) * BYTES[self.dtype] + batch * self.vocab / layout.tensor * 4


class _Step:
    """Collects the launches of a step."""

    def __init__(self, model: Transformer, layout: Layout, batch: int, queries: int, keys: int, train: bool):
        self.model, self.layout, self.train = model, layout, train
        self.launches: List[Launch] = []
        self.batch, self.queries, self.keys = batch, queries, keys
        self.tokens = batch * queries

    def add(self, name, op, count=1, weights=0, dtype="", **sizes):
        self.launches.append(Launch(name, {"op": op, "dtype": dtype or self.model.dtype, **sizes}, count, weights))

    def product(self, name, rows, columns, inner, count, dtype="", batch=1):
        """With weights; where they are of 8 bits, after the conversion of its left operand."""
        model = self.model
        dtype = dtype or model.weights
        if BYTES[dtype] < BYTES[model.dtype]:
            self.add("quantise", "convert", count, elements=batch * rows * inner, out_dtype=dtype)
        self.add(name, "matmul", count, count * batch * columns * inner, dtype, batch=batch, m=rows, n=columns,
                 k=inner, out_dtype=model.dtype)

    def norm(self, name, rows, columns, count):
        self.add(name, "layernorm", count, rows=rows, columns=columns)

    def reduce(self, name, count):
        """Sums what the devices of a tensor group found for the tokens."""
        if self.layout.tensor > 1:
            self.add(name, "all_reduce", count, elements=self.tokens * self.model.hidden,
                     devices=self.layout.tensor)

    def embedding(self):
        self.add("embedding", "copy", elements=self.tokens * self.model.hidden)
        self.reduce("all-reduce", 1)

    def attention(self):
        model, layers = self.model, self.model.layers
        # The sum before a norm doubles what it reads and writes, as twice the rows do.
        self.norm("norm", 2 * self.tokens, model.hidden, layers * model.norms)
        heads = model.heads // self.layout.tensor
        (self.latent_attention if model.latent else self.usual_attention)(heads)
        self.product("output", self.tokens, model.hidden,
                     heads * (model.value_dim if model.latent else model.head_dim), layers)
        self.reduce("all-reduce", layers)

    def usual_attention(self, heads):
        model, tokens, dim = self.model, self.tokens, self.model.head_dim
        kv_heads = max(1, model.kv_heads // self.layout.tensor)
        self.product("qkv", tokens, (heads + 2 * kv_heads) * dim, model.hidden, model.layers)
        if model.qk_norm:
            self.norm("qk norm", tokens * (heads + kv_heads), dim, model.layers)
        self.add("rotary", "copy", model.layers, elements=tokens * (heads + kv_heads) * dim)
        for window, count in model.windows.items():
            self.attend(count, heads=heads, kv_heads=kv_heads, head_dim=dim, writes_kv=int(not self.train),
                        window=window if window < self.keys else 0)

    def attend(self, count, **sizes):
        self.add("attention", "attention", count, batch=self.batch, q_len=self.queries, kv_len=self.keys,
                 causal=1, kv_dtype=self.model.cache, **sizes)

    def latent_attention(self, heads):
        """Of DeepSeek: prompts unfold the cached vectors, single queries are folded into their space."""
        model, tokens, layers = self.model, self.tokens, self.model.layers
        wide, cached = model.nope + model.rope, model.rank + model.rope
        if model.query_rank:
            self.product("query down", tokens, model.query_rank, model.hidden, layers)
            self.norm("query norm", tokens, model.query_rank, layers)
        self.product("query", tokens, heads * wide, model.query_rank or model.hidden, layers)
        self.product("key-value down", tokens, cached, model.hidden, layers)
        self.norm("key-value norm", tokens, model.rank, layers)
        self.add("rotary", "copy", layers, elements=tokens * (heads + 1) * model.rope)
        if not self.train:
            self.add("cache", "copy", layers, elements=tokens * cached)
        if self.queries > 1 or self.train:
            self.product("key-value up", tokens, heads * (model.nope + model.value_dim), model.rank, layers)
            self.attend(layers, heads=heads, kv_heads=heads, head_dim=wide, value_dim=model.value_dim)
            return
        self.product("query fold", tokens, model.rank, model.nope, layers, model.dtype, batch=heads)
        self.attend(layers, heads=heads, kv_heads=1, head_dim=cached, value_dim=model.rank)
        self.product("value unfold", tokens, model.value_dim, model.rank, layers, model.dtype, batch=heads)

    def feed_forward(self):
        model = self.model
        self.gated("", model.inter, model.layers - model.sparse)
        if model.sparse:
            self.routed(model.sparse)
            self.gated("shared ", model.shared, model.sparse)
        self.reduce("all-reduce", model.layers)

    def gated(self, name, width, count):
        if not width or not count:
            return
        width //= self.layout.tensor
        self.product(name + "gate and up", self.tokens, 2 * width, self.model.hidden, count)
        self.add(name + "activation", "multiply", count, elements=self.tokens * width)
        self.product(name + "down", self.tokens, self.model.hidden, width, count)

    def routed(self, count):
        model, layout, tokens = self.model, self.layout, self.tokens
        self.product("router", tokens, model.experts, model.hidden, count, model.dtype)
        self.add("routing", "softmax", count, dtype="f32", rows=tokens, columns=model.experts)
        travels = layout.replicas > 1
        moved = dict(elements=-(-tokens * model.topk * model.hidden // layout.tensor), devices=layout.expert)
        if travels:
            self.add("dispatch", "all_to_all", count, dtype=model.weights, **moved)
        share = layout.expert_share
        weights = 3 * model.hidden * model.expert_size // share * model.experts // layout.expert
        self.add("experts", "experts", count, count * weights, model.weights, tokens=tokens * layout.replicas,
                 hidden=model.hidden, inter=model.expert_size, topk=model.topk, experts=model.experts,
                 tp=share, ep=layout.expert, weight_dtype=model.weights)
        if travels:
            self.add("combine", "all_to_all", count, **moved)

    def head(self):
        """Logits, and a sample of them or their loss; a loss needs no more than sums of each device's part."""
        model, rows, columns = self.model, self.batch, -(-self.model.vocab // self.layout.tensor)
        if self.train:
            rows = self.tokens
        self.norm("norm", 2 * rows, model.hidden, 1)
        self.product("head", rows, columns, model.hidden, 1, model.dtype)
        name = "loss" if self.train else "sample"
        if self.layout.tensor > 1 and self.train:
            self.add("all-reduce", "all_reduce", 2, dtype="f32", elements=rows, devices=self.layout.tensor)
        elif self.layout.tensor > 1:
            columns *= self.layout.tensor
            self.add("gather", "all_gather", elements=rows * columns, devices=self.layout.tensor)
        self.add(name, "softmax", dtype="f32", rows=rows, columns=columns)
        self.add(name, "reduce", dtype="f32", rows=rows, columns=columns)


def merged(launches: List[Launch]) -> Dict[tuple, float]:
    """How often each distinct row runs."""
    counts: Dict[tuple, float] = _collections.defaultdict(float)
    for launch in launches:
        counts[tuple(sorted(launch.row.items()))] += launch.count
    return counts
