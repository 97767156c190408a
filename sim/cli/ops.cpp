#include <CLI/CLI.hpp>

#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/op_table.h"

namespace tilecast::sim::cli {
namespace {

struct OpsArguments {
  std::string table, model;
  DeviceOptions device;
  OutputOptions output;
  OpTableOptions options;
};

void run(const OpsArguments& arguments) {
  const hwdesc::Device device = load_devices(arguments.device).front();
  const measured::CsvTable table = measured::read_csv(base::SourceText::read_file(arguments.table));
  note_unread(table.file, unread_op_columns(table));
  const ChosenModel model = choose_model(arguments.model, {&device, 1});
  const measured::CsvTable answered =
      estimate_operators(table, device, *model.model, arguments.options);
  note_model(model);
  write_rows(arguments.output, answered, "tilecast.ops/1");
}

}  // namespace

void add_ops(CLI::App& app) {
  auto arguments = std::make_shared<OpsArguments>();
  CLI::App& verb = *app.add_subcommand("ops", "a CSV of single operators, with their times");
  verb.add_option("table", arguments->table, "CSV file")->required()->type_name("FILE");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_output_options(verb, arguments->output, {"csv", "table", "json"});
  add_model_option(verb, arguments->model);
  verb.add_flag("--keep-going", arguments->options.keep_going,
                "put the message of a bad row into the column error and continue");
  verb.add_flag("--repeated", arguments->options.repeated,
                "the operators belong to programs that run again and again: on TPUs the largest\n"
                "operand of a product stays on chip between runs where it fits");
  add_jobs_option(verb, arguments->options.jobs);
  verb.footer(
      "Every row has op and dtype (f32, bf16, f16 ...); out_dtype (that of the result: matmul,\n"
      "conv2d*, convert), transposed (rhs: a matmul's right operand is stored n x k) and\n"
      "execution (of softmax and layernorm: fused, reductions: a kernel up to every\n"
      "reduction, ops: one per op) are optional. TPUs end kernels at reductions.\n"
      "By op:\n"
      "  matmul                                    batch (1), m, n, k\n"
      "  conv2d conv2d_grad_input conv2d_grad_weight  n, h, w, ci, co, kh, kw, stride (1),\n"
      "                                            padding (0; pixels, same or valid)\n"
      "  softmax layernorm reduce transpose        rows, columns; transpose also batch (1)\n"
      "  gelu copy all_reduce, and elementwise HLO opcodes (add, exponential ...)\n"
      "                                            elements, shape (16x16x128), or rows and\n"
      "                                            columns; all_reduce also devices (those of\n"
      "                                            one host)\n"
      "Other columns are kept, not read, and named in a note (x_* are not named).\n"
      "Added columns: estimate_ns, bound, utilisation (speed of light / time, 0 to 1).");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
