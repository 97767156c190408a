// Tables, tile runs and Kernel Tuner caches to measurement sets. Expectations are computed by hand.
#include <gmock/gmock.h>
#include <zlib.h>

#include <filesystem>

#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "measured/importers/column_rule.h"
#include "measured/importers/importer.h"
#include "measured/measurement_set.h"
#include "tests/measured/set_on_disk.h"
#include "tests/support/errors.h"
#include "tests/support/texts.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const char* const kManifest =
    "name: t\nsource: a test\nlicence: none\ntiming: device\nhow_timed: by hand\n"
    "device: tpu_v3\ndtype: f32\n";
// A mapping of one table with these columns, "op: {constant: add}; elements: n".
std::string table_of(const std::string& columns) {
  return "tables:\n  - columns:\n      " + support::replaced_all(columns, "; ", "\n      ") + "\n";
}
const std::string kMatmul =
    table_of("op: {constant: matmul}; m: m; n: 2*m; k: 8; runtime: {column: t_us, unit: us}");
const std::string kAddInNs = "op: {constant: add}; elements: n; runtime: {column: t, unit: ns}";

void write_gz(const std::string& path, const std::string& text) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

// A folder with inputs; `out` is the folder for sets.
class Import : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& file) const {
    return folder_.path() + "/" + file;
  }
  void write(const std::string& file, const std::string& text) const { folder_.write(file, text); }
  [[nodiscard]] ImportOptions options() const {
    ImportOptions options;
    options.output = at("out");
    return options;
  }
  ImportReport operators(const std::string& mapping, const std::string& csv,
                         ImportOptions options) const {
    write("map.yaml", kManifest + mapping);
    write("in.csv", csv);
    return imported("in.csv", options);
  }
  // Of a file, by map.yaml.
  ImportReport imported(const std::string& file, const ImportOptions& options) const {
    return import_operators({at(file)}, at("map.yaml"), options);
  }
  ImportReport imported(const std::string& file) const { return imported(file, options()); }
  // The import's message, without the folder; nothing may be left behind.
  std::string message(const std::string& mapping, const std::string& csv) const {
    try {
      operators(mapping, csv, options());
    } catch (const Error& error) {
      EXPECT_THAT(leftovers(), IsEmpty());
      return folder_.inside(error.what());
    }
    return "imported";
  }
  [[nodiscard]] std::vector<std::string> leftovers() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.is_directory()) names.push_back(entry.path().filename().string());
    }
    return names;
  }
  [[nodiscard]] std::string rows() const {
    return std::string(base::SourceText::read_file(at("out/measurements.csv")).text());
  }

  SetOnDisk folder_;
};

TEST_F(Import, ATableOfOperatorsBecomesASetThatReads) {
  const ImportReport report = operators(kMatmul, "m,t_us\n4,1.5\n6,2\n", options());
  EXPECT_EQ(report.rows, 2);
  const MeasurementSet set = read_measurement_set(at("out"));
  EXPECT_EQ(set.manifest.name, "t");
  ASSERT_EQ(set.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(set.rows[0].runtime->value, 1.5e-6);
  EXPECT_EQ(operator_key(set.table, set.table.rows[1]), "op=matmul dtype=f32 m=6 n=12 k=8");
}

TEST_F(Import, ATimeFromARateIsWorkOverRate) {
  const std::string mapping = table_of(
      "op: {constant: softmax}; rows: m; columns: n; "
      "runtime: {work: m*n, per: rate, unit: Gelem/s}");
  EXPECT_EQ(operators(mapping, "m,n,rate\n64,32,2\n", options()).rows, 1);
  EXPECT_EQ(rows(), "op,rows,columns,runtime_ns\nsoftmax,64,32,1024\n");  // 2048 / 2e9 s
}

TEST_F(Import, ValuesAreRenamedFilteredAndKept) {
  const char* mapping =
      "devices: {Card A: tpu_v3, Card B: tpu_v2}\n"
      "tables:\n  - where: {column: kind, not_in: [warm-up]}\n    columns:\n"
      "      op: {column: kind, map: {plus: add}}\n      device: card\n      elements: n\n"
      "      runtime: {column: t, unit: ns}\n      spread: {column: s, unit: ns}\n"
      "    keep: [Driver Version]\n";
  const ImportReport report = operators(
      mapping, "kind,card,n,t,s,Driver Version\nplus,Card B,8,5,,\"1,2\"\nwarm-up,Card A,8,9,1,3\n",
      options());
  EXPECT_EQ(rows(),
            "op,device,elements,runtime_ns,spread_ns,x_driver_version\n"
            "add,Card B,8,5,,\"1,2\"\n");
  EXPECT_THAT(report.left_out, ElementsAre(Pair("`where` on column 'kind'", 1)));
  EXPECT_EQ(read_measurement_set(at("out")).rows.at(0).device, "tpu_v2");
}

TEST_F(Import, OfTablesForTheSameFilesTheFirstThatTakesARowReadsIt) {
  const char* mapping =
      "tables:\n"
      "  - where: {column: layout, in: [NT]}\n    columns:\n"
      "      op: {constant: matmul}\n      transposed: {constant: rhs}\n      m: m\n      n: n\n"
      "      k: k\n      output_bounds: [bm, bn]\n      kernel_bounds: [bn, bk]\n"
      "      stages: {column: s, map: {\"1\": \"1\", \"3\": \"2\"}}\n      warps: threads/32\n"
      "      threads: [8, threads/8]\n      direct: {column: s, map: {\"1\": \"1\", \"3\": \"\"}}\n"
      "      runtime: {column: t, unit: ns}\n"
      "  - where: {column: layout, not_in: [NT, TT]}\n    columns:\n"
      "      op: {constant: matmul}\n      m: m\n      n: n\n      k: k\n"
      "      output_bounds: [bm, bn]\n      kernel_bounds: [bk, bn]\n"
      "      runtime: {column: t, unit: ns}\n";
  const ImportReport report = operators(mapping,
                                        "layout,m,n,k,bm,bn,bk,s,threads,t\n"
                                        "NT,512,256,128,64,32,16,3,128,700\n"
                                        "NN,512,256,128,64,32,16,1,64,800\n"
                                        "TT,512,256,128,64,32,16,1,64,900\n",
                                        options());
  EXPECT_EQ(
      rows(),
      "op,transposed,m,n,k,output_bounds,kernel_bounds,stages,warps,threads,direct,runtime_ns\n"
      "matmul,rhs,512,256,128,64 32,32 16,2,4,8 16,,700\n"
      "matmul,,512,256,128,64 32,16 32,,,,,800\n");
  EXPECT_THAT(report.left_out, ElementsAre(Pair("`where` on column 'layout'", 1)));
  const MeasurementSet set = read_measurement_set(at("out"));
  EXPECT_EQ(set.rows.at(0).tile, (analytical::TileConfig{.output = {64, 32},
                                                         .kernel = {32, 16},
                                                         .input = {},
                                                         .stages = 2,
                                                         .warps = 4,
                                                         .threads = {8, 16}}));
  EXPECT_EQ(set.rows.at(1).tile.stages, 0);
}

TEST_F(Import, ParametersAreColumnsOfNumbers) {
  const std::string mapping =
      table_of(kAddInNs) + "    keep: [MWG]\n    parameters: [MWG, use-pad]\n";
  EXPECT_EQ(operators(mapping, "n,t,MWG,use-pad\n8,5,16,0\n8,6,32,\n", options()).rows, 2);
  EXPECT_EQ(rows(),
            "op,elements,runtime_ns,x_mwg,p_mwg,p_use_pad\nadd,8,5,16,16,0\nadd,8,6,32,32,\n");
  const MeasurementSet set = read_measurement_set(at("out"));
  EXPECT_THAT(set.parameter_names, ElementsAre("mwg", "use_pad"));
  EXPECT_EQ(set.rows.size(), 2U);
}

TEST_F(Import, WhatEveryTableSaysIsCompletedByEachTable) {
  const char* mapping =
      "every_table:\n  where: {not_empty: t}\n  columns:\n    op: {constant: matmul}\n    m: m\n"
      "    n: m\n    k: m\n    kernel_bounds: [a, b]\n    runtime: {column: t, unit: ns}\n"
      "  parameters: [p]\n"
      "tables:\n  - where: {column: s, in: [plain]}\n"
      "  - where:\n      - {column: s, in: [turned]}\n      - {column: m, not_in: [\"9\"]}\n"
      "    columns:\n      transposed: {constant: rhs}\n      kernel_bounds: [b, a]\n"
      "    parameters: [p, a]\n";
  const char* table =
      "m,a,b,t,s,p\n8,2,3,5,plain,1\n8,2,3,6,turned,2\n8,2,3,,plain,3\n9,2,3,7,turned,4\n";
  EXPECT_EQ(operators(mapping, table, options()).rows, 2);
  EXPECT_EQ(rows(),
            "op,m,n,k,kernel_bounds,runtime_ns,p_p,transposed,p_a\n"
            "matmul,8,8,8,2 3,5,1,,\nmatmul,8,8,8,3 2,6,2,rhs,2\n");
}

TEST_F(Import, EveryTableIsAMappingThatTablesComplete) {
  EXPECT_THAT(message("every_table:\n  columns: {op: {constant: add}}\n", "m,t\n1,2\n"),
              HasSubstr("every_table: expected a mapping, and tables that it completes"));
  EXPECT_THAT(message("every_table:\n  colours: red\ntables:\n  - columns: {m: m}\n", "m\n1\n"),
              HasSubstr("colours: unknown key; expected files"));
}

TEST_F(Import, AParameterThatIsNoNumberIsABadRow) {
  const std::string mapping = table_of(kAddInNs) + "    parameters: [MWG]\n";
  EXPECT_EQ(message(mapping, "n,t,MWG\n8,5,1\n8,5,wide\n"),
            "in.csv:3: column 'MWG': got 'wide', expected a number or an empty cell");
}

TEST_F(Import, TheFastestOfEqualRowsIsPerParameters) {
  const std::string mapping =
      table_of(kAddInNs) + "    fastest_of_equal: true\n    parameters: [b]\n";
  EXPECT_EQ(operators(mapping, "n,t,b\n8,5,1\n8,4,1\n8,6,2\n", options()).rows, 2);
  EXPECT_EQ(rows(), "op,elements,runtime_ns,p_b\nadd,8,4,1\nadd,8,6,2\n");
}

TEST_F(Import, ABadCellNamesFileRowAndColumnAndLeavesNothing) {
  EXPECT_EQ(message(kMatmul, "m,t_us\n4,1\nx,2\n"),
            "in.csv:3: column 'm': got 'x', expected a number");
  EXPECT_EQ(message(kMatmul, "m,t_us\n4,\n"),
            "in.csv:2: column 't_us': got an empty cell, expected a number");
  EXPECT_THAT(message(kMatmul, "m,t_us\n4,0\n"), HasSubstr("in.csv:2: column 't_us'"));
  EXPECT_THAT(message(kMatmul, "m,t_us\n4,-1\n"), HasSubstr("expected a time above zero"));
  EXPECT_THAT(message(kMatmul, "m,t_us\n4,nan\n"), HasSubstr("got 'nan', expected a number"));
  EXPECT_THAT(message(kMatmul, "m,t_us\n4,1e308\n"), HasSubstr("expected a time above zero"));
  EXPECT_THAT(message(kMatmul, "m,t_us\n2.5,1\n"), HasSubstr("expected a whole number"));
  EXPECT_THAT(message(kMatmul, "m,t_us\n1e300,1\n"), HasSubstr("expected a whole number"));
  EXPECT_EQ(message(kMatmul, "m,t_us\n4,1,7\n"), "in.csv:2: got 3 fields, expected 2");
}

TEST_F(Import, KeepGoingListsBadRowsAndTakesTheRest) {
  ImportOptions keep = options();
  keep.keep_going = true;
  const ImportReport report = operators(kMatmul, "m,t_us\n4,1\nx,2\n5\n\"6\"7,1\n8,3\n", keep);
  EXPECT_EQ(report.rows, 2);
  EXPECT_EQ(report.bad, 3);
  ASSERT_EQ(report.messages.size(), 3u);
  EXPECT_THAT(report.messages[1], HasSubstr("in.csv:4: got 1 fields"));
  EXPECT_EQ(rows(), "op,m,n,k,runtime_ns\nmatmul,4,8,8,1000\nmatmul,8,16,8,3000\n");
}

TEST_F(Import, WrongFilesAreRefusedWithTheReason) {
  EXPECT_THAT(message(kMatmul, ""), HasSubstr("in.csv: the table is empty"));
  EXPECT_THAT(message(kMatmul, "m,t_us\n"), HasSubstr("no row is a measurement"));
  EXPECT_THAT(message(kMatmul, "M,t_us\n1,2\n"), HasSubstr("there is no column 'm'"));
  EXPECT_THAT(message(kMatmul, "m,m,t_us\n"), HasSubstr("column 'm' appears twice"));
  EXPECT_THAT(message(kMatmul, "m,t_us\n\"4,1\n"), HasSubstr("in.csv:2:1: a quoted field never"));
  EXPECT_THAT(message(kMatmul, std::string("m,t_us\n4,\0001\n", 11)), HasSubstr("NUL"));
  EXPECT_THROW(imported("absent.csv"), Error);
}

TEST_F(Import, WrongMappingsAreRefusedWithPlaceAndHint) {
  const auto with = [&](const std::string& line) {
    return message("tables:\n  - columns:\n      op: {constant: add}\n" + line, "m,t\n1,2\n");
  };
  const std::string runtime = "      runtime: {column: t, unit: ns}\n";
  EXPECT_THAT(with("      elements: m\n"), HasSubstr("runtime is missing"));
  EXPECT_THAT(with(runtime + "      elemnts: m\n"), HasSubstr("did you mean 'elements'?"));
  EXPECT_THAT(with(runtime + "      elements: m+\n"), HasSubstr("map.yaml:12:7: elements: got"));
  EXPECT_THAT(with(runtime + "      elements: mm\n"), HasSubstr("there is no column 'mm'"));
  EXPECT_THAT(with("      runtime: t\n"), HasSubstr("unit: ms"));
  EXPECT_THAT(with("      runtime: {column: t, unit: GB}\n"), HasSubstr("a unit of time"));
  EXPECT_THAT(with("      runtime: {work: 1, per: t, unit: ms}\n"), HasSubstr("a rate"));
  EXPECT_THAT(message("dispatch: {add: 1 us}\ntables:\n  - columns: {}\n", "m\n"),
              HasSubstr("expected timing: host, or no dispatch"));
  EXPECT_THAT(
      message("tables:\n  - files: other*.csv\n    columns:\n      op: {constant: add}\n" + runtime,
              "m,t\n1,2\n"),
      HasSubstr("no table of the mapping is for a file of this name"));
}

TEST_F(Import, DevicesMustBeThere) {
  const auto with = [&](const std::string& fields, const std::string& device) {
    return message(fields + table_of(kAddInNs + "; device: " + device), "n,t,card\n1,2,A\n");
  };
  EXPECT_THAT(with("", "{constant: abacus}"), HasSubstr("abacus"));
  EXPECT_THAT(with("devices: {A: abacus}\n", "card"), HasSubstr("map.yaml:8:"));
  EXPECT_THAT(with("devices: {B: tpu_v3}\n", "card"),
              HasSubstr("in.csv:2: column 'card': got 'A', which the mapping does not know"));
  EXPECT_THAT(with("", "{file: {\"*.tsv\": tpu_v3}}"), HasSubstr("no pattern fits the file"));
  write("mine.yaml", "extends: tpu_v3\n");
  EXPECT_EQ(with("devices: {A: ./mine.yaml}\n", "card"), "imported");
  fs::remove_all(at("out"));
  write("mine.yaml", "clock: fast\n");
  EXPECT_THAT(with("devices: {A: ./mine.yaml}\n", "card"), HasSubstr("mine.yaml:1:1: "));
}

TEST_F(Import, ADescriptionOfADeviceGoesIntoTheSet) {
  write("mine.yaml", "extends: tpu_v3\nclock: 1 GHz\nsource: made up\n");
  write("other/mine.yaml", "extends: tpu_v2\n");
  (void)operators("devices: {A: ./mine.yaml, B: ./other/mine.yaml, C: ./mine.yaml, D: tpu_v3}\n" +
                      table_of(kAddInNs + "; device: card"),
                  "n,t,card\n1,2,A\n1,2,B\n1,2,C\n1,2,D\n", options());
  fs::rename(at("out"), at("moved"));
  fs::remove(at("mine.yaml"));
  const MeasurementSet set = read_measurement_set(at("moved"));
  EXPECT_EQ(set.manifest.devices.at("C"), set.manifest.devices.at("A"));
  EXPECT_EQ(set.manifest.devices.at("D"), "tpu_v3");
  EXPECT_EQ(hwdesc::load_device(set.manifest.devices.at("A")).clock.value, 1e9);
  EXPECT_EQ(hwdesc::load_device(set.manifest.devices.at("B")).clock.value,
            hwdesc::load_device("tpu_v2").clock.value);
}

TEST_F(Import, DeviceAndNameOfTheOptionsReplaceThoseOfTheMapping) {
  ImportOptions mine = options();
  mine.device = "tpu_v2";
  mine.name = "second";
  operators(kMatmul, "m,t_us\n4,1\n", mine);
  const MeasurementSet set = read_measurement_set(at("out"));
  EXPECT_EQ(set.manifest.name, "second");
  EXPECT_EQ(set.rows.at(0).device, "tpu_v2");
  mine.force = true;
  mine.device = at("none.yaml");
  EXPECT_THROW(operators(kMatmul, "m,t_us\n4,1\n", mine), Error);
  EXPECT_EQ(read_measurement_set(at("out")).rows.at(0).device, "tpu_v2");
}

TEST_F(Import, OneDeviceCannotStandForSeveral) {
  const std::string mapping =
      "devices: {A: tpu_v3, B: tpu_v2}\n" + table_of(kAddInNs + "; device: card");
  ImportOptions mine = options();
  mine.device = "cpu_generic";
  EXPECT_THROW(operators(mapping, "n,card,t\n8,B,5\n8,A,5\n", mine), Error);
  operators(mapping, "n,card,t\n8,B,5\n", mine);
  EXPECT_EQ(read_measurement_set(at("out")).rows.at(0).device, "cpu_generic");
}

TEST_F(Import, ATableWithTheColumnsOfASetNeedsNoMapping) {
  write("ops.csv",
        "op,dtype,m,n,k,elements,execution,p_block,output_bounds,x_id,runtime_ns\n"
        "matmul,bf16,64,64,64,,,8,64 64,a,2000.5\nadd,f32,,,,4096,ops,,,b,1500\n");
  ImportOptions mine = options();
  mine.device = "tpu_v3";
  EXPECT_EQ(import_operators({at("ops.csv")}, {}, mine).rows, 2);
  EXPECT_EQ(rows(), base::SourceText::read_file(at("ops.csv")).text());
  const MeasurementSet set = read_measurement_set(at("out"));
  EXPECT_EQ(set.manifest.name, "ops");
  EXPECT_THAT(set.rows.at(0).tile.output, ElementsAre(64, 64));
  const auto refusal = [&](const std::string& csv) -> std::string {
    write("ops.csv", csv);
    return support::error_of(
        [&] {
          mine.force = true;
          (void)import_operators({at("ops.csv")}, {}, mine);
        },
        "imported");
  };
  EXPECT_THAT(refusal("op,elements,runtime_ns,colour\nadd,8,100,red\n"),
              HasSubstr("ops.csv:1:1: colour: a measurement set has no such column"));
  EXPECT_THAT(refusal("op,elements\nadd,8\n"), HasSubstr("runtime is missing"));
  EXPECT_THAT(refusal("op,elements,runtime_ns\nadd,8,\n"), HasSubstr("ops.csv:2: column"));
  EXPECT_THAT(refusal("op,elements,runtime_ns\nadd,x,5\n"), HasSubstr("ops.csv:2: column"));
  EXPECT_THAT(refusal("op,elements,device,runtime_ns\nadd,8,abacus,5\n"), "imported");
  EXPECT_EQ(read_measurement_set(at("out")).rows.at(0).device, "tpu_v3");
  mine.device = {};
  EXPECT_THAT(refusal("op,elements,runtime_ns\nadd,8,5\n"), HasSubstr("expected a mapping, or a"));
}

TEST_F(Import, OnlyAMeasurementSetIsReplacedAndOnlyWithForce) {
  ASSERT_EQ(message(kMatmul, "m,t_us\n4,1\n"), "imported");
  EXPECT_THROW(operators(kMatmul, "m,t_us\n9,1\n", options()), Error);
  EXPECT_THAT(rows(), HasSubstr("matmul,4,"));
  ImportOptions force = options();
  force.force = true;
  EXPECT_THROW(operators(kMatmul, "m,t_us\nbad,1\n", force), Error);
  EXPECT_THAT(rows(), HasSubstr("matmul,4,"));  // the old set stays if the new import fails
  EXPECT_EQ(operators(kMatmul, "m,t_us\n9,1\n", force).rows, 1);
  EXPECT_THAT(rows(), HasSubstr("matmul,9,"));
  EXPECT_THAT(leftovers(), ElementsAre("out"));
  for (const char* name : {"out/notes.txt", "out/kernels/mine.hlo"}) {
    write(name, "mine");
    EXPECT_THAT(support::error_of([&] { return operators(kMatmul, "m,t_us\n7,1\n", force); }),
                HasSubstr("which is no file of the set; it would be lost"));
    EXPECT_TRUE(fs::remove(at(name)));
  }
  EXPECT_THAT(rows(), HasSubstr("matmul,9,"));
  fs::remove(at("out/manifest.yaml"));
  EXPECT_THROW(operators(kMatmul, "m,t_us\n9,1\n", force), Error);
}

TEST_F(Import, GzipReadsAsTheTextInItAndRefusesToEndEarly) {
  write("map.yaml", kManifest + kMatmul);
  std::string csv = "m,t_us\n";
  for (int i = 1; i < 50000; ++i) csv += std::to_string(i) + ",1\n";
  write_gz(at("in.csv.gz"), csv);
  EXPECT_EQ(imported("in.csv.gz").rows, 49999);
  fs::remove_all(at("out"));
  fs::resize_file(at("in.csv.gz"), fs::file_size(at("in.csv.gz")) / 2);
  EXPECT_THAT(support::error_of([&] { return imported("in.csv.gz"); }),
              HasSubstr("in the middle of its gzip data"));
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST(Expression, IsWorkedOutFromLeftToRight) {
  const auto value = [](const char* text) {
    Expression expression = Expression::parse(text, "here");
    expression.bind({"m", "n"}, "here");
    return expression.evaluate({"12", "4"});
  };
  EXPECT_EQ(value("m*n"), 48);
  EXPECT_EQ(value("m / n * 2"), 6);  // not m / (n * 2)
  EXPECT_EQ(value("8/2/2"), 2);
  EXPECT_EQ(value("1.5*m"), 18);
  EXPECT_EQ(value("max(m, 2 * n) + 1"), 13);
}

TEST(Expression, RefusesWhatIsNoFormula) {
  for (const char* text : {"", " ", "m*", "*m", "m n", "2**3", "(m", "1e999", "1x", "m;n"}) {
    EXPECT_THROW(Expression::parse(text, "here"), Error) << text;
  }
}

const char* const kHlo =
    "HloModule add.1\nENTRY %add.1 (p: f32[64,256]) -> f32[64,256] {\n"
    "  %p = f32[64,256]{1,0:T(8,128)} parameter(0)\n"
    "  ROOT %add.1 = f32[64,256]{1,0:T(8,128)} add(%p, %p)\n}\n";

TEST_F(Import, AFileWithoutAHeaderAndWithUnitsInItsCellsIsRead) {
  write("map.yaml", std::string(kManifest) +
                        "tables:\n  - files: \"*/raw/*.csv\"\n    header: [m, time]\n    columns:\n"
                        "      op: {constant: matmul}\n      m: m\n      n: 8\n      k: 8\n"
                        "      runtime: {column: time, unit: ms}\n");
  write("raw/a.csv", "16, 0.5ms\n32, 2 ms\n");
  write("other.csv", "not, read\n");
  EXPECT_EQ(import_operators({folder_.path()}, at("map.yaml"), options()).rows, 2);
  EXPECT_EQ(rows(), "op,m,n,k,runtime_ns\nmatmul,16,8,8,500000\nmatmul,32,8,8,2000000\n");
}

TEST_F(Import, TheManifestNamesTheDevicesThatHaveRows) {
  const std::string mapping =
      "devices: {A: tpu_v3, B: tpu_v2}\n" + table_of(kAddInNs + "; device: card");
  EXPECT_EQ(operators(mapping, "n,card,t\n8,B,5\n", options()).rows, 1);
  EXPECT_THAT(read_measurement_set(at("out")).manifest.devices, ElementsAre(Pair("B", "tpu_v2")));
}

TEST_F(Import, TileRunsTakeTheirKernelsAlong) {
  write("map.yaml", kManifest);
  write("a.hlo", kHlo);
  write("unused.hlo", kHlo);
  write("runs.csv",
        "file,config_index,error,compute_time_ns,output_bounds,family,compiler_cycles\n"
        "a.hlo,0,0,500,4 2,net,410\na.hlo,1,1,0,8 2,net,\nunused.hlo,2,0,700,,net,\n"
        "a.hlo,3,0,900,8 1,net,820\n");
  const ImportReport report = imported("runs.csv");
  EXPECT_EQ(report.rows, 2);
  EXPECT_THAT(report.left_out, ElementsAre(Pair("no bounds: the run has no tile", 1),
                                           Pair("the run failed (column 'error')", 1)));
  const MeasurementSet set = read_measurement_set(at("out"));
  ASSERT_EQ(set.rows.size(), 2u);
  EXPECT_EQ(set.rows[1].file, "kernels/a.hlo");
  EXPECT_THAT(set.rows[1].tile.output, ElementsAre(8, 1));
  EXPECT_DOUBLE_EQ(set.rows[1].runtime->value, 900e-9);
  EXPECT_EQ(set.rows[1].family, "net");
  EXPECT_EQ(set.table.cell(set.table.rows[1], "x_compiler_cycles"), "820");
  EXPECT_FALSE(fs::exists(at("out/kernels/unused.hlo")));
}

TEST_F(Import, ProgramsAndKernelsComeAlongWithTheirTable) {
  write("a.hlo", kHlo);
  const std::string mapping = table_of("program: hlo; runtime: {column: t, unit: ms}");
  EXPECT_EQ(operators(mapping, "hlo,t\na.hlo,2\n", options()).rows, 1);
  const MeasurementSet set = read_measurement_set(at("out"));
  EXPECT_EQ(set.rows.at(0).file, "kernels/a.hlo");
  EXPECT_TRUE(set.rows.at(0).is_program);
  fs::remove_all(at("out"));
  EXPECT_THAT(message(mapping, "hlo,t\n../a.hlo,2\n"), HasSubstr("or in a folder there"));
  EXPECT_THAT(message(mapping, "hlo,t\nabsent.hlo,2\n"), HasSubstr("in.csv:2: "));
  EXPECT_THAT(
      message(table_of("kernel: hlo; op: op; runtime: {column: t, unit: ms}"), "hlo,op,t\n"),
      HasSubstr("expected one of op, kernel and program"));
}

TEST_F(Import, TileRunsNameWhatIsWrongWithThem) {
  write("map.yaml", kManifest);
  write("a.hlo", kHlo);
  write("b.hlo", "not HLO");
  const std::vector<std::pair<const char*, const char*>> cases{
      {"a.hlo,5,4 x\n", "runs.csv:2: column 'output_bounds': got '4 x'"},
      {"a.hlo,5,4 0\n", "column 'output_bounds'"},
      {"a.hlo,fast,4 1\n", "column 'compute_time_ns': got 'fast'"},
      {"../a.hlo,5,4 1\n", "runs.csv:2: got '../a.hlo', expected an HLO file"},
      {"absent.hlo,5,4 1\n", "absent.hlo"},
      {"b.hlo,5,4 1\n", "b.hlo: got unknown contents"}};
  for (const auto& [row, expected] : cases) {
    write("runs.csv", std::string("file,compute_time_ns,output_bounds\n") + row);
    EXPECT_THAT(support::error_of([&] { return imported("runs.csv"); }), HasSubstr(expected));
    EXPECT_THAT(leftovers(), IsEmpty());
  }
}

const char* const kTuned =
    "tables:\n  - where: {not_empty: time_ms_mean}\n    fastest_of_equal: true\n    columns:\n"
    "      op: {constant: matmul}\n      m: 64\n      n: 64\n      k: 64\n"
    "      output_bounds: [by*ty, bx]\n      runtime: {column: time_ms_mean, unit: ms}\n"
    "      repeats: n_repeats\n    keep: [v]\n";

TEST_F(Import, OfConfigurationsThatCutTheSameTileTheFastestStays) {
  write("map.yaml", std::string(kManifest) + kTuned);
  write("cache.json", R"({"device_name": "x", "tune_params_keys": ["bx", "by", "ty", "v"],
    "tune_params": {"bx": [8]}, "cache": {
    "8,2,1,0": {"bx": 8, "by": 2, "ty": 1, "v": 0, "time": 3.0, "times": [2.5, 3.5]},
    "8,2,1,1": {"bx": 8, "by": 2, "ty": 1, "v": 1, "time": 2.0, "times": [2.0, 2.0]},
    "8,1,2,0": {"bx": 8, "by": 1, "ty": 2, "v": 0, "time": 2.5, "times": [2.5, 2.5]},
    "9,1,2,0": {"bx": 9, "by": 1, "ty": 2, "v": 0, "time": "InvalidConfig", "times": []},
    "9,1,1,0": {"bx": 9, "by": 1, "ty": 1, "v": 0, "time": 1.0, "times": [1.0, 1.0]}}})");
  const ImportReport report = imported("cache.json");
  EXPECT_EQ(rows(),
            "op,m,n,k,output_bounds,runtime_ns,repeats,x_v\n"
            "matmul,64,64,64,2 8,2000000,2,1\nmatmul,64,64,64,1 9,1000000,2,0\n");
  EXPECT_THAT(report.left_out, ElementsAre(Pair("column 'time_ms_mean' is empty", 1),
                                           Pair("slower than a run of the same work and tile", 2)));
}

TEST_F(Import, AKernelTunerCacheMayBeUnfinished) {
  write("map.yaml", std::string(kManifest) + kTuned);
  const std::string begun = R"({"tune_params_keys": ["bx", "by", "ty", "v"], "cache": {
    "8,2,1,0": {"bx": 8, "by": 2, "ty": 1, "v": 0, "time": 3.0, "times": [2.5, 3.5]})";
  for (const char* end : {"", ",", ",\n"}) {
    write("cache.json", begun + end);
    const ImportReport report = imported("cache.json");
    EXPECT_EQ(report.rows, 1);
    EXPECT_THAT(report.notes, ElementsAre(HasSubstr("not finished")));
    fs::remove_all(at("out"));
  }
  write("cache.json", begun + R"(, "9,2,1,0": {"bx": 9)");
  EXPECT_THROW(imported("cache.json"), Error);
}

TEST_F(Import, ADeviceThatIsToldComesBeforeThoseByFileName) {
  std::string by_name = kTuned;
  by_name.insert(by_name.find("      m: 64"), "      device: {file: {\"*RTX*\": rtx_3090}}\n");
  write("map.yaml", std::string(kManifest) + by_name);
  write("cache.json", R"({"tune_params_keys": ["bx", "by", "ty", "v"], "cache": {
    "8,2,1,0": {"bx": 8, "by": 2, "ty": 1, "v": 0, "time": 3.0, "times": [3.0]}}})");
  EXPECT_THROW(imported("cache.json"), Error);
  ImportOptions told = options();
  told.device = "a4000";
  imported("cache.json", told);
  EXPECT_EQ(read_measurement_set(at("out")).manifest.device, "a4000");
}

TEST_F(Import, FilesThatNeedAMappingSayIt) {
  ImportOptions told = options();
  told.device = "a4000";
  const std::pair<const char*, const char*> files[] = {
      {"cache.json", R"({"tune_params_keys": ["bx"], "cache": {}})"},
      {"sums.csv", "Time (%),Total Time (ns),Instances,Name\n50,10,1,gemm\n"}};
  for (const auto& [name, text] : files) {
    write(name, text);
    const std::string error =
        support::error_of([&] { return import_operators({at(name)}, "", told); });
    EXPECT_THAT(error, HasSubstr("--mapping")) << name;
  }
}

TEST_F(Import, AKernelTunerCacheMustBeOne) {
  write("map.yaml", std::string(kManifest) + kTuned);
  for (const char* text :
       {"", "[", "{}", "7", R"({"cache": {"a": {"time": 1}}})", R"({"tune_params_keys": ["bx"]})",
        R"({"tune_params_keys": ["bx", "by", "ty", "v"], "cache": {"a": {"bx": 1, "time": 1}}})",
        R"({"tune_params_keys": ["bx"], "cache": {"a": 5}})"}) {
    write("cache.json", text);
    EXPECT_THROW(imported("cache.json"), Error) << text;
    EXPECT_THAT(leftovers(), IsEmpty());
  }
}

}  // namespace
}  // namespace tilecast::measured
