#include "measured/op_kernels.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "measured/csv.h"
#include "tests/support/errors.h"

namespace tilecast::measured {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kFloatPrecision = 1e-6;  // work counts are 32-bit floats

ir::Kernel kernel_of(const std::string& columns, const std::string& row) {
  const CsvTable table = read_csv(base::SourceText("ops.csv", columns + "\n" + row + "\n"));
  return operator_kernel(table, table.rows.at(0), {.all_reduce_devices = 8});
}

std::string error_of(const std::string& columns, const std::string& row) {
  return support::error_of([&] { return kernel_of(columns, row); });
}

void expect_flops(const ir::Kernel& kernel, double flops) {
  EXPECT_NEAR(kernel.work().flops, flops, kFloatPrecision * flops) << kernel.name();
}

constexpr const char* kConvColumns = "op,dtype,n,h,w,ci,co,kh,kw,stride,padding";

TEST(OperatorKernel, MatmulDoesTwoFlopsPerMultiplyAdd) {
  const ir::Kernel kernel = kernel_of("op,dtype,batch,m,n,k", "matmul,bf16,4,64,96,128");
  expect_flops(kernel, 2.0 * 4 * 64 * 96 * 128);
  EXPECT_EQ(kernel.opcode(), ir::Opcode::kDot);
  EXPECT_EQ(kernel.work().bytes_accessed, 2 * 4 * (64 * 128 + 128 * 96 + 64 * 96));
  expect_flops(kernel_of("op,dtype,m,n,k", "matmul,bf16,64,96,128"), 2.0 * 64 * 96 * 128);
}

TEST(OperatorKernel, MatmulMayHaveItsOperandsTransposed) {
  for (const std::int64_t batch : {1, 4}) {
    for (const std::string which : {"lhs", "rhs", "both"}) {
      const ir::Kernel kernel =
          kernel_of("op,dtype,batch,m,n,k,transposed",
                    "matmul,f32," + std::to_string(batch) + ",64,96,128," + which);
      expect_flops(kernel, 2.0 * static_cast<double>(batch) * 64 * 96 * 128);
      const auto stored = [&](std::size_t operand) {
        const ir::Dims& dims = kernel.op(kernel.parameters()[operand]).shape.dims;
        return ir::Dims(dims.end() - 2, dims.end());
      };
      EXPECT_EQ(stored(0), which == "rhs" ? (ir::Dims{64, 128}) : (ir::Dims{128, 64}));
      EXPECT_EQ(stored(1), which == "lhs" ? (ir::Dims{128, 96}) : (ir::Dims{96, 128}));
    }
  }
  EXPECT_THAT(error_of("op,dtype,m,n,k,transposed", "matmul,f32,64,96,128,up"),
              HasSubstr("ops.csv:2: column 'transposed': got 'up'"));
}

TEST(OperatorKernel, MatmulMayStateTheBlocksOfItsKernel) {
  const ir::Kernel kernel = kernel_of("op,dtype,m,n,k,block", "matmul,f8e4m3fn,8,8,8,128x64");
  ASSERT_TRUE(kernel.gpu_code());
  EXPECT_EQ(kernel.gpu_code()->tile, (ir::Dims{128, 64}));
  EXPECT_FALSE(kernel_of("op,dtype,m,n,k,block", "matmul,f32,8,8,8,").gpu_code());
  EXPECT_THAT(error_of("op,dtype,m,n,k,block", "matmul,f32,8,8,8,128"),
              HasSubstr("ops.csv:2: column 'block': expected rows and columns, as 128x64"));
}

TEST(OperatorKernel, MatmulSaysItsPrecision) {
  const ir::Kernel kernel = kernel_of("op,dtype,m,n,k,precision", "matmul,f32,8,8,8,highest");
  const auto* dot = kernel.op(kernel.outputs()[0]).get<ir::DotAttrs>();
  ASSERT_NE(dot, nullptr);
  EXPECT_EQ(dot->precision, (std::vector<std::string>{"highest", "highest"}));
  EXPECT_THAT(error_of("op,dtype,m,n,k,precision", "matmul,f32,8,8,8,low"),
              HasSubstr("ops.csv:2: column 'precision': got 'low', expected highest or nothing"));
}

TEST(OperatorKernel, AttentionIsFused) {
  const std::string columns = "op,dtype,batch,heads,kv_heads,q_len,kv_len,head_dim,causal,window";
  const auto flops = [&](const std::string& row) {
    return kernel_of(columns, "attention,bf16,2,8,2," + row).custom_call_cost()->flops;
  };
  EXPECT_EQ(flops("64,,32,,"), 2.0 * 2 * 8 * 64 * 64 * 2 * 32);
  EXPECT_EQ(flops("1,96,32,1,0"), 2.0 * 2 * 8 * 96 * 2 * 32);
  EXPECT_EQ(flops("64,64,32,1,"), 2.0 * 2 * 8 * (64 * 65 / 2) * 2 * 32);
  EXPECT_EQ(flops("1,96,32,1,16"), 2.0 * 2 * 8 * 16 * 2 * 32);
  EXPECT_THAT(error_of(columns, "attention,bf16,2,8,3,64,64,32,1,"),
              HasSubstr("column 'kv_heads': got 3, expected a divisor of 8 heads"));
  EXPECT_THAT(error_of(columns, "attention,bf16,2,8,2,64,64,32,perhaps,"),
              HasSubstr("column 'causal': got 'perhaps', expected 1 or 0"));
}

TEST(OperatorKernel, AttentionThatWritesItsCacheCopiesTheKeysOfItsQueriesBefore) {
  const auto launches = [](const std::string& rest) {
    const std::string columns =
        "op,dtype,kv_dtype,batch,heads,kv_heads,q_len,kv_len,head_dim,value_dim,writes_kv";
    const std::string row = "attention,bf16," + rest;
    const CsvTable table = read_csv(base::SourceText("ops.csv", columns + "\n" + row + "\n"));
    return operator_launches(table, table.rows.at(0), {});
  };
  EXPECT_EQ(launches("bf16,3,8,2,5,96,32,64,0").size(), 1U);
  for (const auto& [type, opcode] :
       {std::pair{"bf16", ir::Opcode::kCopy}, std::pair{"f8e4m3fn", ir::Opcode::kConvert}}) {
    const auto both = launches(std::string(type) + ",3,8,2,5,96,32,64,1");
    ASSERT_EQ(both.size(), 2U);
    const ir::Op& written = both[0].op(both[0].outputs()[0]);
    EXPECT_EQ(written.opcode, opcode);
    EXPECT_EQ(element_count(written.shape), 3 * 2 * 5 * (32 + 64));
    EXPECT_EQ(written.shape.dtype, *ir::parse_dtype(type));
    EXPECT_TRUE(both[1].custom_call_cost().has_value());
  }
}

TEST(OperatorKernel, ConvolutionWithoutPaddingDoesTheFormula) {
  const ir::Kernel kernel = kernel_of(kConvColumns, "conv2d,f32,2,11,9,16,32,3,3,2,0");
  const std::int64_t oh = (11 - 3) / 2 + 1, ow = (9 - 3) / 2 + 1;
  expect_flops(kernel, 2.0 * 2 * oh * ow * 3 * 3 * 16 * 32);
  EXPECT_EQ(kernel.op(kernel.outputs()[0]).shape.dims, (ir::Dims{2, oh, ow, 32}));
}

TEST(OperatorKernel, SamePaddingKeepsTheSizeAtStrideOne) {
  const ir::Kernel kernel = kernel_of(kConvColumns, "conv2d,f32,1,14,14,8,8,3,3,1,same");
  EXPECT_EQ(kernel.op(kernel.outputs()[0]).shape.dims, (ir::Dims{1, 14, 14, 8}));
}

TEST(OperatorKernel, GradientsHaveTheShapesOfTheArraysTheyAreGradientsOf) {
  for (const char* padding : {"0", "1", "same"}) {
    for (const char* stride : {"1", "2", "3"}) {
      const std::string rest = std::string(",f32,2,13,11,16,32,5,3,") + stride + "," + padding;
      const ir::Kernel input = kernel_of(kConvColumns, "conv2d_grad_input" + rest);
      const ir::Kernel weight = kernel_of(kConvColumns, "conv2d_grad_weight" + rest);
      EXPECT_EQ(input.op(input.outputs()[0]).shape.dims, (ir::Dims{2, 13, 11, 16})) << rest;
      EXPECT_EQ(weight.op(weight.outputs()[0]).shape.dims, (ir::Dims{5, 3, 16, 32})) << rest;
      // All three do the same multiplications, not counting padding and dilation.
      const double forward = kernel_of(kConvColumns, "conv2d" + rest).work().flops;
      expect_flops(input, forward);
      expect_flops(weight, forward);
    }
  }
}

TEST(OperatorKernel, SoftmaxIsOneFusionWithOneExponentialPerElement) {
  const double rows = 128, columns = 512;
  const ir::Kernel kernel = kernel_of("op,dtype,rows,columns", "softmax,f32,128,512");
  EXPECT_EQ(kernel.opcode(), ir::Opcode::kFusion);
  EXPECT_EQ(kernel.work().transcendentals, rows * columns);
  // subtract, divide, and two reductions of columns - 1 steps per row
  expect_flops(kernel, 2 * rows * columns + 2 * rows * (columns - 1));
  EXPECT_EQ(kernel.parameters().size(), 1U);
  EXPECT_EQ(kernel.work().bytes_accessed, 2 * 4 * rows * columns);
}

TEST(OperatorKernel, HalfPrecisionIsReadAndWrittenAsItIsAndComputedInSinglePrecision) {
  const ir::Kernel kernel = kernel_of("op,dtype,elements", "gelu,bf16,4096");
  EXPECT_EQ(kernel.op(kernel.outputs()[0]).shape.dtype, ir::DType::kBF16);
  EXPECT_EQ(kernel.work().bytes_accessed, 2 * 2 * 4096);
  for (const ir::Op& op : kernel.ops()) {
    if (op.opcode == ir::Opcode::kTanh) {
      EXPECT_EQ(op.shape.dtype, ir::DType::kF32);
    }
  }
  EXPECT_EQ(kernel.work().transcendentals, 4096);
}

TEST(OperatorKernel, LayernormReadsItsInputScaleAndShiftOnce) {
  const ir::Kernel kernel = kernel_of("op,dtype,rows,columns", "layernorm,f32,64,256");
  EXPECT_EQ(kernel.work().bytes_accessed, 4 * (2 * 64 * 256 + 2 * 256));
  EXPECT_EQ(kernel.work().transcendentals, 64);  // one reciprocal root per row
}

TEST(OperatorKernel, ElementwiseOpcodesGetTheOperandsTheyNeed) {
  const std::string columns = "op,dtype,elements,out_dtype";
  EXPECT_EQ(kernel_of(columns, "add,f32,100,").parameters().size(), 2U);
  EXPECT_EQ(kernel_of(columns, "clamp,f32,100,").parameters().size(), 3U);
  EXPECT_EQ(kernel_of(columns, "exponential,f32,100,").work().transcendentals, 100);
  const ir::Kernel compare = kernel_of(columns, "compare,f32,100,");
  EXPECT_EQ(compare.op(compare.outputs()[0]).shape.dtype, ir::DType::kPred);
  const ir::Kernel convert = kernel_of(columns, "convert,f32,100,s8");
  EXPECT_EQ(convert.op(convert.outputs()[0]).shape.dtype, ir::DType::kS8);
}

TEST(OperatorKernel, ReduceTransposeCopyAndAllReduceMoveWhatTheirShapesSay) {
  const std::string columns = "op,dtype,rows,columns";
  expect_flops(kernel_of(columns, "reduce,f32,64,256"), 64 * 255);
  const ir::Kernel transpose = kernel_of(columns, "transpose,f32,64,256");
  EXPECT_EQ(transpose.op(transpose.outputs()[0]).shape.dims, (ir::Dims{256, 64}));
  EXPECT_EQ(kernel_of(columns, "copy,f32,64,256").work().bytes_accessed, 2 * 4 * 64 * 256);
  EXPECT_EQ(kernel_of(columns, "all_reduce,f32,64,256").group_size(), 8);
}

// Tables give the larger array of a device, as nccl-tests does.
TEST(OperatorKernel, CollectivesHaveAShareOfTheirLargerArrayOnTheOtherSide) {
  const std::string columns = "op,dtype,elements,devices";
  const auto sizes = [&](const std::string& row) {
    const ir::Kernel kernel = kernel_of(columns, row);
    const auto elements = [&](ir::OpId id) { return kernel.op(id).shape.dims.at(0); };
    return std::pair{elements(kernel.parameters()[0]), elements(kernel.outputs()[0])};
  };
  EXPECT_EQ(sizes("all_gather,f16,1024,4"), std::pair(std::int64_t{256}, std::int64_t{1024}));
  EXPECT_EQ(sizes("reduce_scatter,f16,1024,4"), std::pair(std::int64_t{1024}, std::int64_t{256}));
  EXPECT_EQ(sizes("all_to_all,f16,1024,4"), std::pair(std::int64_t{1024}, std::int64_t{1024}));
  EXPECT_EQ(kernel_of(columns, "all_gather,f16,1024,4").group_size(), 4);
}

std::size_t launches_of(const std::string& columns, const std::string& row,
                        const OpDefaults& defaults = {}) {
  const CsvTable table = read_csv(base::SourceText("ops.csv", columns + "\n" + row + "\n"));
  return operator_launches(table, table.rows.at(0), defaults).size();
}

TEST(OperatorLaunches, AreAsManyAsExecutionSays) {
  const std::string columns = "op,dtype,rows,columns,execution";
  EXPECT_EQ(launches_of(columns, "softmax,f32,64,256,fused"), 1U);
  EXPECT_EQ(launches_of(columns, "softmax,f32,64,256,reductions"), 3U);  // maximum, sum, divide
  EXPECT_EQ(launches_of(columns, "softmax,f32,64,256,ops"), 5U);
  EXPECT_EQ(launches_of(columns, "layernorm,bf16,64,256,reductions"), 3U);
  EXPECT_EQ(launches_of(columns, "add,f32,64,256,ops"), 1U);
}

TEST(OperatorLaunches, TpusEndKernelsAtReductionsOfRowOperators) {
  const std::string columns = "op,dtype,rows,columns,execution";
  const OpDefaults tpu = op_defaults(hwdesc::load_device("tpu_v5e"));
  const OpDefaults gpu = op_defaults(hwdesc::load_device("a100_sxm_40gb"));
  for (const char* op : {"softmax", "layernorm"}) {
    const std::string row = std::string(op) + ",f32,64,256,";
    EXPECT_EQ(launches_of(columns, row, tpu), 3U) << op;
    EXPECT_EQ(launches_of(columns, row + "fused", tpu), 1U) << op;
    EXPECT_EQ(launches_of(columns, row, gpu), 1U) << op;
  }
  EXPECT_EQ(launches_of(columns, "reduce,bf16,64,256,", tpu), 1U);
}

TEST(OperatorLaunches, BadExecutionsNameFileRowAndColumn) {
  const auto message = [](const std::string& row) -> std::string {
    return support::error_of(
        [&] { return launches_of("op,dtype,m,n,k,rows,columns,execution", row); });
  };
  EXPECT_THAT(message("softmax,f32,,,,8,8,op"),
              HasSubstr("ops.csv:2: column 'execution': got 'op', expected fused, reductions or"));
  EXPECT_THAT(message("matmul,f32,8,8,8,,,ops"),
              HasSubstr("ops.csv:2: column 'execution': kernel matmul: dot cannot be launched"));
}

TEST(OperatorLaunches, OfRepeatedProgramsKeepTheLargestOperandThatFits) {
  const auto spaces = [](const std::string& device, const std::string& row, bool repeated) {
    const CsvTable table = read_csv(base::SourceText("ops.csv", "op,dtype,m,n,k\n" + row + "\n"));
    const OpDefaults defaults = op_defaults(hwdesc::load_device(device), repeated);
    const ir::Kernel kernel = operator_launches(table, table.rows.at(0), defaults).at(0);
    std::vector<int> all;
    for (const ir::OpId id : kernel.parameters()) {
      all.push_back(kernel.op(id).shape.memory_space());
    }
    return all;
  };
  const std::string fits = "matmul,bf16,128,4096,4096", too_large = "matmul,bf16,128,16384,16384";
  EXPECT_EQ(spaces("tpu_v5e", fits, true), (std::vector<int>{0, 1}));
  EXPECT_EQ(spaces("tpu_v5e", "matmul,bf16,4096,128,4096", true), (std::vector<int>{1, 0}));
  EXPECT_EQ(spaces("tpu_v5e", fits, false), (std::vector<int>{0, 0}));
  EXPECT_EQ(spaces("tpu_v5e", too_large, true), (std::vector<int>{0, 0}));
  EXPECT_EQ(spaces("tpu_v3", fits, true), (std::vector<int>{0, 0}));  // tiles use all 16 MiB
}

// Equal to `simulate` for the same convolution in HLO: tests/ir/layout_assignment_test.cpp.
TEST(OperatorKernel, ConvolutionsPutFeaturesAndBatchInTheTwoMinorDimensions) {
  const auto layout = [](const ir::Kernel& kernel, ir::OpId id) {
    return ir::to_string(kernel.op(id).shape);
  };
  const ir::Kernel wide = kernel_of(kConvColumns, "conv2d,bf16,128,56,56,64,256,1,1,1,0");
  EXPECT_EQ(layout(wide, wide.parameters()[0]), "bf16[128,56,56,64]{0,3,2,1:T(8,128)(2,1)}");
  EXPECT_EQ(layout(wide, wide.outputs()[0]), "bf16[128,56,56,256]{3,0,2,1:T(8,128)(2,1)}");
  const ir::Kernel single = kernel_of(kConvColumns, "conv2d,bf16,1,56,56,256,256,3,3,1,same");
  EXPECT_EQ(layout(single, single.outputs()[0]), "bf16[1,56,56,256]{3,2,1,0:T(8,128)(2,1)}");
}

TEST(OperatorKernel, BadRowsNameFileRowAndColumn) {
  EXPECT_THAT(error_of("op,dtype,m,n,k", "matmul,bf16,64,0,128"),
              HasSubstr("ops.csv:2: column 'n': got '0'"));
  EXPECT_THAT(error_of("op,dtype,m,n,k", "matmul,b16,64,64,128"),
              HasSubstr("ops.csv:2: column 'dtype': got 'b16'"));
  EXPECT_THAT(error_of("op,dtype,m,n,k", "mat,bf16,64,64,128"),
              HasSubstr("column 'op': got 'mat'"));
  EXPECT_THAT(error_of("op,dtype", "add,f32"),
              HasSubstr("expected elements, shape, or rows and columns"));
  EXPECT_THAT(error_of("op,dtype,rows,columns", "softmax,s32,4,4"), HasSubstr("floating-point"));
  EXPECT_THAT(error_of(kConvColumns, "conv2d,f32,1,2,2,8,8,5,5,1,0"),
              HasSubstr("larger than the padded input"));
}

TEST(OperatorKernel, StridesThatDifferAreReferredToHlo) {
  EXPECT_THAT(error_of(kConvColumns, "conv2d,bf16,8,56,56,64,64,3,3,2x1,same"),
              testing::AllOf(HasSubstr("ops.csv:2: column 'stride': got '2x1'"),
                             HasSubstr("window={size=3x3 stride=2x1}")));
}

TEST(OperatorKernel, HugeArraysAreRefusedInsteadOfOverflowing) {
  EXPECT_THAT(error_of("op,dtype,elements", "add,f32,9223372036854775807"), HasSubstr("too large"));
  EXPECT_THAT(error_of("op,dtype,rows,columns", "softmax,f32,4611686018427387904,4"),
              HasSubstr("too large"));
}

CsvTable read(std::string text) {
  return read_csv(base::SourceText("t.csv", std::move(text)));
}

std::string error_of(const std::string& text) {
  return support::error_of([&] { return read(text); });
}

TEST(Csv, ReadsQuotesCarriageReturnsBlankLinesAndAByteOrderMark) {
  const CsvTable table = read("\xEF\xBB\xBFop,note\r\n\r\nadd,\"a, \"\"b\"\"\nc\"\r\nsub,");
  EXPECT_THAT(table.columns, ElementsAre("op", "note"));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0].cells, ElementsAre("add", "a, \"b\"\nc"));
  EXPECT_EQ(table.rows[0].line, 3);
  EXPECT_THAT(table.rows[1].cells, ElementsAre("sub", ""));
  EXPECT_EQ(table.rows[1].line, 5);
}

TEST(Csv, WritesWhatItReads) {
  const std::vector<std::string> cells{"plain", "a,b", "say \"x\"", "two\nlines", ""};
  const CsvTable table = read("1,2,3,4,5\n" + csv_line(cells));
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0].cells, cells);
}

TEST(Csv, WritesAByteOrderMarkAndALoneEmptyCellSoThatTheyAreReadAgain) {
  for (const std::string cell : {"\xEF\xBB\xBF",
                                 "\xEF\xBB\xBF"
                                 "name",
                                 ""}) {
    const CsvTable table = read(csv_line({"\xEF\xBB\xBF"
                                          "a"}) +
                                csv_line({cell}));
    EXPECT_EQ(table.columns, (std::vector<std::string>{"\xEF\xBB\xBF"
                                                       "a"}));
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(table.rows[0].cells, std::vector<std::string>{cell});
  }
}

TEST(Csv, NamesTheLineOfARowWithTheWrongNumberOfFields) {
  EXPECT_THAT(error_of("a,b\n1,2\n1,2,3\n"), HasSubstr("t.csv:3: got 3 fields, expected 2"));
}

TEST(Csv, RefusesTextsThatAreNoTables) {
  EXPECT_THAT(error_of(""), HasSubstr("t.csv: the table is empty"));
  EXPECT_THAT(error_of("a,b\n1,\"2\n3,4\n"), HasSubstr("t.csv:2:3: a quoted field never closes"));
  EXPECT_THAT(error_of("a,a\n"), HasSubstr("column 'a' appears twice"));
  EXPECT_THAT(error_of(std::string("a\n\0", 3)), HasSubstr("NUL byte"));
  EXPECT_THAT(error_of("a\n\"x\"y\n"), HasSubstr("after a closing quote"));
}

// Bytes come in pieces of any size: the rows are the same for any piece boundaries.
TEST(CsvReader, ReadsTheSameRowsFromPiecesOfAnySize) {
  const std::string text =
      "\xEF\xBB\xBF"
      "a,b\r\n\"x\ny\",\"say \"\"hi\"\"\"\r\n\r\n5\" disk,\" , \"\n\"\",\nlast , 2";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::size_t at = 0;
    CsvReader rows("t.csv", [&](std::string& buffer) {
      buffer += std::string_view(text).substr(at, size);
      const bool more = at < text.size();
      at = std::min(at + size, text.size());
      return more;
    });
    std::vector<std::vector<std::string>> read;
    std::vector<int> lines;
    std::vector<std::string_view> cells;
    while (rows.next(cells)) {
      read.emplace_back(cells.begin(), cells.end());
      lines.push_back(rows.line());
    }
    EXPECT_THAT(rows.columns(), ElementsAre("a", "b"));
    EXPECT_THAT(read, ElementsAre(ElementsAre("x\ny", "say \"hi\""), ElementsAre("5\" disk", " , "),
                                  ElementsAre("", ""), ElementsAre("last", "2")))
        << size;
    EXPECT_THAT(lines, ElementsAre(2, 5, 6, 7));
  }
}

TEST(CsvReader, GoesOnBehindARowInErrorAndNamesItsPosition) {
  const std::string text = "a,b\n1,2,3\n\"x\ny\"z,1\n3,4\n";
  bool given = false;
  CsvReader rows("t.csv", [&](std::string& buffer) {
    if (!given) buffer = text;
    return !std::exchange(given, true);
  });
  std::vector<std::string_view> cells;
  const auto error = [&]() -> std::string {
    return support::error_of<RowError>([&] { rows.next(cells); }, "none");
  };
  EXPECT_EQ(error(), "t.csv:2: got 3 fields, expected 2");
  EXPECT_THAT(error(), HasSubstr("t.csv:4:3: text after a closing quote"));
  EXPECT_EQ(error(), "none");
  EXPECT_THAT(cells, ElementsAre("3", "4"));
}

TEST(Csv, NumbersOutsideTheRangeNameFileRowAndColumn) {
  const CsvTable table = read("m,n,k\n0,12x,\n");
  const auto error = [&](std::string_view column) -> std::string {
    return support::error_of([&] { return integer_cell(table, table.rows[0], column, 1); });
  };
  EXPECT_THAT(error("m"), HasSubstr("t.csv:2: column 'm': got '0'"));
  EXPECT_THAT(error("n"), HasSubstr("t.csv:2: column 'n': got '12x'"));
  EXPECT_THAT(error("k"), HasSubstr("the cell is empty"));
  EXPECT_THAT(error("batch"), HasSubstr("the column is missing"));
  EXPECT_EQ(integer_cell(table, table.rows[0], "batch", 1, 7), 7);
}

TEST(Csv, ReadsListsOfNumbersSeparatedBySpaces) {
  const CsvTable table = read("b\n 2  26 4\n\"\"\n2 0\n");
  EXPECT_THAT(integer_list_cell(table, table.rows[0], "b"), ElementsAre(2, 26, 4));
  EXPECT_THAT(integer_list_cell(table, table.rows[1], "b"), ElementsAre());
  EXPECT_THROW((void)integer_list_cell(table, table.rows[2], "b"), Error);
}

TEST(Csv, RefusesToAddAColumnThatIsThere) {
  const CsvTable table = read("op,estimate_ns\n");
  EXPECT_THROW((void)with_columns(table, {"estimate_ns"}), Error);
  EXPECT_THAT(with_columns(table, {"bound"}).columns, ElementsAre("op", "estimate_ns", "bound"));
}
}  // namespace
}  // namespace tilecast::measured
