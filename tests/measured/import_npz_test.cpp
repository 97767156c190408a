// NumPy archives: headers, orders, sizes, and TpuGraphs sets made of them. The archives are written
// here with libzip.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "measured/importers/importer.h"
#include "measured/importers/npz_reader.h"
#include "tests/measured/set_on_disk.h"

namespace tilecast::measured {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string npy(const std::string& dictionary, const std::string& data) {
  std::string text = dictionary + "\n";
  const auto low = static_cast<char>(text.size() & 255), high = static_cast<char>(text.size() >> 8);
  return std::string("\x93NUMPY\x01\x00", 8) + low + high + text + data;
}

template <class T>
std::string bytes(const std::vector<T>& values) {
  std::string text(values.size() * sizeof(T), '\0');
  std::memcpy(text.data(), values.data(), text.size());
  return text;
}

std::string header(const char* dtype, const char* shape, bool fortran = false) {
  return std::string("{'descr': '") + dtype +
         "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

using Arrays = std::map<std::string, std::string>;  // name -> .npy

void write_npz(const std::string& path, const Arrays& arrays) {
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  ASSERT_NE(archive, nullptr);
  for (const auto& [name, npy] : arrays) {
    zip_source_t* source = zip_source_buffer(archive, npy.data(), npy.size(), 0);
    zip_file_add(archive, (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

// Three nodes in a chain, two of them configurable, two runs.
Arrays small_graph() {
  return {{"node_opcode", npy(header("|u1", "(3,)"), bytes<std::uint8_t>({63, 2, 63}))},
          {"node_feat", npy(header("<f4", "(3, 2)", true), bytes<float>({1, 2, 3, 10, 20, 30.5}))},
          {"edge_index", npy(header("<i8", "(2, 2)"), bytes<std::int64_t>({1, 0, 2, 1}))},
          {"node_config_ids", npy(header("<i4", "(2,)"), bytes<std::int32_t>({2, 0}))},
          {"node_config_feat",
           npy(header("<f4", "(2, 2, 2)"), bytes<float>({1, 2, 3, 4, -1, 6, 7.5, 8}))},
          {"config_runtime", npy(header("<i8", "(2,)"), bytes<std::int64_t>({500, 900}))}};
}

class Npz : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& file) const {
    return folder_.path() + "/" + file;
  }
  ImportReport import(const Arrays& arrays, bool keep_going = false) const {
    folder_.write("m.yaml",
                  "name: t\nsource: a test\nlicence: none\ntiming: device\nhow_timed: by hand\n"
                  "device: tpu_v3\n");
    write_npz(at("g.npz"), arrays);
    ImportOptions options;
    options.output = at("out");
    options.keep_going = keep_going;
    return import_tpugraphs({at("g.npz")}, at("m.yaml"), options);
  }
  std::string refusal(const Arrays& arrays) const {
    try {
      static_cast<void>(import(arrays));
    } catch (const Error& error) {
      EXPECT_FALSE(std::filesystem::exists(at("out")));
      return error.what();
    }
    return "imported";
  }
  [[nodiscard]] std::string text(const std::string& file) const {
    std::ifstream in(at(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  SetOnDisk folder_;
};

TEST_F(Npz, AGraphWithLayoutsBecomesTables) {
  EXPECT_EQ(import(small_graph()).rows, 2);
  EXPECT_EQ(text("out/measurements.csv"),
            "graph,runtime_ns,x_normalizer_ns,x_config\ng,500,,1 2 3 4\ng,900,,-1 6 7.5 8\n");
  EXPECT_EQ(text("out/graphs/g.nodes.csv"),  // node_feat was column by column
            "node,opcode,config_node,feature_0,feature_1\n0,63,1,1,10\n1,2,,2,20\n2,63,0,3,30.5\n");
  EXPECT_EQ(text("out/graphs/g.edges.csv"), "edge_index_0,edge_index_1\n1,0\n2,1\n");
  EXPECT_THAT(text("out/manifest.yaml"), HasSubstr("subject: \"graph\""));
}

TEST_F(Npz, AGraphWithTilesKeepsItsNormalizers) {
  Arrays arrays = small_graph();
  arrays.erase("node_config_ids");
  arrays.erase("node_config_feat");
  arrays["config_feat"] = npy(header("<f4", "(2, 1)"), bytes<float>({4, 5}));
  arrays["config_runtime_normalizers"] =
      npy(header("<i8", "(2,)"), bytes<std::int64_t>({450, 451}));
  static_cast<void>(import(arrays));
  EXPECT_THAT(text("out/measurements.csv"), HasSubstr("g,500,450,4\ng,900,451,5\n"));
}

TEST_F(Npz, ArraysThatDoNotFitTogetherAreRefused) {
  const auto with = [&](const char* name, const std::string& array) {
    Arrays arrays = small_graph();
    arrays[name] = array;
    return refusal(arrays);
  };
  const std::string two = bytes<std::int64_t>({500, 900});
  EXPECT_THAT(with("edge_index", npy(header("<i8", "(1, 2)"), bytes<std::int64_t>({3, 0}))),
              HasSubstr("array 'edge_index': got 3, expected a node below 3"));
  EXPECT_THAT(with("edge_index", npy(header("<i8", "(1, 2)"), bytes<std::int64_t>({-1, 0}))),
              HasSubstr("got -1"));
  EXPECT_THAT(with("node_opcode", npy(header("|u1", "(2,)"), "ab")), HasSubstr("3 rows for 2"));
  EXPECT_THAT(with("config_runtime", npy(header("<i8", "(3,)"), two + two.substr(0, 8))),
              HasSubstr("array 'node_config_feat': shape (2, 2, 2), expected 3 dimensions"));
  EXPECT_THAT(with("node_config_ids", npy(header("<i8", "(1,)"), two.substr(8))),
              HasSubstr("got 900"));
  EXPECT_THAT(with("config_runtime", npy(header("<i8", "(2,)"), two + "x")),
              HasSubstr("bytes, expected"));
  EXPECT_THAT(with("config_runtime", npy(header("<i8", "(2,)"), two.substr(1))),
              HasSubstr("bytes, expected"));
  EXPECT_THAT(with("config_runtime", "no array"), HasSubstr("not a .npy array"));
  EXPECT_THAT(with("config_runtime", npy(header("<i8", "(2,)"), bytes<std::int64_t>({5, 0}))),
              HasSubstr("run 1: array 'config_runtime': got 0"));
  Arrays arrays = small_graph();
  arrays.erase("config_runtime");
  EXPECT_THAT(refusal(arrays), HasSubstr("array 'config_runtime' is missing"));
}

TEST_F(Npz, RunsWithoutATimeCanBeLeftOut) {
  Arrays arrays = small_graph();
  arrays["config_runtime"] = npy(header("<i8", "(2,)"), bytes<std::int64_t>({0, 900}));
  const ImportReport report = import(arrays, true);
  EXPECT_EQ(report.rows, 1);
  EXPECT_EQ(report.bad, 1);
  EXPECT_THAT(text("out/measurements.csv"), HasSubstr("\ng,900,,-1 6 7.5 8\n"));
}

TEST(NpyHeader, IsReadAsNumpyWritesIt) {
  const NpyHeader header =
      parse_npy_header("{'descr': '<f8', 'fortran_order': True, 'shape': (4, 5), }    \n", "here");
  EXPECT_EQ(header.kind, 'f');
  EXPECT_EQ(header.bytes, 8u);
  EXPECT_TRUE(header.fortran_order);
  EXPECT_THAT(header.shape, ElementsAre(4, 5));
  EXPECT_EQ(header.elements(), 20);
  EXPECT_EQ(
      parse_npy_header("{'descr': '|b1', 'fortran_order': False, 'shape': ()}", "h").elements(), 1);
}

TEST(NpyHeader, RefusesWhatItDoesNotKnowAndWhatWouldOverflow) {
  for (const char* text :
       {"", "{}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<U5', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|i8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,} ",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x"}) {
    EXPECT_THROW(static_cast<void>(parse_npy_header(text, "here")), Error) << text;
  }
}

}  // namespace
}  // namespace tilecast::measured
