#include "validation/measure_cuda/gemm_set.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/source_text.h"
#include "measured/csv.h"
#include "measured/importers/set_writer.h"

namespace tilecast::measure_cuda {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;
constexpr double kKhzPerMhz = 1000;
constexpr double kMib = 1024.0 * 1024.0;

const std::vector<std::string> kColumns{"op",
                                        "dtype",
                                        "m",
                                        "n",
                                        "k",
                                        "output_bounds",
                                        "kernel_bounds",
                                        "stages",
                                        "warps",
                                        "runtime_ns",
                                        "repeats",
                                        "spread_ns",
                                        "family",
                                        "x_shared_bytes",
                                        "x_registers",
                                        "x_blocks_per_processor"};

std::string nanoseconds(double seconds) {
  return fmt::format("{:.1f}", seconds * kNanosecondsPerSecond);
}

std::vector<std::string> cells(const GemmMeasurement& at) {
  const GemmConfig& c = at.config;
  const GemmOutcome& o = at.outcome;
  const bool timed = o.status == GemmStatus::kTimed;
  return {"matmul",
          std::string(name(at.input)),
          std::to_string(at.size.m),
          std::to_string(at.size.n),
          std::to_string(at.size.k),
          fmt::format("{} {}", c.block_m, c.block_n),
          fmt::format("{} {}", c.block_k, c.block_n),
          std::to_string(c.stages),
          std::to_string(c.warps),
          timed ? nanoseconds(o.minimum_s) : "",
          timed ? std::to_string(o.calls) : "",
          timed ? nanoseconds(o.spread_s) : "",
          std::string(at.size.family),
          std::to_string(shared_bytes(c)),
          std::to_string(o.registers),
          std::to_string(o.blocks_per_processor)};
}

std::string status_text(GemmStatus status) {
  return status == GemmStatus::kDoesNotFit ? "does_not_fit" : "wrong_result";
}

std::string version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

measured::Manifest manifest(const SetDescription& about, std::size_t timed, std::size_t others) {
  const Card& card = about.card;
  measured::Manifest m;
  m.name = about.name;
  m.description = fmt::format(
      "matrix products on tensor cores (wmma, f32 sums) over block tiles, warps and cp.async "
      "stages; {} configurations timed, {} not (not_timed.csv){}; "
      "card: {}, {} multiprocessors, compute capability {}.{}, {:.0f} MiB, L2 {:.0f} MiB, {:.0f} "
      "MHz, memory {:.0f} MHz, driver {}, runtime {}",
      timed, others, about.cut_short ? ", cut short by the budget" : "", card.name,
      card.multiprocessors, card.major, card.minor, static_cast<double>(card.memory_bytes) / kMib,
      static_cast<double>(card.l2_bytes) / kMib, card.clock_khz / kKhzPerMhz,
      card.memory_clock_khz / kKhzPerMhz, version(card.driver), version(card.runtime));
  m.device = about.device;
  m.source = fmt::format("tilecast_measure_cuda, {}", about.date);
  m.licence = "as Tilecast";
  m.timing = measured::Timing::kDevice;
  m.how_timed =
      about.timing.flush_l2
          ? fmt::format("device events around single calls, L2 flushed before each, minimum of {}",
                        about.timing.groups)
          : fmt::format(
                "device events around groups of calls of at least {:g} ms back to back, "
                "minimum of {} groups; clocks not locked",
                about.timing.group_s * 1e3, about.timing.groups);
  return m;
}

}  // namespace

std::string device_of_card(const std::string& card, const std::string& table_path) {
  const measured::CsvTable table = measured::read_csv(base::SourceText::read_file(table_path));
  for (const measured::CsvRow& row : table.rows) {
    if (table.cell(row, "card") == card) return std::string(table.cell(row, "device"));
  }
  throw Error(
      fmt::format("{}: no device for the card '{}'; expected one of its {} cards; give "
                  "--device PRESET or the path of a description",
                  table_path, card, table.rows.size()));
}

void write_gemm_set(const std::string& target, bool force, const SetDescription& description,
                    const std::vector<GemmMeasurement>& measurements) {
  std::vector<std::string> columns = kColumns;
  columns.insert(columns.end(), {"status", "reason"});
  std::string others = measured::csv_line(columns);
  std::size_t timed = 0;
  measured::SetWriter writer({.output = target, .force = force});
  writer.begin_rows(kColumns);
  for (const GemmMeasurement& at : measurements) {
    std::vector<std::string> row = cells(at);
    if (at.outcome.status == GemmStatus::kTimed) {
      writer.add(row);
      ++timed;
    } else {
      row.insert(row.end(), {status_text(at.outcome.status), at.outcome.message});
      others += measured::csv_line(row);
    }
  }
  writer.add_file("not_timed.csv", others);
  writer.commit(manifest(description, timed, measurements.size() - timed));
}

}  // namespace tilecast::measure_cuda
