// Rows become the right work, once; impossible times are found; predictions are summed.
#include "measured/samples.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <set>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "ir/text/hlo_parser.h"
#include "measured/physics.h"
#include "measured/splits.h"
#include "tests/measured/set_on_disk.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"
#include "tests/support/modules.h"

namespace tilecast::measured {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Samples : public testing::Test {
 protected:
  [[nodiscard]] SampleSet samples(const std::string& table, const SampleOptions& options = {}) {
    return samples_on(device_, table, options);
  }
  [[nodiscard]] SampleSet samples_on(const hwdesc::Device& device, const std::string& table,
                                     const SampleOptions& options = {}) {
    disk_.write("measurements.csv", table);
    return make_samples(read_measurement_set(disk_.path()), device, options);
  }
  [[nodiscard]] std::string message(const std::string& table) {
    return support::error_of([&] { return samples(table); }, "made");
  }

  SetOnDisk disk_;
  hwdesc::Device device_ = hwdesc::load_device("tpu_v3");
};

std::vector<int> lines(const SampleSet& samples) {
  std::vector<int> found;
  for (const Sample& sample : samples.samples) found.push_back(sample.line);
  return found;
}

TEST_F(Samples, OfRowsWithoutATimeComeOnlyWhenAskedFor) {
  disk_.write_manifest("quantities: {registers: {unit: registers, count: yes}}\n");
  const std::string table =
      "op,dtype,elements,runtime_ns,q_registers\nadd,f32,1000000,40000,3\nadd,f32,2000000,,5\n"
      "add,f32,3000000,1,7\nadd,f32,4000000,,9\n";
  const SampleSet timed = samples(table);
  EXPECT_THAT(lines(timed), ElementsAre(2)) << "line 4 is faster than light";
  EXPECT_THAT(timed.samples[0].quantities, ElementsAre(3.0F));
  const SampleSet all = samples(table, {.untimed = true});
  EXPECT_THAT(lines(all), ElementsAre(2, 3, 5));
  EXPECT_TRUE(std::isnan(all.samples[1].measured.value));
  EXPECT_THAT(all.samples[2].quantities, ElementsAre(9.0F));
}

TEST_F(Samples, OfASetWithoutTimesAreRefusedUnlessAskedFor) {
  disk_.write("manifest.yaml",
              "format: tilecast.measurements/1\nname: small\nsource: made up\nlicence: none\n"
              "timing: none\ndevice: tpu_v3\nquantities: {registers: {unit: registers}}\n");
  const std::string table = "op,dtype,elements,q_registers\nadd,f32,1000000,3\n";
  EXPECT_THAT(message(table), HasSubstr("holds no times (timing: none), only registers"));
  EXPECT_THAT(lines(samples(table, {.untimed = true})), ElementsAre(2));
}

TEST_F(Samples, OfEqualOperatorsShareTheirWork) {
  disk_.write_manifest("dtype: bf16\n");
  const SampleSet made = samples(
      "op,m,n,k,runtime_ns,output_bounds,class\n"
      "matmul,512,512,512,9000,,\nmatmul,512,512,512,9900,8 4,\nmatmul,700,512,512,9000,,\n"
      "matmul,512,512,512,9100,4 4,mine\n");
  EXPECT_THAT(made.faults, IsEmpty());
  ASSERT_THAT(made.works, SizeIs(3));
  EXPECT_EQ(made.samples[0].work, made.samples[1].work);
  const Workload& work = made.works[0];
  EXPECT_EQ(work.name, "matmul bf16 m=512 n=512 k=512");
  EXPECT_EQ(work.op_class, "matmul");
  EXPECT_EQ(made.works[1].family, "matmul bf16 m=512 n=512 k=512") << "700 is from 512 to 1023";
  EXPECT_EQ(made.works[2].op_class, "mine");
  EXPECT_EQ(made.works[2].fingerprint, work.fingerprint);
  EXPECT_NE(made.works[1].fingerprint, work.fingerprint);
  EXPECT_NEAR(work.parts.at(0).kernel.work().flops, 2.0 * 512 * 512 * 512, 1);
}

TEST_F(Samples, AreThoseOfTheDeviceOrOfWhatItCalibrates) {
  disk_.write_manifest("devices: {v2: tpu_v2, v3: tpu_v3}\n");
  const std::string table =
      "op,dtype,elements,runtime_ns,device\nadd,f32,1000000,40000,v2\nadd,f32,1000000,41000,v3\n"
      "add,f32,1000000,0,v3\nadd,f32,1000000,0,v2\n";
  EXPECT_THAT(lines(samples(table)), ElementsAre(3));
  EXPECT_EQ(samples(table).faults.at(0).line, 4);
  EXPECT_THAT(samples(table).faults, SizeIs(1));
  EXPECT_THAT(lines(samples_on(hwdesc::load_device("tpu_v2"), table)), ElementsAre(2));
  EXPECT_THAT(lines(samples_on(hwdesc::load_device("tpu_v4"), table)), IsEmpty());
  disk_.write("fitted.yaml",
              "extends: tpu_v3\nname: fitted\ncalibration: {matrix: 0.9, source: a fit}\n");
  const hwdesc::Device fitted = hwdesc::load_device(disk_.path() + "/fitted.yaml");
  const SampleSet made = samples_on(fitted, table);
  EXPECT_THAT(lines(made), ElementsAre(3));
  EXPECT_EQ(made.device, "fitted");
  EXPECT_EQ(made.measured_on, "tpu_v3");
}

TEST_F(Samples, OfASetWithOneDeviceAreAllOfThem) {
  disk_.write_manifest();
  const SampleSet made = samples_on(hwdesc::load_device("tpu_v4"),
                                    "op,dtype,elements,runtime_ns\nadd,f32,1000000,40000\n");
  EXPECT_THAT(lines(made), ElementsAre(2));
  EXPECT_EQ(made.measured_on, "tpu_v3");
}

TEST_F(Samples, KeepDispatchAndDeviceTimeApart) {
  disk_.write("manifest.yaml",
              "format: tilecast.measurements/1\nname: n\nsource: s\nlicence: l\ntiming: host\n"
              "device: tpu_v3\ndispatch: {add: 30 us}\n");
  const SampleSet made = samples(
      "op,dtype,elements,runtime_ns,dispatch_ns\n"
      "add,f32,1000000,140000,100000\nadd,f32,1000000,70000,\nmultiply,f32,1000000,170000,\n");
  ASSERT_THAT(made.samples, SizeIs(2)) << "equal work is a duplicate";
  EXPECT_NEAR(made.samples[0].measured.value, 40e-6, 1e-12);
  EXPECT_FALSE(made.samples[0].holds_dispatch);
  EXPECT_TRUE(made.samples[1].holds_dispatch);
  const std::vector<Prediction> answers = predict(made, analytical::AnalyticalModel(), device_);
  EXPECT_EQ(answers[0].dispatch.value, 0);
  EXPECT_EQ(answers[1].dispatch, device_.dispatch.host) << "no floor for multiply";
  EXPECT_EQ(answers[1].comparable(), answers[1].on_device + device_.dispatch.host);
  EXPECT_EQ(dispatch_of("add", made.manifest, device_), Seconds{30e-6});
  hwdesc::Device fitted = device_;
  fitted.calibration.dispatch["add"] = Seconds{7e-6};
  EXPECT_EQ(dispatch_of("add", made.manifest, fitted), Seconds{7e-6});
}

TEST_F(Samples, OfFilesAreTheirKernelsAndPrograms) {
  disk_.write_manifest();
  disk_.write("two.hlo", support::kTwoKernels);
  const SampleSet made = samples(
      "kernel,program,runtime_ns\n,two.hlo,50000\ntwo.hlo#turned,,20000\ntwo.hlo#doubled,,18000\n");
  ASSERT_THAT(made.works, SizeIs(3));
  EXPECT_EQ(made.works[0].op_class, "program");
  EXPECT_EQ(made.works[0].name, "two");
  EXPECT_THAT(made.works[0].parts, SizeIs(2));
  EXPECT_EQ(made.works[1].name, "turned");
  EXPECT_EQ(made.works[1].op_class, "transpose");
  EXPECT_EQ(made.works[2].op_class, "loop_fusion");
  EXPECT_EQ(made.works[2].family, "two");
  EXPECT_TRUE(made.works[2].parts[0].kernel.op(ir::OpId(0)).shape.layout->tiles.size() == 1)
      << "laid out for the device";
  const std::vector<Prediction> answers = predict(made, analytical::AnalyticalModel(), device_);
  EXPECT_EQ(answers[0].on_device, answers[2].on_device + answers[1].on_device);
  EXPECT_FALSE(answers[0].estimate);
  EXPECT_EQ(answers[1].estimate.value().time, answers[1].on_device);
}

TEST_F(Samples, SayWhereWorkCannotBeBuilt) {
  disk_.write_manifest();
  disk_.write("two.hlo", support::kTwoKernels);
  disk_.write("bad.hlo", "HloModule bad\n\nENTRY e {\n");
  EXPECT_THAT(message("kernel,runtime_ns\ntwo.hlo,1\n"),
              HasSubstr("measurements.csv:2: column 'kernel': two.hlo: 2 kernels, expected one"));
  EXPECT_THAT(message("kernel,runtime_ns\ntwo.hlo#turner,1\n"),
              HasSubstr("no kernel is called 'turner'; did you mean 'turned'?"));
  EXPECT_THAT(message("op,dtype,m,n,runtime_ns\nmatmul,bf16,1,1,1\n"),
              HasSubstr("measurements.csv:2: column 'k'"));
  EXPECT_THAT(message("op,runtime_ns\nmatmull,1\n"), HasSubstr("column 'op': got 'matmull'"));
  EXPECT_THAT(message("program,runtime_ns\nbad.hlo,1\n"),
              HasSubstr("measurements.csv:2: column 'program': "));
  EXPECT_THAT(message("op,dtype,m,n,k,runtime_ns\nmatmul,bf16,9000000000000000000,9,9,1\n"),
              HasSubstr("measurements.csv:2"));
  EXPECT_THAT(message("op,dtype,m,n,k,runtime_ns\nmatmul,bf16,99999999999999999999,9,9,1\n"),
              HasSubstr("measurements.csv:2: column 'm'"));
}

TEST_F(Samples, OfTrainingStepsAreAllTheirKernels) {
  disk_.write_manifest();
  const SampleSet made = samples(
      "op,dtype,layers,nodes,input,output,batch,devices,runtime_ns\n"
      "fc_training,bf16,4,256,512,128,1024,8,900000\n");
  ASSERT_THAT(made.works, SizeIs(1));
  EXPECT_EQ(made.works[0].op_class, "fc_training");
  EXPECT_GT(made.works[0].parts.size(), 3U);
  EXPECT_THAT(message("op,dtype,layers,nodes,input,output,batch,devices,runtime_ns\n"
                      "fc_training,bf16,4,256,512,128,1023,8,900000\n"),
              HasSubstr("measurements.csv:2"));
}

TEST_F(Samples, FasterThanLightAreReported) {
  disk_.write_manifest();
  constexpr double kFlops = 2.0 * 4096 * 4096 * 4096;
  const double light_ns = kFlops / device_.matrix_peak("bf16").value * 1e9;
  const auto table = [&](double share) {
    return fmt::format("op,dtype,m,n,k,runtime_ns\nmatmul,bf16,4096,4096,4096,{}\n",
                       share * light_ns);
  };
  EXPECT_THAT(samples(table(0.985)).faults, IsEmpty());
  const SampleSet made = samples(table(0.975));
  EXPECT_THAT(made.samples, IsEmpty());
  ASSERT_THAT(made.faults, SizeIs(1));
  EXPECT_EQ(made.faults[0].kind, RowFault::Kind::kFasterThanLight);
  EXPECT_EQ(made.faults[0].line, 2);
  EXPECT_THAT(made.faults[0].message, HasSubstr(fmt::format("{:.4g} us", light_ns / 1e3)));
  EXPECT_THAT(samples(table(0.975), {.check_physics = false}).samples, SizeIs(1));
}

TEST_F(Samples, OnMachinesWithCachesMayHaveTheirArraysThere) {
  disk_.write_manifest();
  const hwdesc::Device gpu = hwdesc::load_device("a100_sxm_40gb");
  const hwdesc::MemoryLevel& cache = gpu.memory[1];
  const auto light = [&](std::int64_t elements) {
    const SampleSet made =
        samples_on(gpu, fmt::format("op,dtype,elements,runtime_ns\ncopy,f32,{},1e9\n", elements),
                   {.check_physics = false});
    return light_time(made.works[0], gpu).value;
  };
  const double main = gpu.main_memory().bandwidth.value;
  constexpr double kSmall = 1 << 20;  // elements; 8 bytes each, read and written
  EXPECT_NEAR(light(1 << 20), 8 * kSmall / cache.bandwidth.value, 1e-12);
  const double large = 1 << 28;
  EXPECT_NEAR(light(1 << 28), (8 * large - cache.capacity.value) / main, 1e-9);
  const SampleSet tpu =
      samples("op,dtype,elements,runtime_ns\ncopy,f32,1048576,1e9\n", {.check_physics = false});
  EXPECT_NEAR(light_time(tpu.works[0], device_).value,
              8 * kSmall / device_.main_memory().bandwidth.value, 1e-12);
}

TEST_F(Samples, OfConvolutionsMayUseWinograd) {
  disk_.write_manifest();
  const hwdesc::Device gpu = hwdesc::load_device("a100_sxm_40gb");
  const auto light = [&](const hwdesc::Device& device, int stride) {
    const SampleSet made =
        samples_on(device,
                   fmt::format("op,dtype,n,h,w,ci,co,kh,kw,stride,padding,runtime_ns\n"
                               "conv2d,f32,32,{0},{0},256,256,3,3,{1},1,1e9\n",
                               56 * stride, stride),
                   {.check_physics = false});
    return light_time(made.works[0], device).value;
  };
  EXPECT_NEAR(light(gpu, 2) / light(gpu, 1), 4, 0.2) << "only the padding differs";
  EXPECT_NEAR(light(device_, 2) / light(device_, 1), 1, 0.05)
      << "not on machines that XLA compiles for";
}

// Rows of matmuls and softmaxes with `factor` x the analytical time, +- 10 %.
class Corrupted : public Samples, public testing::WithParamInterface<int> {
 protected:
  struct Row {
    std::string cells;
    double ns;
  };
  std::vector<Row> clean_rows(double factor, std::mt19937_64& random) {
    disk_.write_manifest("dtype: bf16\n");
    std::vector<Row> rows;
    std::string table = "op,m,n,k,rows,columns,runtime_ns\n";
    for (int i = 0; i < 40; ++i) {
      const auto size = [&] { return 64 << (random() % 7); };
      rows.push_back({i % 2 == 0 ? fmt::format("matmul,{},{},{},,", size() + i, size(), size())
                                 : fmt::format("softmax,,,,{},{}", size() + i, size()),
                      0});
      table += rows.back().cells + ",1e9\n";
    }
    const SampleSet made = samples(table, {.check_physics = false});
    const std::vector<Prediction> answers = predict(made, analytical::AnalyticalModel(), device_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double noise = 0.9 + 0.2 * static_cast<double>(random() % 1000) / 1000;
      rows[i].ns = factor * noise * answers.at(i).on_device.value * 1e9;
    }
    return rows;
  }
};

TEST_P(Corrupted, RowsAreAllListedAndNoOtherIs) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  const std::vector<Row> rows = clean_rows(1.3, random);
  std::string table = "op,m,n,k,rows,columns,runtime_ns\n";
  std::set<int> corrupted;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string time = fmt::format("{}", rows[i].ns);
    if (random() % 5 == 0) {
      corrupted.insert(static_cast<int>(i) + 2);
      const std::array<std::string, 6> wrong{"0",
                                             "-" + time,
                                             "",
                                             fmt::format("{}", rows[i].ns * 1e3),
                                             fmt::format("{}", rows[i].ns / 1e3),
                                             "nan"};
      time = wrong[random() % wrong.size()];
    }
    table += rows[i].cells + "," + time + "\n";
  }
  std::set<int> listed;
  const SampleSet made = samples(table);
  for (const RowFault& fault : made.faults) listed.insert(fault.line);
  EXPECT_EQ(listed, corrupted);
  EXPECT_EQ(made.samples.size() + corrupted.size(), rows.size());
}
INSTANTIATE_TEST_SUITE_P(TwentyPercent, Corrupted, testing::Range(0, 8));

TEST_F(Corrupted, UnitSlipsAreNamedWithTheSuspectedUnit) {
  std::mt19937_64 random(11);
  const std::vector<Row> rows = clean_rows(1.0, random);
  const std::array<double, 4> factors{1e3, 1e6, 1e-3, 1e-6};
  std::string table = "op,m,n,k,rows,columns,runtime_ns\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    table +=
        fmt::format("{},{}\n", rows[i].cells, rows[i].ns * (i < factors.size() ? factors[i] : 1));
  }
  const SampleSet made = samples(table);
  ASSERT_THAT(made.faults, SizeIs(4));
  for (const RowFault& fault : made.faults) {
    EXPECT_EQ(fault.kind, RowFault::Kind::kUnitSlip) << fault.message;
  }
  EXPECT_THAT(made.faults[0].message, HasSubstr("1000 x too long"));
  EXPECT_THAT(made.faults[1].message, HasSubstr("1e6 x too long"));
  EXPECT_THAT(made.faults[2].message, HasSubstr("1000 x too short"));
  EXPECT_THAT(made.faults[3].message, HasSubstr("1e6 x too short"));
}

TEST_F(Corrupted, ASetWhollyInTheWrongUnitIsReportedToo) {
  std::mt19937_64 random(12);
  std::string table = "op,m,n,k,rows,columns,runtime_ns\n";
  for (const Row& row : clean_rows(1.0, random)) {
    table += fmt::format("{},{}\n", row.cells, row.ns * 1e3);
  }
  EXPECT_THAT(samples(table).samples, IsEmpty());
}

TEST_F(Samples, OfTheExampleThatIsShippedHaveNoFaults) {
  const MeasurementSet set =
      read_measurement_set(support::source_dir().string() + "/configs/measurements/example_matmul");
  const SampleSet made = make_samples(set, device_);
  EXPECT_THAT(made.faults, IsEmpty());
  ASSERT_THAT(made.samples, SizeIs(16));
  const std::vector<Prediction> answers = predict(made, analytical::AnalyticalModel(), device_);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i].answered);
    const double ratio = made.samples[i].measured / answers[i].on_device;
    EXPECT_NEAR(ratio, 1.15, 0.15) << "as its manifest says";
  }
}

// Counts its queries.
class Counting final : public analytical::CostModel {
 public:
  std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override {
    asked += queries.size();
    return analytical::AnalyticalModel().estimate(queries, device);
  }
  mutable std::atomic<std::size_t> asked = 0;
};

TEST_F(Samples, AskAboutEachKernelAndTileOnce) {
  disk_.write_manifest("dtype: bf16\n");
  const SampleSet made = samples(
      "op,batch,m,n,k,runtime_ns,output_bounds\n"
      "matmul,,512,512,512,9000,\nmatmul,,512,512,512,9900,8 4\nmatmul,1,512,512,512,9100,8 4\n"
      "matmul,,512,512,512,9100,999 999 999\n");
  ASSERT_THAT(made.samples, SizeIs(4));
  const Counting model;
  const std::vector<Prediction> answers = predict(made, model, device_);
  EXPECT_EQ(model.asked, 3U);
  EXPECT_EQ(PredictionPlan(made).questions(), 3U);
  EXPECT_EQ(answers[1].on_device, answers[2].on_device);
  EXPECT_FALSE(answers[3].answered) << "a tile of another rank";
  const analytical::KernelAnalysis analysis(made.works[0].parts[0].kernel, device_);
  EXPECT_EQ(answers[0].on_device, analysis.estimate_best().time);
  EXPECT_EQ(answers[1].on_device,
            std::get<analytical::Estimate>(analysis.estimate(made.samples[1].tile)).time);
}

// Predicts the first parameter in seconds.
class FirstParameter final : public analytical::CostModel {
 public:
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries, const hwdesc::Device&) const override {
    std::vector<std::optional<analytical::Estimate>> answers(queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (queries[i].parameters.empty()) continue;
      answers[i].emplace().time = Seconds{queries[i].parameters[0]};
    }
    return answers;
  }
};

TEST_F(Samples, OfOtherParametersAreOtherQuestions) {
  disk_.write_manifest("dtype: bf16\n");
  const SampleSet made = samples(
      "op,m,n,k,runtime_ns,output_bounds,p_a,p_b\n"
      "matmul,512,512,512,9000,8 4,3,\nmatmul,512,512,512,9100,8 4,5,\n"
      "matmul,512,512,512,9200,8 4,3,1\nmatmul,512,512,512,9300,8 8,3,\n");
  EXPECT_THAT(made.parameter_names, ElementsAre("a", "b"));
  ASSERT_THAT(made.samples, SizeIs(4));
  EXPECT_EQ(PredictionPlan(made).questions(), 4U);
  const std::vector<Prediction> answers = predict(made, FirstParameter(), device_);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].on_device.value, made.samples[i].parameters[0]) << i;
  }
}

TEST_F(Samples, WithoutAParameterAreOneQuestion) {
  disk_.write_manifest("dtype: bf16\n");
  SampleSet made =
      samples("op,m,n,k,runtime_ns,p_a\nmatmul,512,512,512,9000,\nmatmul,512,512,512,9100,1\n");
  made.samples.push_back(made.samples[0]);
  EXPECT_EQ(PredictionPlan(made).questions(), 2U) << "no parameter is equal to no parameter";
}

TEST_F(Samples, PredictTheSameOnAnyNumberOfThreads) {
  disk_.write_manifest("dtype: bf16\n");
  std::string table = "op,m,n,k,runtime_ns,output_bounds\n";
  for (int i = 0; i < 300; ++i) {
    table += fmt::format("matmul,{},512,512,90000,{} {}\n", 512 + i % 7, 1 + i % 64, 1 + i / 64);
  }
  const SampleSet made = samples(table, {.jobs = 4});
  const std::vector<Prediction> one = predict(made, analytical::AnalyticalModel(), device_, 1);
  const std::vector<Prediction> many = predict(made, analytical::AnalyticalModel(), device_, 5);
  ASSERT_EQ(one.size(), made.samples.size());
  ASSERT_EQ(many.size(), one.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].answered, many[i].answered);
    EXPECT_EQ(one[i].on_device, many[i].on_device);
  }
}

ir::Kernel fusion(const std::string& body) {
  const std::string text = "HloModule m, is_scheduled=true\n\n" + body;
  const ir::Module module = ir::parse_hlo(base::SourceText("m.hlo", text));
  return ir::make_program(module).kernels().front().kernel;
}

TEST(OpClass, OfAFusionIsWhatDominatesIt) {
  EXPECT_EQ(op_class(fusion(R"(
%f (a: f32[64,32], b: f32[32,16]) -> f32[64,16] {
  %a = f32[64,32]{1,0} parameter(0)
  %b = f32[32,16]{1,0} parameter(1)
  %d = f32[64,16]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %n = f32[64,16]{1,0} negate(%d)
}

ENTRY %e (a: f32[64,32], b: f32[32,16]) -> f32[64,16] {
  %a = f32[64,32]{1,0} parameter(0)
  %b = f32[32,16]{1,0} parameter(1)
  ROOT %k = f32[64,16]{1,0} fusion(%a, %b), kind=kOutput, calls=%f
}
)")),
            "matmul_fusion");
  const auto reducing = [](const std::string& reduced) {
    return fmt::format(R"(
%add (x: f32[], y: f32[]) -> f32[] {{
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}}

%f (a: f32[64,32], b: f32[{0},32]) -> (f32[64,32], f32[32]) {{
  %a = f32[64,32]{{1,0}} parameter(0)
  %b = f32[{0},32]{{1,0}} parameter(1)
  %n = f32[64,32]{{1,0}} negate(%a)
  %z = f32[] constant(0)
  %r = f32[32]{{0}} reduce(%b, %z), dimensions={{0}}, to_apply=%add
  ROOT %t = (f32[64,32]{{1,0}}, f32[32]{{0}}) tuple(%n, %r)
}}

ENTRY %e (a: f32[64,32], b: f32[{0},32]) -> (f32[64,32], f32[32]) {{
  %a = f32[64,32]{{1,0}} parameter(0)
  %b = f32[{0},32]{{1,0}} parameter(1)
  ROOT %k = (f32[64,32]{{1,0}}, f32[32]{{0}}) fusion(%a, %b), kind=kLoop, calls=%f
}}
)",
                       reduced);
  };
  EXPECT_EQ(op_class(fusion(reducing("16"))), "reduce_fusion") << "a quarter of the largest array";
  EXPECT_EQ(op_class(fusion(reducing("15"))), "loop_fusion");
}

// PyTorch computes f32 products in full precision on machines described with TF32.
TEST_F(Samples, F32ProductsOnAMachineThatRoundsThemAreNamed) {
  disk_.write_manifest();
  const auto note = [&](const std::string& device, const std::string& rows) {
    const hwdesc::Device machine = hwdesc::load_device(device);
    return rounding_note(samples_on(machine, "op,dtype,m,n,k,elements,runtime_ns\n" + rows),
                         machine);
  };
  const std::string f32 = "matmul,f32,2048,2048,2048,,900000\nadd,f32,,,,4096,30000\n";
  EXPECT_THAT(note("h100_sxm", f32),
              HasSubstr("small: 1 rows multiply f32, which h100_sxm rounds"));
  EXPECT_NE(note("a100_sxm_40gb", f32), "");
  for (const char* full :
       {"a100_pcie_40gb", "p100_pcie", "t4", "mi250x", "cpu_generic", "tpu_v3"}) {
    EXPECT_EQ(note(full, f32), "") << full;
  }
  EXPECT_EQ(note("h100_sxm", "matmul,bf16,2048,2048,2048,,900000\nadd,f32,,,,4096,30000\n"), "");
}

// --- Splits are partitions that never have one group on both sides, and are equal on all
// platforms.

using Keys = std::vector<std::string>;

// Every sample on exactly one side, ascending.
void expect_partition(const Split& split, std::size_t n) {
  EXPECT_TRUE(std::ranges::is_sorted(split.fit));
  EXPECT_TRUE(std::ranges::is_sorted(split.score));
  std::vector<std::size_t> all = split.fit;
  all.insert(all.end(), split.score.begin(), split.score.end());
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), n);
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(all[i], i);
}

void expect_no_leak(const Split& split, const Keys& keys) {
  std::set<std::string> fitted;
  for (const std::size_t i : split.fit) fitted.insert(keys[i]);
  for (const std::size_t i : split.score) EXPECT_FALSE(fitted.contains(keys[i])) << keys[i];
}

TEST(Splits, NeverLeakAGroupAndScoreEverySampleOnce) {
  std::mt19937_64 random(3);
  constexpr int kTries = 200;
  for (int t = 0; t < kTries; ++t) {
    const std::size_t n = random() % 60 + 4;
    const std::size_t groups = random() % n + 2;
    Keys keys;
    for (std::size_t i = 0; i < n; ++i) keys.push_back(std::to_string(random() % groups));
    const std::size_t distinct = std::set<std::string>(keys.begin(), keys.end()).size();
    if (distinct < 2) continue;
    const std::size_t folds = random() % (distinct - 1) + 2;
    std::vector<int> scored(n);
    for (const Split& split : k_fold(keys, folds, random())) {
      expect_partition(split, n);
      expect_no_leak(split, keys);
      EXPECT_THAT(split.score, ::testing::Not(IsEmpty()));
      for (const std::size_t i : split.score) ++scored[i];
    }
    EXPECT_THAT(scored, ::testing::Each(1));
    EXPECT_THAT(leave_one_out(keys), SizeIs(distinct));
    const double share = 0.01 + 0.98 * static_cast<double>(random() % 100) / 100;
    const Split held = held_out(keys, share, random());
    expect_partition(held, n);
    expect_no_leak(held, keys);
    EXPECT_THAT(held.fit, ::testing::Not(IsEmpty()));
    EXPECT_THAT(held.score, ::testing::Not(IsEmpty()));
  }
}

TEST(Splits, FoldsOfSingleSamplesDifferInSizeByOneAtMost) {
  Keys keys;
  for (int i = 0; i < 23; ++i) keys.push_back("g" + std::to_string(i));
  for (const Split& split : k_fold(keys, 5, 1)) {
    EXPECT_GE(split.score.size(), 4U);
    EXPECT_LE(split.score.size(), 5U);
  }
}

TEST(Splits, AreTheSameOnEveryPlatform) {  // mt19937_64 is specified by the standard
  const Keys keys{"a", "b", "c", "d", "e", "f"};
  const Split first = held_out(keys, 0.5, 42);
  EXPECT_EQ(held_out(keys, 0.5, 42).score, first.score);
  std::set<std::vector<std::size_t>> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) seen.insert(held_out(keys, 0.5, seed).score);
  EXPECT_GT(seen.size(), 5U) << "seeds matter";
}

TEST(Splits, LeaveOneOutFollowsTheOrderOfTheKeys) {
  const std::vector<Split> splits = leave_one_out(Keys{"b", "a", "b", "c"});
  ASSERT_THAT(splits, SizeIs(3));
  EXPECT_THAT(splits[0].score, ElementsAre(1));
  EXPECT_THAT(splits[1].score, ElementsAre(0, 2));
  EXPECT_THAT(splits[1].fit, ElementsAre(1, 3));
}

TEST(Splits, TheLargestOfEachStratumAreHeldOut) {
  const std::vector<double> size{5, 1, 3, 2, 4, 100, 700, 300, 300, 7};
  const Keys stratum{"a", "a", "a", "a", "a", "b", "b", "b", "b", "c"};
  // a: ceil(0.6 x 5) = 3 fitted, 4 and 5 scored. b: ceil(0.6 x 4) = 3 fitted, 700 scored. c:
  // fitted.
  EXPECT_THAT(largest_held_out(size, stratum, 0.4).score, ElementsAre(0, 4, 6));
  // b: 2 would be fitted, but the other 300 stays with its equal.
  EXPECT_THAT(largest_held_out(size, stratum, 0.5).score, ElementsAre(0, 4, 6));
}

TEST(Splits, SampledRowsAreAPartitionOfTheRowsGiven) {
  const std::vector<std::size_t> rows{3, 5, 8, 13, 21};
  const Split split = sampled_rows(rows, 2, 9);
  EXPECT_THAT(split.fit, SizeIs(2));
  std::vector<std::size_t> all = split.fit;
  all.insert(all.end(), split.score.begin(), split.score.end());
  EXPECT_THAT(all, ::testing::UnorderedElementsAreArray(rows));
  EXPECT_EQ(sampled_rows(rows, 2, 9).fit, split.fit);
}

TEST(Splits, EveryRowIsDrawnAboutEquallyOften) {
  const std::vector<std::size_t> rows{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<int> drawn(rows.size());
  constexpr int kDraws = 5000;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    for (const std::size_t i : sampled_rows(rows, 3, seed).fit) ++drawn[i];
  }
  for (const int count : drawn) EXPECT_NEAR(count, 0.3 * kDraws, 5 * 32);  // 5 sigma for 0.3 x 5000
}

TEST(Splits, RefuseWhatCannotBeSplit) {
  const Keys one{"a", "a"};
  const Keys two{"a", "b"};
  EXPECT_THROW((void)k_fold(two, 3, 1), Error);
  EXPECT_THROW((void)k_fold(two, 1, 1), Error);
  EXPECT_THROW((void)leave_one_out(one), Error);
  EXPECT_THROW((void)held_out(one, 0.5, 1), Error);
  EXPECT_THROW((void)held_out(two, 0, 1), Error);
  EXPECT_THROW((void)held_out(two, 1, 1), Error);
  EXPECT_THROW((void)held_out(two, std::nan(""), 1), Error);
  const std::vector<std::size_t> rows{1, 2};
  EXPECT_THROW((void)sampled_rows(rows, 2, 1), Error);
  EXPECT_THROW((void)sampled_rows(rows, 0, 1), Error);
  EXPECT_THROW((void)k_fold(Keys{}, 2, 1), Error);
}
}  // namespace
}  // namespace tilecast::measured
