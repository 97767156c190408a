// Damaged files, with many seeds: an import creates a complete set or throws Error and leaves
// nothing; it never crashes. Also files of a million rows: time and memory.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>

#include "base/error.h"
#include "measured/importers/importer.h"
#include "measured/importers/xplane_join.h"
#include "tests/measured/set_on_disk.h"
#include "tests/measured/xplane_profile.h"
#include "tests/support/damage.h"
#include "tests/support/folders.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;
constexpr int kSeeds = 1500;

const char* const kFields =
    "name: t\nsource: a test\nlicence: none\ntiming: device\nhow_timed: by hand\n"
    "device: tpu_v3\ndtype: f32\n";
const char* const kTables =
    "tables:\n  - fastest_of_equal: true\n    columns:\n      op: {constant: add}\n"
    "      elements: bx*by\n      x_name: name\n      runtime: {column: time_ms_mean, unit: ms}\n";

std::string gzip(const SetOnDisk& folder, const std::string& text) {
  const std::string path = folder.path() + "/pack.gz";
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return support::bytes_of(path);
}

// Changes, removes or repeats a few bytes.
std::string damage(std::string bytes, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t i = 0, n = 1 + below(4); i < n && !bytes.empty(); ++i) {
    const std::size_t place = below(bytes.size());
    switch (random() % 5) {
      case 0:
        bytes[place] = static_cast<char>(random());
        break;
      case 1:
        bytes[place] = static_cast<char>(bytes[place] ^ (1 << below(8)));
        break;
      case 2:
        bytes.resize(place);
        break;
      case 3:
        bytes.erase(place, 1 + below(8));
        break;
      default:
        bytes.insert(place, bytes.substr(place, 1 + below(16)));
    }
  }
  return bytes;
}

// Imports many damaged copies of `bytes`, written to `file`; returns the number of successes.
int survivors(const SetOnDisk& folder, const std::string& file, const std::string& bytes,
              const std::function<void(const ImportOptions&)>& import) {
  int imported = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    folder.write(file, damage(bytes, random));
    ImportOptions options;
    options.output = folder.path() + "/out";
    options.keep_going = seed % 2 == 1;
    bool done = false;
    try {
      import(options);
      done = true;
    } catch (const Error& error) {
      EXPECT_STRNE(error.what(), "");
    }
    EXPECT_EQ(fs::exists(options.output + "/manifest.yaml"), done) << "seed " << seed;
    imported += done ? 1 : 0;
    fs::remove_all(options.output);
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      EXPECT_FALSE(entry.is_directory()) << entry.path() << " seed " << seed;
    }
  }
  return imported;
}

const char* const kCsv =
    "bx,by,name,time_ms_mean\n1,2,\"a, \"\"b\"\"\",1.5\n8,2,\"c\nd\",2\n3,3,e,0.25\n";
const char* const kCache =
    R"({"tune_params_keys": ["bx", "by", "name"], "cache": {"a": {"bx": 1, "by": 2, "name": "x",
        "time": 1.5, "times": [1, 2.5e-1]}, "b": {"bx": 3, "by": 2, "name": true, "time": "No"}}})";

TEST(DamagedFiles, TablesAndTheirMappingsGiveASetOrAnError) {
  const SetOnDisk folder;
  const std::string map = folder.path() + "/map.yaml";
  const auto import = [&](const std::string& file) {
    return [&folder, map, file](const ImportOptions& options) {
      (void)import_operators({folder.path() + "/" + file}, map, options);
    };
  };
  folder.write("map.yaml", std::string(kFields) + kTables);
  EXPECT_GT(survivors(folder, "in.csv", kCsv, import("in.csv")), 0);
  survivors(folder, "in.csv.gz", gzip(folder, kCsv), import("in.csv.gz"));
  folder.write("in.csv", kCsv);
  EXPECT_GT(survivors(folder, "map.yaml", std::string(kFields) + kTables, import("in.csv")), 0);
}

TEST(DamagedFiles, KernelTunerCachesGiveASetOrAnError) {
  const SetOnDisk folder;
  folder.write("map.yaml", std::string(kFields) + kTables);
  const auto import = [&](const std::string& file) {
    return [&folder, file](const ImportOptions& options) {
      (void)import_operators({folder.path() + "/" + file}, folder.path() + "/map.yaml", options);
    };
  };
  survivors(folder, "in.json", kCache, import("in.json"));
  survivors(folder, "in.json.gz", gzip(folder, kCache), import("in.json.gz"));
}

TEST(DamagedFiles, TracesGiveASetOrAnError) {
  const SetOnDisk folder;
  folder.write("m.hlo",
               "HloModule m\nENTRY %e (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n"
               "  ROOT %add.1 = f32[8]{0} add(%p, %p)\n}\n");
  const char* trace =
      R"({"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name":
      "/device:TPU:0"}}, {"ph": "X", "name": "add.1", "pid": 1, "tid": 2, "dur": 1.5,
      "args": {"launches": 2, "hlo_module": "m"}}]})";
  EXPECT_GT(survivors(folder, "t.json", trace,
                      [&](ImportOptions options) {
                        options.device = "tpu_v3";
                        (void)import_trace({.traces = {folder.path() + "/t.json"},
                                            .module = folder.path() + "/m.hlo",
                                            .manifest = {}},
                                           options);
                      }),
            0);
}

TEST(DamagedFiles, TileRunsGiveASetOrAnError) {
  const SetOnDisk folder;
  folder.write("map.yaml", kFields);
  folder.write("a.hlo",
               "HloModule m\nENTRY %e (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n"
               "  ROOT %add.1 = f32[8]{0} add(%p, %p)\n}\n");
  EXPECT_GT(survivors(folder, "runs.csv",
                      "file,error,compute_time_ns,output_bounds\na.hlo,0,12,1\na.hlo,1,0,2\n",
                      [&](const ImportOptions& options) {
                        (void)import_operators({folder.path() + "/runs.csv"},
                                               folder.path() + "/map.yaml", options);
                      }),
            0);
}

// AddressSanitizer keeps freed memory, so its peak is meaningless.
#ifdef __SANITIZE_ADDRESS__
constexpr long kMostKib = std::numeric_limits<long>::max();
#else
constexpr long kMostKib = 64 << 10;
#endif

TEST(LargeFiles, AMillionRowsAreImportedInBoundedMemory) {
  const SetOnDisk folder;
  folder.write("map.yaml", std::string(kFields) +
                               "tables:\n  - columns:\n      op: {constant: matmul}\n      m: M\n"
                               "      n: 2*N\n      k: K\n      x_kernel: kernel\n"
                               "      runtime: {column: latency, unit: ms}\n");
  {
    std::ofstream out(folder.path() + "/in.csv");
    out << "latency,M,N,K,kernel\n";
    for (int i = 1; i <= 1'000'000; ++i) {
      out << i * 1e-4 << ',' << i % 1000 + 1 << ',' << i % 77 + 1 << ",64,\"gemm<4, f32>\"\n";
    }
  }
  const auto peak_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  ImportOptions options;
  options.output = folder.path() + "/out";
  int calls = 0;
  options.progress = [&](double done) {
    ++calls;
    EXPECT_LE(done, 1.0);
  };
  const long before = peak_kib();
  const ImportReport report =
      import_operators({folder.path() + "/in.csv"}, folder.path() + "/map.yaml", options);
  EXPECT_EQ(report.rows, 1'000'000);
  EXPECT_LT(peak_kib() - before, kMostKib);
  EXPECT_GT(calls, 10);
}

}  // namespace

// Damaged profiles: a result or an error, never a crash, and never a time that is not a number.

namespace {

std::string tpu_profile() {
  ProfileOnDisk disk;
  Plane device = disk.plane("/device:TPU:0");
  device.fact("peak_teraflops_per_second", 9.0);
  device.line("XLA Modules");
  device.event("jit_f(5)", 0, 400);
  device.line("XLA Ops");
  device.op("tanh.1", 5, 0, 100);
  device.op("copy-start.2", 5, 10, 20);
  device.event("%copy-done.2 = f32[] copy-done()", 90, 10,
               {{"device_offset_ps", std::uint64_t{7}}, {"device_duration_ps", 12.0}});
  device.line("Async XLA Ops");
  device.op("copy-start.2", 5, 10, 90);
  disk.plane("/host:metadata").module(5, "jit_f(5)", module_proto("jit_f"));
  return disk.bytes();
}

std::string gpu_profile() {
  ProfileOnDisk disk;
  disk.plane("/host:metadata").module(5, "jit_f(5)", module_proto("jit_f"));
  Plane device = disk.plane("/device:GPU:0");
  device.fact("clock_rate", std::uint64_t{2100000});
  device.line("Stream #1(Kernel)");
  device.kernel("tanh", "tanh.1", 5, 0, 100);
  device.kernel("copy", "copy-start.2", 5, 100, 20).set_num_occurrences(3);
  device.event("Memset", 200, 10);
  return disk.bytes();
}

void expect_sane(Seconds time) {
  ASSERT_TRUE(std::isfinite(time.value) && time.value >= 0) << time.value;
}

TEST(XplaneProperty, DamagedProfilesGiveTimesOrAnError) {
  ProfileOnDisk disk;
  support::expect_answer_or_error(
      {tpu_profile(), gpu_profile()}, 20000, 7, [&](const std::string& bytes) {
        // Removed instead of truncated, because file systems sync rewritten files to disk.
        std::filesystem::remove(disk.at("damaged.xplane.pb"));
        disk.folder().write("damaged.xplane.pb", bytes);
        const XplaneProfile profile = read_xplane({disk.at("damaged.xplane.pb")}, {});
        expect_sane(profile.device_time);
        expect_sane(Seconds{profile.device.peak_flops});
        for (const XplaneModule& module : profile.modules) {
          for (const auto& [name, times] : module.instructions) {
            for (const Seconds time : {times.total, times.median, times.min, times.spread}) {
              expect_sane(time);
            }
          }
        }
        expect_sane(join_modules(profile, {}).kernels);
      });
}

}  // namespace
}  // namespace tilecast::measured
