// A set on disk is read as written, and everything wrong with one is reported clearly.
#include "measured/measurement_set.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <set>

#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "measured/samples.h"
#include "tests/measured/set_on_disk.h"
#include "tests/support/errors.h"
#include "tests/support/texts.h"

namespace tilecast::measured {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr const char* kColumns = "op,dtype,m,n,k,runtime_ns\n";

// Kinds of fault by line.
std::vector<std::pair<int, RowFault::Kind>> kinds(const MeasurementSet& set) {
  std::vector<std::pair<int, RowFault::Kind>> found;
  for (const RowFault& fault : set.faults) found.emplace_back(fault.line, fault.kind);
  return found;
}

std::string manifest_message(const std::string& text) {
  return support::error_of([&] { return read_manifest(text, "manifest.yaml"); }, "read");
}

constexpr const char* kManifest =
    "format: tilecast.measurements/1\nname: n\nsource: s\nlicence: l\ntiming: device\ndevice: d\n";

std::string edited(const std::string& from, const std::string& to) {
  return support::replaced(kManifest, from, to);
}

TEST(Manifest, IsReadAsWritten) {
  Manifest written;
  written.name = "a \"quoted\" name";
  written.description = "two\nlines: with # signs";
  written.device = "some_preset";
  written.devices = {{"A100", "first"}, {"odd: cell", "/absolute/second.yaml"}};
  written.source = "a paper";
  written.licence = "MIT";
  written.how_timed = "mean of 32\\";
  written.timing = Timing::kHost;
  written.dispatch = {{"matmul", Seconds{21e-6}}, {"softmax", Seconds{0}}};
  written.defaults_dtype = "f16";
  written.quantities = {{"vector_registers", "registers", "liveness: \"asm\"", true},
                        {"a", "cycles", "", false}};
  const Manifest read = read_manifest(manifest_text(written), "set/manifest.yaml");
  EXPECT_EQ(read.name, written.name);
  EXPECT_EQ(read.description, written.description);
  EXPECT_EQ(read.device, written.device);
  EXPECT_EQ(read.devices, written.devices);
  EXPECT_EQ(read.source, written.source);
  EXPECT_EQ(read.licence, written.licence);
  EXPECT_EQ(read.how_timed, written.how_timed);
  EXPECT_EQ(read.timing, written.timing);
  EXPECT_EQ(read.dispatch, written.dispatch);
  EXPECT_EQ(read.defaults_dtype, written.defaults_dtype);
  EXPECT_EQ(read.quantities, written.quantities);
  ASSERT_NE(read.quantity("a"), nullptr);
  EXPECT_EQ(read.quantity("a")->unit, "cycles");
  EXPECT_EQ(read.quantity("runtime"), nullptr);
}

TEST(Manifest, PathsOfDevicesAreRelativeToItsFolder) {
  const std::string text = edited("device: d", "device: ../fitted.yaml");
  EXPECT_EQ(read_manifest(text, "sets/one/manifest.yaml").device, "sets/fitted.yaml");
}

TEST(Manifest, SaysWhatIsWrong) {
  EXPECT_EQ(manifest_message(kManifest), "read");
  EXPECT_THAT(manifest_message(edited("licence", "license")),
              AllOf(HasSubstr("manifest.yaml:4:1: license: unknown key; expected name, "),
                    HasSubstr("did you mean 'licence'?")));
  EXPECT_THAT(manifest_message(edited("source: s\n", "")), HasSubstr("source is missing"));
  EXPECT_THAT(manifest_message(edited("timing: device", "timing: gpu")),
              HasSubstr("manifest.yaml:5:1: timing: got 'gpu', expected device, host, none"));
  EXPECT_THAT(manifest_message(edited("ments/1", "ments/2")),
              HasSubstr("got 'tilecast.measurements/2', expected tilecast.measurements/1"));
  EXPECT_THAT(manifest_message(edited("device: d", "")), HasSubstr("expected device or devices"));
  EXPECT_THAT(manifest_message(edited("device: d", "devices: []")), HasSubstr("devices: expected"));
  EXPECT_THAT(manifest_message(edited("device: d", "device: d\ndispatch: {matmul: 3 us}")),
              HasSubstr("timing is device"));
  EXPECT_THAT(manifest_message(edited("device: d", "device: d\ndtype: float31")),
              HasSubstr("got 'float31'"));
  EXPECT_THAT(manifest_message(edited("timing: device", "timing: host\ndispatch: {matmul: 3}")),
              HasSubstr("matmul: "));
  EXPECT_THAT(manifest_message(edited("timing: device", "timing: none")),
              HasSubstr("none, but there are no quantities"));
  const auto with = [](const std::string& quantities) {
    return manifest_message(std::string(kManifest) + "quantities: {" + quantities + "}\n");
  };
  EXPECT_EQ(with("spills: {unit: stores, count: yes}"), "read");
  EXPECT_THAT(with("runtime: {unit: s}"), HasSubstr("that is no time"));
  EXPECT_THAT(with("Spills: {unit: s}"), HasSubstr("got 'Spills', expected a name of small"));
  EXPECT_THAT(with("spills: {count: yes}"), HasSubstr("spills: unit is missing"));
  EXPECT_THAT(with("spills: {unit: a, count: 3}"), HasSubstr("got '3', expected no, yes"));
  EXPECT_THAT(with("spills: {unit: a, units: b}"),
              HasSubstr("units: unknown key; expected unit, how, count"));
  EXPECT_THAT(manifest_message("- a\n- list\n"), HasSubstr("expected a mapping"));
  EXPECT_THAT(manifest_message(""), HasSubstr("expected a mapping"));
}

TEST(MeasurementSet, ReadsOperatorsFilesTilesAndTheirTimes) {
  const SetOnDisk disk;
  disk.write_manifest("dtype: bf16\n");
  disk.write("kernels/a.hlo", "text");
  const MeasurementSet set = disk.read(
      "kernel,op,m,n,k,runtime_ns,dispatch_ns,output_bounds,kernel_bounds,class,family,"
      "repeats,spread_ns,split,x_note\r\n"
      ",matmul,64,32,16,1500.5,500,,,,,,,,\r\n"
      "kernels/a.hlo#fusion.1,,,,,2e3,,2 26 4 2,1 3,fusions,f,7,2.5,train,\"kept, as is\"\r\n");
  EXPECT_THAT(set.faults, IsEmpty());
  ASSERT_THAT(set.rows, SizeIs(2));
  EXPECT_DOUBLE_EQ(set.rows[0].runtime->value, 1500.5e-9);
  EXPECT_DOUBLE_EQ(set.rows[0].dispatch.value().value, 500e-9);
  EXPECT_EQ(set.rows[0].device, "tpu_v3");
  EXPECT_EQ(set.table.cell(set.table.rows[0], "dtype"), "bf16");
  EXPECT_EQ(operator_key(set.table, set.table.rows[0]), "op=matmul dtype=bf16 m=64 n=32 k=16");
  const MeasurementRow& row = set.rows[1];
  EXPECT_EQ(row.line, 3);
  EXPECT_EQ(row.file, "kernels/a.hlo");
  EXPECT_EQ(row.kernel, "fusion.1");
  EXPECT_FALSE(row.is_program);
  EXPECT_THAT(row.tile.output, ElementsAre(2, 26, 4, 2));
  EXPECT_THAT(row.tile.kernel, ElementsAre(1, 3));
  EXPECT_EQ(row.op_class, "fusions");
  EXPECT_EQ(row.family, "f");
  EXPECT_EQ(row.repeats, 7);
  EXPECT_DOUBLE_EQ(row.spread.value, 2.5e-9);
  EXPECT_EQ(row.split, "train");
  EXPECT_FALSE(row.dispatch);
}

constexpr const char* kQuantities =
    "quantities: {registers: {unit: registers, count: yes}, use: {unit: share}}\n";

// As SetOnDisk::write_manifest, without times.
void write_untimed(const SetOnDisk& disk) {
  disk.write("manifest.yaml",
             std::string("format: tilecast.measurements/1\nname: small\nsource: made up\n"
                         "licence: none\ntiming: none\ndevice: tpu_v3\n") +
                 kQuantities);
}

TEST(MeasurementSet, MayHoldOtherQuantitiesAndNoTimes) {
  const SetOnDisk disk;
  write_untimed(disk);
  const MeasurementSet set = disk.read(
      "op,dtype,elements,q_use,q_registers\nadd,f32,8,0.5,12\nadd,f32,16,,3\n"
      "add,f32,32,,\nadd,f32,8,0.25,1\n");
  EXPECT_EQ(set.manifest.timing, Timing::kNone);
  ASSERT_THAT(set.rows, SizeIs(2));
  EXPECT_THAT(set.rows[0].quantities, ElementsAre(12.0F, 0.5F)) << "in the manifest's order";
  EXPECT_FLOAT_EQ(set.rows[1].quantities[0], 3);
  EXPECT_TRUE(std::isnan(set.rows[1].quantities[1]));
  EXPECT_FALSE(set.rows[0].runtime);
  EXPECT_THAT(kinds(set), ElementsAre(Pair(4, RowFault::Kind::kNotANumber),
                                      Pair(5, RowFault::Kind::kDuplicate)));
}

TEST(MeasurementSet, TimesMayBeMissingWhereThereAreQuantities) {
  const SetOnDisk disk;
  disk.write_manifest(kQuantities);
  const MeasurementSet set = disk.read(
      "op,dtype,elements,runtime_ns,q_registers,q_use\nadd,f32,8,100,,\n"
      "add,f32,16,,7,0.5\nadd,f32,32,,,\n");
  ASSERT_THAT(set.rows, SizeIs(2));
  EXPECT_TRUE(set.rows[0].runtime);
  EXPECT_FALSE(set.rows[1].runtime);
  EXPECT_THAT(kinds(set), ElementsAre(Pair(4, RowFault::Kind::kNotANumber)));
}

TEST(MeasurementSet, ColumnsOfQuantitiesAreThoseOfTheManifest) {
  const SetOnDisk disk;
  disk.write_manifest(kQuantities);
  EXPECT_THAT(disk.message("op,runtime_ns,q_registers\n"),
              HasSubstr("the column 'q_use' of the manifest's quantity is missing"));
  EXPECT_THAT(disk.message("op,runtime_ns,q_registers,q_use,q_spills\n"),
              HasSubstr("'q_spills': the manifest has no quantity 'spills'"));
  EXPECT_THAT(disk.message("op,dtype,elements,runtime_ns,q_registers,q_use\nadd,f32,8,1,x,\n"),
              HasSubstr("'q_registers': got 'x', expected a number"));
  write_untimed(disk);
  EXPECT_THAT(disk.message("op,runtime_ns,q_registers,q_use\n"),
              HasSubstr("'runtime_ns': the manifest says timing: none"));
}

TEST(MeasurementSet, ReportsBadTimesRowByRow) {
  const SetOnDisk disk;
  disk.write_manifest();
  std::string table = std::string(kColumns) + "matmul,bf16,8,8,8,100\n";
  for (const char* time :
       {"", "fast", "nan", "inf", "0", "-3", "1e999", "1e300", "1e-30", "12ns"}) {
    table += std::string("matmul,bf16,8,8,8,") + time + "\n";
  }
  const MeasurementSet set = disk.read(table);
  EXPECT_THAT(set.rows, SizeIs(1));
  using enum RowFault::Kind;
  EXPECT_THAT(kinds(set), ElementsAre(std::pair(3, kNotANumber), std::pair(4, kNotANumber),
                                      std::pair(5, kNotANumber), std::pair(6, kNotANumber),
                                      std::pair(7, kNotPositive), std::pair(8, kNotPositive),
                                      std::pair(9, kNotANumber), std::pair(10, kOutlier),
                                      std::pair(11, kOutlier), std::pair(12, kNotANumber)));
  EXPECT_EQ(set.faults[1].message, "column 'runtime_ns': got 'fast', expected a finite number");
  EXPECT_EQ(set.faults[1].device, "tpu_v3");
}

TEST(MeasurementSet, ReportsBadDispatchRepeatsAndSpread) {
  const SetOnDisk disk;
  disk.write_manifest();
  const MeasurementSet set = disk.read(
      "op,dtype,elements,runtime_ns,dispatch_ns,repeats,spread_ns\n"
      "add,f32,1,100,100,,\nadd,f32,1,100,-1,,\nadd,f32,1,100,,0,\nadd,f32,1,100,,1.5,\n"
      "add,f32,1,100,,,x\nadd,f32,1,100,0,3,0\n");
  EXPECT_THAT(set.faults, SizeIs(5));
  ASSERT_THAT(set.rows, SizeIs(1));
  EXPECT_EQ(set.rows[0].line, 7);
  EXPECT_THAT(set.faults[0].message, HasSubstr("expected less than runtime_ns '100'"));
}

TEST(MeasurementSet, ReportsTheSecondRunOfEqualWorkDeviceAndTile) {
  const SetOnDisk disk;
  disk.write_manifest("devices: {here: tpu_v3, there: tpu_v2}\n");
  const MeasurementSet set = disk.read(
      "m,op,dtype,n,k,runtime_ns,device,output_bounds,family\n"
      "8,matmul,bf16,8,8,100,here,,\n"
      "8,matmul,bf16,8,8,100,there,,\n"
      "8,matmul,bf16,8,8,100,here,1 1,\n"
      "8,matmul,bf16,8,8,120,,,other\n"
      "16,matmul,bf16,8,8,100,here,,\n");
  EXPECT_THAT(kinds(set), ElementsAre(std::pair(5, RowFault::Kind::kDuplicate)));
  EXPECT_THAT(set.faults[0].message, HasSubstr("line 2"));
}

TEST(MeasurementSet, ParametersAreNumbersInTheOrderOfTheHeader) {
  const SetOnDisk disk;
  disk.write_manifest();
  const MeasurementSet set = disk.read(
      "p_unroll,op,dtype,elements,runtime_ns,p_block_x\n"
      "2,add,f32,8,100,1.5\n,add,f32,8,100,-3\n");
  EXPECT_THAT(set.parameter_names, ElementsAre("unroll", "block_x"));
  ASSERT_THAT(set.rows, SizeIs(2));
  EXPECT_THAT(set.rows[0].parameters, ElementsAre(2.0F, 1.5F));
  ASSERT_THAT(set.rows[1].parameters, SizeIs(2));
  EXPECT_TRUE(std::isnan(set.rows[1].parameters[0])) << "the row has no such parameter";
  EXPECT_EQ(set.rows[1].parameters[1], -3.0F);
}

TEST(MeasurementSet, RunsOfOtherParametersAreNoDuplicates) {
  const SetOnDisk disk;
  disk.write_manifest();
  const MeasurementSet set = disk.read(
      "op,dtype,elements,runtime_ns,p_a,p_b\n"
      "add,f32,8,100,1,\nadd,f32,8,100,2,\nadd,f32,8,100,,1\nadd,f32,8,100,1.0,\n"
      "add,f32,8,100,,1\n");
  EXPECT_THAT(kinds(set), ElementsAre(std::pair(5, RowFault::Kind::kDuplicate),
                                      std::pair(6, RowFault::Kind::kDuplicate)));
  EXPECT_EQ(set.faults[0].message, "same work, device, tile and parameters as line 2");
}

TEST(MeasurementSet, AParameterThatIsNoNumberIsAnErrorWithFileRowAndColumn) {
  const SetOnDisk disk;
  disk.write_manifest();
  for (const char* const cell : {"yes", "1x", "inf", "nan", "1e99"}) {
    disk.write("measurements.csv", std::string("op,dtype,elements,runtime_ns,p_a\n"
                                               "add,f32,8,100,1\nadd,f32,8,100,") +
                                       cell + "\n");
    EXPECT_EQ(disk.message(), std::string("measurements.csv:3: column 'p_a': got '") + cell +
                                  "', expected a number or an empty cell");
  }
  EXPECT_THAT(disk.message("op,dtype,elements,runtime_ns,p_\nadd,f32,8,100,1\n"),
              HasSubstr("unknown column 'p_'"));
}

TEST(MeasurementSet, NamesFileRowAndColumnOfWhatIsMalformed) {
  const SetOnDisk disk;
  disk.write_manifest();
  disk.write("k.hlo", "text");
  const auto message = [&](const std::string& table) { return disk.message(table); };
  EXPECT_EQ(message("op,runtime\nadd,1\n"),
            "measurements.csv:1: unknown column 'runtime'; did you mean 'runtime_ns'?");
  EXPECT_THAT(message("op,runtime_ns,my_note\nadd,1,\n"), HasSubstr("start with x_"));
  EXPECT_THAT(message("op,dtype\nadd,f32\n"), HasSubstr("column 'runtime_ns' is missing"));
  EXPECT_THAT(message("runtime_ns\n1\n"), HasSubstr("expected kernel, program or op"));
  EXPECT_THAT(message("op,op,runtime_ns\n"), HasSubstr("column 'op' appears twice"));
  EXPECT_THAT(message("op,runtime_ns\nadd\n"), HasSubstr("measurements.csv:2: got 1 fields"));
  EXPECT_THAT(message(""), HasSubstr("the table is empty"));
  EXPECT_THAT(message("op,kernel,runtime_ns\nadd,k.hlo,1\n"),
              HasSubstr("measurements.csv:2: column 'op': given besides kernel"));
  EXPECT_THAT(message("op,runtime_ns\n,1\n"), HasSubstr("measurements.csv:2: nothing says what"));
  EXPECT_THAT(message("kernel,runtime_ns\nk2.hlo,1\n"),
              HasSubstr("measurements.csv:2: column 'kernel': got 'k2.hlo', no such file"));
  EXPECT_THAT(message("kernel,runtime_ns,output_bounds\nk.hlo,1,2 x\n"),
              HasSubstr("measurements.csv:2: column 'output_bounds': got 'x'"));
  EXPECT_THAT(message("kernel,runtime_ns,warps\nk.hlo,1,4 4\n"),
              HasSubstr("measurements.csv:2: column 'warps': got '4 4', expected a number"));
  EXPECT_THAT(message("program,runtime_ns,output_bounds\nk.hlo,1,2 2\n"),
              HasSubstr("column 'program': got a tile"));
  EXPECT_THAT(message("op,runtime_ns,device\nadd,1,tpu_v9\n"),
              HasSubstr("measurements.csv:2: column 'device': got 'tpu_v9'"));
  EXPECT_EQ(message("op,runtime_ns\n"), "read") << "no rows are no error";
}

TEST(MeasurementSet, RefusesFilesOutsideItsFolder) {
  const SetOnDisk disk;
  const SetOnDisk other;
  disk.write_manifest();
  other.write("k.hlo", "text");
  disk.write("in/k.hlo", "text");
  const std::string outside =
      "../" + std::filesystem::path(other.path()).filename().string() + "/k.hlo";
  std::filesystem::create_symlink(other.path() + "/k.hlo", disk.path() + "/link.hlo");
  std::filesystem::create_directory_symlink(other.path(), disk.path() + "/linked");
  for (const std::string& file :
       {outside, other.path() + "/k.hlo", std::string("in/../in/k.hlo"), std::string("link.hlo"),
        std::string("linked/k.hlo"), std::string("in"), std::string(".")}) {
    disk.write("measurements.csv", "program,runtime_ns\n" + file + ",1\n");
    EXPECT_THAT(disk.message(), HasSubstr("measurements.csv:2: column 'program': got")) << file;
  }
  EXPECT_EQ(disk.message("program,runtime_ns\nin/k.hlo,1\n"), "read");
}

TEST(MeasurementSet, SaysWhichFileOfItIsMissing) {
  const SetOnDisk disk;
  EXPECT_THAT(disk.message(), HasSubstr("manifest.yaml: no such file"));
  disk.write_manifest();
  EXPECT_THAT(disk.message(), HasSubstr("measurements.csv: no such file"));
  EXPECT_THROW((void)read_measurement_set(disk.path() + "/manifest.yaml"), Error);
  EXPECT_THROW((void)read_measurement_set(disk.path() + "/none"), Error);
  EXPECT_THROW((void)read_measurement_set(""), Error);
}

const char* const kAdd =
    "HloModule add.1\nENTRY %add.1 (p: f32[64,256]) -> f32[64,256] {\n"
    "  %p = f32[64,256]{1,0:T(8,128)} parameter(0)\n"
    "  ROOT %add.1 = f32[64,256]{1,0:T(8,128)} add(%p, %p)\n}\n";

TEST(MeasurementSet, AnArchiveOfItIsTheSameSet) {
  const SetOnDisk disk;
  disk.write("manifest.yaml",
             "format: tilecast.measurements/1\nname: small\nsource: made up\nlicence: none\n"
             "timing: device\ndevice: devices/mine.yaml\n");
  disk.write("devices/mine.yaml", "extends: tpu_v3\nname: mine\n");
  disk.write("kernels/k.hlo", kAdd);
  disk.write("measurements.csv", "kernel,runtime_ns\nkernels/k.hlo,3000\nkernels/k.hlo,x\n");
  const MeasurementSet folder = disk.read();
  const MeasurementSet packed = read_measurement_set(disk.pack());
  EXPECT_EQ(packed.hash, folder.hash);
  ASSERT_EQ(packed.rows.size(), 1U);
  EXPECT_EQ(packed.faults.size(), 1U);
  const hwdesc::Device device = hwdesc::load_device(packed.rows.front().device);
  EXPECT_EQ(device.name, "mine");
  const SampleSet samples = make_samples(packed, device);
  ASSERT_EQ(samples.works.size(), 1U);
  EXPECT_EQ(samples.works.front().fingerprint,
            make_samples(folder, device).works.front().fingerprint);
}

TEST(MeasurementSet, NothingInAnArchiveLeadsOutOfIt) {
  const SetOnDisk disk;
  const auto message = [&] {
    return support::error_of([&] { return read_measurement_set(disk.pack()); }, "read");
  };
  disk.write("k.hlo", kAdd);
  disk.write("measurements.csv", "kernel,runtime_ns\nk.hlo,3000\n");
  EXPECT_THAT(message(), HasSubstr("set.zip/manifest.yaml: no such file"));
  disk.write_manifest();
  EXPECT_EQ(message(), "read");
  disk.write("measurements.csv", "kernel,runtime_ns\n../k.hlo,3000\n");
  EXPECT_THAT(message(), HasSubstr("expected a path inside the set"));
  disk.write("measurements.csv", "kernel,runtime_ns\nk2.hlo,3000\n");
  EXPECT_THAT(message(), HasSubstr("no such file in the set"));
  disk.write("measurements.csv", "kernel,runtime_ns\nk.hlo,3000\n");
  disk.write("manifest.yaml",
             "format: tilecast.measurements/1\nname: small\nsource: made up\nlicence: none\n"
             "timing: device\ndevice: ../mine.yaml\n");
  EXPECT_THAT(message(), HasSubstr("is outside the archive"));
}

TEST(MeasurementSet, ItsHashChangesWithEveryFileOfIt) {
  const SetOnDisk disk;
  disk.write_manifest();
  disk.write("a.hlo", "text");
  disk.write("measurements.csv", "kernel,runtime_ns\na.hlo,1\n");
  const std::string first = disk.read().hash;
  EXPECT_EQ(disk.read().hash, first);
  disk.write("unnamed.hlo", "not of the set");
  EXPECT_EQ(disk.read().hash, first);
  disk.write("a.hlo", "texts");
  const std::string second = disk.read().hash;
  disk.write("measurements.csv", "kernel,runtime_ns\na.hlo,2\n");
  const std::string third = disk.read().hash;
  disk.write_manifest("description: other\n");
  const std::string fourth = disk.read().hash;
  EXPECT_THAT((std::set<std::string>{first, second, third, fourth}), SizeIs(4));
}

TEST(ContentHash, IsSha1) {  // FIPS 180-1, appendix A
  EXPECT_EQ(content_hash("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(content_hash(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

// Texts truncated and changed at random are read or rejected.
TEST(MeasurementSet, SurvivesDamagedTables) {
  const SetOnDisk disk;
  disk.write_manifest();
  disk.write("k.hlo", "text");
  const std::string whole =
      "kernel,op,dtype,m,n,k,runtime_ns,output_bounds,repeats\n"
      "k.hlo,,,,,,12.5,1 2,3\n,matmul,bf16,8,8,8,100,,\n,\"matmul\",f32,8,8,16,7e2,4,1\n";
  std::mt19937_64 random(7);
  constexpr int kTries = 2000;
  for (int i = 0; i < kTries; ++i) {
    std::string text = whole;
    for (std::uint64_t edits = random() % 4 + 1; edits > 0; --edits) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    if (random() % 4 == 0) text.resize(random() % text.size());
    disk.write("measurements.csv", text);
    try {
      for (const MeasurementRow& row : disk.read().rows) {
        ASSERT_GT(row.runtime->value, 0);
      }
    } catch (const Error& error) {
      ASSERT_THAT(error.what(), HasSubstr("measurements.csv"));
    }
  }
}

}  // namespace
}  // namespace tilecast::measured
