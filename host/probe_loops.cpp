#include "host/probe_loops.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include "base/error.h"
#include "host/timing_arrays.h"

namespace tilecast::host {

namespace {

// Independent of the number of registers: a multiple of all counts below.
constexpr int kVectorsPerCall = 960;
constexpr int kUnrolled = 1024;  // steps of a dependent chain in one call

constexpr std::array kLoops = {
    Loop{"clock_adds", kUnrolled},
    Loop{"fma_chain", kUnrolled},
    Loop{"peak_f32", kVectorsPerCall},
    Loop{"peak_f64", kVectorsPerCall},
    Loop{"peak_bf16", kVectorsPerCall},
    Loop{"peak_f16", kVectorsPerCall},
    Loop{"peak_s32", kVectorsPerCall},
    Loop{"peak_s8", kVectorsPerCall},
    Loop{"add_f32", kVectorsPerCall},
    Loop{"mem_read"},
    Loop{"mem_write"},
    Loop{"mem_copy"},
    Loop{"mem_runs"},
    Loop{"one_run", kUnrolled},
    Loop{"product", kProductSide* kProductSide* kProductDepth},
    Loop{"mem_chase", kUnrolled, Fill::kChain},
    Loop{"empty_calls", kUnrolled},
    Loop{"op_divide", kOpElements, Fill::kRandom},
    Loop{"op_remainder", kOpElements, Fill::kRandom},
    Loop{"op_sqrt", kOpElements, Fill::kRandom},
    Loop{"op_rsqrt", kOpElements, Fill::kRandom},
    Loop{"op_exponential", kOpElements, Fill::kRandom},
    Loop{"op_exponential_minus_one", kOpElements, Fill::kRandom},
    Loop{"op_log", kOpElements, Fill::kRandom},
    Loop{"op_log_plus_one", kOpElements, Fill::kRandom},
    Loop{"op_tanh", kOpElements, Fill::kRandom},
    Loop{"op_logistic", kOpElements, Fill::kRandom},
    Loop{"op_erf", kOpElements, Fill::kRandom},
    Loop{"op_sine", kOpElements, Fill::kRandom},
    Loop{"op_cosine", kOpElements, Fill::kRandom},
    Loop{"op_power", kOpElements, Fill::kRandom},
    Loop{"op_transpose", kOpElements, Fill::kRandom},
    Loop{"op_reduce", kOpElements, Fill::kRandom},
    Loop{"op_gather", kOpElements, Fill::kIndex},
};

// Enough independent accumulators to fill the pipes (latency x pipes), as many as registers hold
// beside the operands.
constexpr const char* kVectors = R"(
#if defined(__AVX512F__)
#define VB 64
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS > 0
#define VB (__ARM_FEATURE_SVE_BITS / 8)
#elif defined(__AVX__)
#define VB 32
#else
#define VB 16
#endif
#if defined(__AVX512F__) || defined(__aarch64__) || defined(__powerpc64__) || defined(__riscv)
#define MANY_REGISTERS 1
#endif
const int vector_bytes = VB;
typedef float vfloat __attribute__((vector_size(VB), may_alias));
typedef double vdouble __attribute__((vector_size(VB), may_alias));
typedef int32_t vint32_t __attribute__((vector_size(VB), may_alias));
typedef uint32_t vuint32_t __attribute__((vector_size(VB), may_alias));
static volatile int one = 1;
#define KEEP __asm__ volatile("" ::: "memory")
// One operand of a narrow type, widened in place: vector i of those that memory holds packed by 2 or
// 4 in lanes of 32 bits. The order of elements does not matter to a rate.
static inline vfloat bf16(const char* memory, int i) {
  vuint32_t packed = ((const vuint32_t*)memory)[i / 2];
  return (vfloat)(packed << (i % 2 * 16) & 0xffff0000u);
}
static inline vfloat f16(const char* memory, int i) {
  vuint32_t bits = ((const vuint32_t*)memory)[i / 2] >> (i % 2 * 16);
  vfloat size = (vfloat)((bits & 0x7fffu) << 13) * 0x1p112f;
  return (vfloat)((vuint32_t)size | (bits & 0x8000u) << 16);
}
static inline vint32_t s8(const char* memory, int i) {
  return ((const vint32_t*)memory)[i / 4] << (24 - i % 4 * 8) >> 24;
}
)";

// `count` copies of `step`, a pattern with {i}, each on a separate accumulator.
std::string repeated(int count, const char* step) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format(fmt::runtime(step), fmt::arg("i", i));
  return text;
}

// `step` updates accumulator a{i} with x and y, vectors of `scalar`; `prepare` precedes each round
// over all accumulators.
std::string rate_loop(const char* name, const char* scalar, const char* prepare, const char* step) {
  const std::string vector = std::string("v") + scalar;
  const auto body = [&](int count) {
    return fmt::format(
        "  {vector} x = ({vector}){{}} + ({scalar})one, y = x;\n"
        "  {vector} {start}sum = x;\n"
        "  while (calls-- > 0) {{\n    for (int r = 0; r < {rounds}; ++r) {{\n"
        "      {prepare}\n      {steps}\n      KEEP;\n    }}\n  }}\n  {finish}\n",
        fmt::arg("vector", vector), fmt::arg("scalar", scalar),
        fmt::arg("start", repeated(count, "a{i} = x + {i}, ")),
        fmt::arg("rounds", kVectorsPerCall / count), fmt::arg("prepare", prepare),
        fmt::arg("steps", repeated(count, step)),
        fmt::arg("finish", repeated(count, "sum += a{i}; ")));
  };
  constexpr int kMany = 20, kFew = 12;
  static_assert(kVectorsPerCall % kMany == 0 && kVectorsPerCall % kFew == 0);
  return fmt::format(
      "void {}(char* memory, long bytes, long calls) {{\n#ifdef MANY_REGISTERS\n{}#else\n{}#endif\n"
      "  *({}*)memory = sum;\n}}\n",
      name, body(kMany), body(kFew), vector);
}

std::string rate_loops() {
  constexpr const char* kStep = "a{i} = a{i} * x + y; ";
  return rate_loop("peak_f32", "float", "", kStep) + rate_loop("peak_f64", "double", "", kStep) +
         rate_loop("peak_bf16", "float", "x = bf16(memory, r);", kStep) +
         rate_loop("peak_f16", "float", "x = f16(memory, r);", kStep) +
         rate_loop("peak_s32", "int32_t", "", kStep) +
         rate_loop("peak_s8", "int32_t", "x = s8(memory, r);", kStep) +
         rate_loop("add_f32", "float", "", "a{i} += x; ");
}

std::string chain_loops() {
  const auto chain = [](const char* step) {
    std::string text;
    for (int i = 0; i < 16; ++i) text += step;
    return text;
  };
  return fmt::format(
      R"(
void clock_adds(char* memory, long bytes, long calls) {{
  uint64_t x = (uint64_t)one, y = (uint64_t)one;
  while (calls-- > 0) {{
    for (int r = 0; r < {rounds}; ++r) {{
      {adds}
    }}
  }}
  *(uint64_t*)memory = x;
}}
void fma_chain(char* memory, long bytes, long calls) {{
  vfloat x = (vfloat){{}} + (float)one, y = x, a = x;
  while (calls-- > 0) {{
    for (int r = 0; r < {rounds}; ++r) {{
      {fmas}
    }}
  }}
  *(vfloat*)memory = a;
}}
void mem_chase(char* memory, long bytes, long calls) {{
  static char* at;
  if (at == 0) at = memory;
  char* p = at;
  while (calls-- > 0) {{
    for (int r = 0; r < {rounds}; ++r) {{
      {loads}
    }}
  }}
  at = p;
}}
static void empty(const void* const* in, void* const* out, void* scratch) {{}}
void empty_calls(char* memory, long bytes, long calls) {{
  void (*volatile function)(const void* const*, void* const*, void*) = empty;
  while (calls-- > 0) {{
    for (int r = 0; r < {calls_per_call}; ++r) function(0, 0, memory);
  }}
}}
)",
      fmt::arg("rounds", kUnrolled / 16), fmt::arg("calls_per_call", kUnrolled),
      fmt::arg("adds", chain("x += y; __asm__ volatile(\"\" : \"+r\"(x)); ")),
      fmt::arg("fmas", chain("a = a * x + y; ")), fmt::arg("loads", chain("p = *(char**)p; ")));
}

// Eight vectors at a time; `bytes` is a multiple of 16 vectors.
constexpr const char* kMemoryLoops = R"(
void mem_read(char* memory, long bytes, long calls) {
  vuint32_t s0 = {}, s1 = {}, s2 = {}, s3 = {}, s4 = {}, s5 = {}, s6 = {}, s7 = {};
  while (calls-- > 0) {
    for (const vuint32_t *p = (vuint32_t*)memory, *end = (vuint32_t*)(memory + bytes); p < end; p += 8) {
      s0 += p[0]; s1 += p[1]; s2 += p[2]; s3 += p[3];
      s4 += p[4]; s5 += p[5]; s6 += p[6]; s7 += p[7];
    }
    KEEP;
  }
  *(vuint32_t*)memory = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;
}
void mem_write(char* memory, long bytes, long calls) {
  vfloat x = (vfloat){} + (float)one;
  while (calls-- > 0) {
    for (vfloat *p = (vfloat*)memory, *end = (vfloat*)(memory + bytes); p < end; p += 8) {
      p[0] = x; p[1] = x; p[2] = x; p[3] = x; p[4] = x; p[5] = x; p[6] = x; p[7] = x;
    }
    KEEP;
  }
}
void mem_copy(char* memory, long bytes, long calls) {
  const vfloat* from = (vfloat*)memory;
  vfloat* to = (vfloat*)(memory + bytes / 2);
  const long vectors = bytes / 2 / VB;
  while (calls-- > 0) {
    for (long i = 0; i < vectors; i += 8) {
      vfloat x0 = from[i], x1 = from[i + 1], x2 = from[i + 2], x3 = from[i + 3];
      vfloat x4 = from[i + 4], x5 = from[i + 5], x6 = from[i + 6], x7 = from[i + 7];
      to[i] = x0; to[i + 1] = x1; to[i + 2] = x2; to[i + 3] = x3;
      to[i + 4] = x4; to[i + 5] = x5; to[i + 6] = x6; to[i + 7] = x7;
    }
    KEEP;
  }
}
)";

// Packs and multiplies tiles as a generated kernel does (analytical/cache_model.h), with extents
// known only at run time. Rows of the packed array are 17 runs apart, so that runs are neither
// contiguous nor map to few cache sets; 17 panels cover all bytes.
std::string tile_loops(std::string_view prelude) {
  constexpr const char* kShared =
      "tc_mm_f(PRODUCT_SIDE, PRODUCT_SIDE, PRODUCT_DEPTH, a, PRODUCT_DEPTH, b, PRODUCT_SIDE, c, "
      "PRODUCT_SIDE)";
  constexpr const char* kPlain =
      "for (int i = 0; i < PRODUCT_SIDE; ++i) for (int k = 0; k < PRODUCT_DEPTH; ++k) "
      "for (int j = 0; j < PRODUCT_SIDE; ++j) c[i * PRODUCT_SIDE + j] += "
      "a[i * PRODUCT_DEPTH + k] * b[k * PRODUCT_SIDE + j]";
  const std::string text = R"(
static volatile long run_elements = RUN_BYTES / 4, single = 1;
static float packed[8 * RUN_BYTES];
static inline void pack(float* restrict to, const float* restrict from, long rows, long row,
                        long elements) {
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < elements; ++j) to[i * elements + j] = from[i * row + j];
}
void mem_runs(char* memory, long bytes, long calls) {
  const long panels = 17, elements = run_elements, row = panels * elements;
  const long rows = bytes / (row * 4), together = 8;
  while (calls-- > 0) {
    for (long panel = 0; panel < panels; ++panel)
      for (long i = 0; i < rows; i += together) {
        pack(packed, (const float*)memory + i * row + panel * elements,
             rows - i < together ? rows - i : together, row, elements);
        KEEP;
      }
  }
}
void one_run(char* memory, long bytes, long calls) {
  while (calls-- > 0) {
    for (int r = 0; r < UNROLLED; ++r) {
      pack(packed, (const float*)memory, single, single, single);
      KEEP;
    }
  }
}
void product(char* memory, long bytes, long calls) {
  const float *a = (const float*)memory, *b = a + PRODUCT_SIDE * PRODUCT_DEPTH;
  float* c = (float*)b + PRODUCT_SIDE * PRODUCT_DEPTH;
  while (calls-- > 0) {
    MULTIPLY;
    KEEP;
  }
}
)";
  // tc_mm_f: host/c_prelude.cpp.
  const bool shared = prelude.find("tc_mm_f(") != std::string_view::npos;
  return fmt::format(
             "#define RUN_BYTES {}\n#define UNROLLED {}\n#define PRODUCT_SIDE {}L\n"
             "#define PRODUCT_DEPTH {}L\n#define MULTIPLY {}\n",
             kRunBytes, kUnrolled, kProductSide, kProductDepth, shared ? kShared : kPlain) +
         text;
}

std::string identifier(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

// Input b, then a, then the output, each at an offset of a little more than a page.
std::string op_loop(const char* name, const char* type, const std::string& result) {
  return fmt::format(
      R"(
void op_{name}(char* memory, long bytes, long calls) {{
  const {type}* restrict b = (const {type}*)memory;
  const {type}* restrict a = (const {type}*)(memory + {stride});
  {type}* restrict o = ({type}*)(memory + {stride} * 2);
  while (calls-- > 0) {{
    for (long i = 0; i < {elements}; ++i) o[i] = {result};
    KEEP;
  }}
}}
)",
      fmt::arg("name", identifier(name)), fmt::arg("type", type), fmt::arg("result", result),
      fmt::arg("elements", kOpElements), fmt::arg("stride", 4 * kOpElements + 256));
}

// The expression that generated kernels use for an op on `a` and `b`: their own function, or one of
// the C library.
struct OpText {
  const char* name;
  const char* generated;  // function of generated kernels; "": none
  const char* otherwise;  // fallback expression of a[i] and b[i]
};

constexpr OpText kOpTexts[] = {
    {"divide", "", "a[i] / b[i]"},
    {"sqrt", "", "sqrtf(a[i])"},
    {"rsqrt", "", "1 / sqrtf(a[i])"},
    {"exponential", "tc_exp_f", "expf(a[i])"},
    {"exponential-minus-one", "tc_expm1_f", "expm1f(a[i])"},
    {"log", "tc_log_f", "logf(a[i])"},
    {"log-plus-one", "tc_log1p_f", "log1pf(a[i])"},
    {"logistic", "tc_logistic_f", "1 / (1 + expf(-a[i]))"},
    {"tanh", "tc_tanh_f", "tanhf(a[i])"},
    {"erf", "tc_erf_f", "erff(a[i])"},
    {"sine", "", "sinf(a[i])"},
    {"cosine", "", "cosf(a[i])"},
    {"power", "", "powf(a[i], b[i])"},
};

std::string op_loops(std::string_view prelude) {
  std::string text = op_loop("remainder", "int32_t", "(a[i] & 0xfffff) % ((b[i] & 0xff) + 1)") +
                     op_loop("gather", "float", "a[((const int32_t*)b)[i]]");
  for (const OpText& op : kOpTexts) {
    const std::string generated(op.generated);
    const bool found =
        !generated.empty() && prelude.find(generated + "(") != std::string_view::npos;
    text += op_loop(op.name, "float", found ? generated + "(a[i])" : op.otherwise);
  }
  return text;
}

// A 32 x 32 array in blocks of 8 x 8; rows of 256 summed in four vectors, as accumulators of a
// generated kernel are.
constexpr const char* kMoves = R"(
void op_transpose(char* memory, long bytes, long calls) {
  const float* restrict a = (const float*)memory;
  float* restrict o = (float*)(memory + 4352);
  while (calls-- > 0) {
    for (int r = 0; r < 32; r += 8)
      for (int c = 0; c < 32; c += 8)
        for (int i = 0; i < 8; ++i)
          for (int j = 0; j < 8; ++j) o[(r + i) * 32 + c + j] = a[(c + j) * 32 + r + i];
    KEEP;
  }
}
void op_reduce(char* memory, long bytes, long calls) {
  float* o = (float*)(memory + 8192);
  while (calls-- > 0) {
    for (int row = 0; row < 4; ++row) {
      const vfloat* a = (const vfloat*)(memory + row * 1024);
      vfloat s0 = {}, s1 = {}, s2 = {}, s3 = {};
      for (int i = 0; i < 1024 / VB; i += 4) {
        s0 += a[i]; s1 += a[i + 1]; s2 += a[i + 2]; s3 += a[i + 3];
      }
      s0 += s1; s2 += s3; s0 += s2;
      float sum = 0;
      for (int i = 0; i < VB / 4; ++i) sum += s0[i];
      o[row] = sum;
    }
    KEEP;
  }
}
)";

}  // namespace

std::span<const Loop> probe_loops() {
  return kLoops;
}

const Loop& find_loop(std::string_view function) {
  const auto found = std::ranges::find(kLoops, function, &Loop::function);
  TC_CHECK(found != kLoops.end(), "a loop of the probe");
  return *found;
}

std::string probe_source(std::string_view prelude) {
  return std::string(prelude) + "#include <math.h>\n#include <stdint.h>\n" +
         "#if defined(__GNUC__) && !defined(__clang__)\n"
         "#pragma GCC optimize(\"no-tree-loop-distribute-patterns\")\n#endif\n" +
         kVectors + rate_loops() + chain_loops() + kMemoryLoops + tile_loops(prelude) +
         op_loops(prelude) + kMoves;
}

namespace {

using LoopFunction = void (*)(char*, long, long);

// Exit codes of a child: the step that failed. Distinct from those of sanitizers and libc.
enum ExitCode { kDone = 0, kNotLoaded = 50, kNotPinned, kNoMemory };

std::int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
}

// Memory shared by parent and children.
struct Board {
  std::atomic<int> arrived, round;
  std::atomic<std::int64_t> calls;  // minimum over the children
  std::atomic<int> vector_bytes;
  std::atomic<int> repeats;  // repeats to run; set before any child could start a further one

  // Spins, so that all leave at the same moment. Yields if there are too few cores.
  void meet(int all) {
    const int mine = round.load();
    if (arrived.fetch_add(1) + 1 == all) {
      arrived.store(0);
      round.store(mine + 1);
      return;
    }
    constexpr unsigned kSpins = 4096;
    for (unsigned i = 0; round.load(std::memory_order_acquire) == mine; ++i) {
      if (i % kSpins == kSpins - 1) ::sched_yield();
    }
  }
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

struct Span {
  std::int64_t start_ns, end_ns;
};

MappedMemory shared_memory(std::size_t bytes) {
  MappedMemory memory = mapped_memory(bytes, PROT_READ | PROT_WRITE, MAP_SHARED);
  if (memory == nullptr) throw Error("probe: no memory to share with child processes");
  return memory;
}

// A random cycle through all lines (Sattolo's shuffle): each holds the address of the next.
void fill_chain(char* memory, std::int64_t bytes, std::int64_t line) {
  std::vector<std::uint32_t> next(static_cast<std::size_t>(bytes / line));
  std::iota(next.begin(), next.end(), 0U);
  std::minstd_rand random(1);
  for (std::size_t i = next.size() - 1; i > 0; --i) {
    const std::size_t high = random();
    std::swap(next[i], next[(high << 30 ^ random()) % i]);
  }
  for (std::size_t i = 0; i < next.size(); ++i) {
    char* const target = memory + std::int64_t{next[i]} * line;
    std::memcpy(memory + static_cast<std::int64_t>(i) * line, &target, sizeof target);
  }
}

void fill(char* memory, const LoopRun& run) {
  std::minstd_rand random(1);
  const std::int64_t count = run.bytes / 4;
  auto* floats = reinterpret_cast<float*>(memory);
  switch (run.loop.fill) {
    case Fill::kOnes:
      std::fill(floats, floats + count, 1.0F);
      return;
    case Fill::kChain:
      fill_chain(memory, run.bytes, run.line);
      return;
    case Fill::kRandom:
    case Fill::kIndex:
      std::generate(floats, floats + count,
                    [&] { return std::uniform_real_distribution<float>(0.5F, 4.0F)(random); });
      if (run.loop.fill == Fill::kRandom) return;
      std::generate_n(reinterpret_cast<std::int32_t*>(memory), kOpElements,
                      [&] { return static_cast<std::int32_t>(random() % kOpElements); });
  }
}

// Number of calls that take about `repeat`; running them also warms up caches and clock.
std::int64_t enough_calls(LoopFunction function, char* memory, const LoopRun& run) {
  const double wanted_ns = run.repeat.value * 1e9;
  for (std::int64_t calls = 1;;) {
    const std::int64_t start = now_ns();
    function(memory, run.bytes, calls);
    const double took_ns = static_cast<double>(std::max<std::int64_t>(now_ns() - start, 1));
    const double more = wanted_ns / took_ns;
    if (more < 2) return std::max<std::int64_t>(1, std::llround(static_cast<double>(calls) * more));
    calls = std::llround(static_cast<double>(calls) * std::min(more, 100.0));
  }
}

ExitCode measure(const std::string& library, const LoopRun& run, int child, Board& board,
                 Span* spans) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<unsigned>(run.pus[static_cast<std::size_t>(child)]), &only);
  if (::sched_setaffinity(0, sizeof only, &only) != 0) return kNotPinned;
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return kNotLoaded;
  const std::string name(run.loop.function);
  const auto function = reinterpret_cast<LoopFunction>(::dlsym(handle, name.c_str()));
  const auto* width = static_cast<const int*>(::dlsym(handle, "vector_bytes"));
  if (function == nullptr || width == nullptr) return kNotLoaded;
  board.vector_bytes.store(*width);
  Mapping mapping;  // without huge pages, results include the cost of small ones, as for kernels
  try {
    mapping = Mapping(static_cast<std::size_t>(run.bytes));
  } catch (const Error&) {
    return kNoMemory;
  }
  char* memory = reinterpret_cast<char*>(mapping.data());
  fill(memory, run);
  const int all = static_cast<int>(run.pus.size());
  board.meet(all);
  const std::int64_t mine = enough_calls(function, memory, run);
  for (std::int64_t fewest = board.calls.load();
       mine < fewest && !board.calls.compare_exchange_weak(fewest, mine);) {
  }
  board.meet(all);
  const std::int64_t calls = board.calls.load();
  const std::int64_t end_ns = now_ns() + std::llround(run.budget.value * 1e9);
  for (int repeat = 0; repeat < run.most_repeats; ++repeat) {
    if (child == 0 && repeat >= run.least_repeats && now_ns() >= end_ns) board.repeats = repeat;
    board.meet(all);
    if (repeat >= board.repeats) break;
    Span& span = spans[repeat * all + child];
    span.start_ns = now_ns();
    function(memory, run.bytes, calls);
    span.end_ns = now_ns();
  }
  return kDone;
}

std::string ending(int status, const LoopRun& run) {
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGALRM) return fmt::format("took over {} s", run.timeout_s);
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  }
  switch (WEXITSTATUS(status)) {
    case kNotLoaded:
      return "is not in the compiled library, or that cannot be loaded";
    case kNotPinned:
      return "could not be pinned to its core";
    case kNoMemory:
      return fmt::format("got no {} MiB of memory", run.bytes >> 20);
    default:
      return fmt::format("ended with {}", WEXITSTATUS(status));
  }
}

// Waits for all children; a failure ends the others. Returns the failure, or "".
std::string wait_for(pid_t group, std::size_t children, const LoopRun& run) {
  std::string failure;
  while (children > 0) {
    int status = 0;
    if (::waitpid(-group, &status, 0) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    --children;
    if (status == 0 || !failure.empty()) continue;
    failure = ending(status, run);
    ::kill(-group, SIGKILL);
  }
  return failure;
}

}  // namespace

double LoopTimes::best() const {
  TC_CHECK(!call_s.empty(), "a loop was timed");
  return *std::ranges::min_element(call_s);
}

double LoopTimes::spread() const {
  std::vector<double> sorted = call_s;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2] / sorted.front() - 1;
}

LoopTimes run_loop(const std::string& library, const LoopRun& run) {
  const std::size_t all = run.pus.size();
  const std::size_t spans_at = 4096;
  TC_CHECK(all > 0 && run.least_repeats > 0 && run.least_repeats <= run.most_repeats,
           "cores and repeats to measure");
  const MappedMemory shared =
      shared_memory(spans_at + sizeof(Span) * all * static_cast<std::size_t>(run.most_repeats));
  auto* board = new (shared.get()) Board{};
  board->calls.store(std::numeric_limits<std::int64_t>::max());
  board->repeats.store(run.most_repeats);
  auto* spans = reinterpret_cast<Span*>(static_cast<char*>(shared.get()) + spans_at);
  const pid_t parent = ::getpid();
  pid_t group = 0;
  std::size_t started = 0;
  for (; started < all; ++started) {
    const pid_t pid = ::fork();
    if (pid < 0) break;
    if (pid == 0) {
      ::setpgid(0, group);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(kNotPinned);
      ::alarm(static_cast<unsigned>(run.timeout_s));
      ::_exit(measure(library, run, static_cast<int>(started), *board, spans));
    }
    if (group == 0) group = pid;
    ::setpgid(pid, group);
  }
  if (started < all && group != 0) ::kill(-group, SIGKILL);
  const std::string failure = started == 0 ? "" : wait_for(group, started, run);
  if (started < all) throw Error(fmt::format("probe: cannot start {} child processes", all));
  if (!failure.empty()) throw Error(fmt::format("probe: {} {}", run.loop.function, failure));
  LoopTimes times{.vector_bytes = board->vector_bytes.load()};
  const auto calls = static_cast<double>(board->calls.load());
  for (int repeat = 0; repeat < board->repeats.load(); ++repeat) {
    const Span* first = spans + repeat * static_cast<int>(all);
    const auto start = std::ranges::min_element(first, first + all, {}, &Span::start_ns)->start_ns;
    const auto end = std::ranges::max_element(first, first + all, {}, &Span::end_ns)->end_ns;
    times.call_s.push_back(static_cast<double>(std::max<std::int64_t>(end - start, 1)) * 1e-9 /
                           calls);
  }
  return times;
}

}  // namespace tilecast::host
