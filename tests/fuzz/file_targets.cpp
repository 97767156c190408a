// Devices, sets and profiles, archives and schedules. Written text is read as it was.
#include "base/archive.h"
#include "hwdesc/device_yaml.h"
#include "measured/csv.h"
#include "measured/importers/torch_ops.h"
#include "measured/importers/torch_trace.h"
#include "measured/importers/trace_events.h"
#include "measured/importers/xplane.h"
#include "measured/measurement_set.h"
#include "schedule/text.h"
#include "tests/fuzz/targets.h"
#include "tests/schedule/parse_loops.h"

namespace tilecast::fuzz {

void device_yaml(Bytes bytes) {
  const auto printed = [](const std::string& text) {
    return hwdesc::print_device(hwdesc::parse_device(text, "fuzz.yaml"));
  };
  answer_or_error([&] { expect_stable("YAML", printed(std::string(bytes)), printed); });
}

void manifest_yaml(Bytes bytes) {
  const auto written = [](const std::string& text) {
    return measured::manifest_text(measured::read_manifest(text, "/nowhere/manifest.yaml"));
  };
  answer_or_error([&] { expect_stable("manifest", written(std::string(bytes)), written); });
}

void csv(Bytes bytes) {
  const auto written = [](const std::string& read) {
    const auto table = measured::read_csv(base::SourceText("fuzz.csv", read));
    std::string text = measured::csv_line(table.columns);
    for (const measured::CsvRow& row : table.rows) text += measured::csv_line(row.cells);
    return text;
  };
  answer_or_error([&] { expect_stable("CSV", written(std::string(bytes)), written); });
}

void schedule_text(Bytes bytes) {
  const auto printed = [](const std::string& text) {
    return schedule::to_text(schedule::parse_loops(base::SourceText("fuzz.loops", text)));
  };
  answer_or_error([&] { expect_stable("schedule", printed(std::string(bytes)), printed); });
}

// Reads the entries that our folders contain.
void archive(Bytes bytes) {
  const std::string path = file_of(bytes, "fuzz.zip");
  constexpr std::size_t kMost = 1 << 20;
  answer_or_error([&] { (void)base::is_archive(path); });
  for (const char* entry : {"manifest.yaml", "measurements.csv", "model.yaml", "../escape"}) {
    const std::string inside = path + "/" + entry;
    answer_or_error([&] { (void)base::is_file(inside); });
    answer_or_error([&] {
      const auto text = base::read_archived(inside, kMost);
      if (text && text->size() > kMost) broken("an entry is larger than the limit");
    });
  }
}

void trace_json(Bytes bytes) {
  const std::string path = file_of(bytes, "fuzz.trace.json");
  for (const bool keep_going : {false, true}) {
    answer_or_error([&] {
      measured::ImportReport report;
      (void)measured::read_traces({path}, {.keep_going = keep_going}, report);
    });
  }
  (void)measured::is_torch_trace(path);
  static const measured::OpDefaults defaults =
      measured::op_defaults(hwdesc::load_device("h100_sxm"));
  answer_or_error([&] {
    for (const measured::TorchOp& op : measured::read_torch_trace(path).ops) {
      (void)measured::kernels_of(op, defaults);
    }
  });
}

void xplane(Bytes bytes) {
  const std::string path = file_of(bytes, "fuzz.xplane.pb");
  (void)measured::is_xplane(path);
  answer_or_error([&] { (void)measured::read_xplane({path}, {}); });
}

}  // namespace tilecast::fuzz
