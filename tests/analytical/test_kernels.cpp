#include "test_kernels.h"

#include "ir/layout_assignment.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::analytical::testing {

ir::Kernel kernel_of(const std::string& hlo) {
  const ir::Module module = ir::parse_hlo(base::SourceText("test.hlo", hlo));
  const ir::Program program = ir::make_program(ir::assign_layouts(module, {}));
  return program.kernels().back().kernel;
}

std::string fusion(const std::vector<std::string>& parameters, const std::string& result,
                   const std::string& body) {
  std::string lines;
  std::string names;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string n = std::to_string(i);
    lines += "  p" + n + " = " + parameters[i] + " parameter(" + n + ")\n";
    names += (i == 0 ? "p" : ", p") + n;
  }
  return "HloModule m\nadder {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT s = f32[] add(a, b)\n}\nfused {\n" +
         lines + body + "\n}\nENTRY main {\n" + lines + "  ROOT out = " + result + " fusion(" +
         names + "), kind=kLoop, calls=fused\n}\n";
}

std::string array(const std::string& dtype, const std::vector<std::int64_t>& dims) {
  std::string sizes;
  std::string order;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    sizes += (i == 0 ? "" : ",") + std::to_string(dims[i]);
    order += (i == 0 ? "" : ",") + std::to_string(dims.size() - 1 - i);
  }
  const std::string tiling = dims.size() >= 2 ? ":T(8,128)" : ":T(1024)";
  return dtype + "[" + sizes + "]{" + order + tiling + "}";
}

hwdesc::Device round_device() {
  hwdesc::Device d;
  d.name = "round";
  d.clock = Hertz{1e9};
  d.memory.resize(2);
  d.memory[0].name = "hbm";
  d.memory[0].capacity = Bytes{1e12};
  d.memory[0].bandwidth = BytesPerSecond{100e9};
  d.memory[0].memory_space = 0;
  d.memory[1].name = "vmem";
  d.memory[1].capacity = Bytes{16.0 * 1024 * 1024};
  d.memory[1].bandwidth = BytesPerSecond{4e12};
  d.memory[1].memory_space = 1;
  d.engines.resize(1);
  d.matrix.count = 2;
  d.matrix.rows = d.matrix.columns = 128;
  d.matrix.passes = {{"bf16", 1}};
  d.matrix.fill = Cycles{254};
  d.matrix.weight_load = Cycles{128};
  d.vector.lanes = 128;
  d.vector.sublanes = 8;
  d.vector.alus = 2;
  d.transcendental.per_cycle = 1024;
  d.cross_lane.elements_per_cycle = 1024;
  d.cross_lane.reduce_elements_per_cycle = 1024;
  d.cross_lane.irregular_elements_per_cycle = 1024;
  d.native_tile = {.sublanes = 8, .lanes = 128, .word_bits = 32, .tiled = true, .provenance = {}};
  return d;
}

}  // namespace tilecast::analytical::testing
