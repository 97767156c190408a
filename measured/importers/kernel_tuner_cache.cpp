#include "measured/importers/kernel_tuner_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/text.h"
#include "measured/importers/json_records.h"

namespace tilecast::measured {
namespace {

constexpr double kFailedTime = 1e20;  // used by older versions for failed configurations
constexpr std::size_t kRecordsPerReport = 1024;

// Mean, minimum and spread of the repeats of one configuration.
struct Repeats {
  std::size_t n = 0;
  double sum = 0, squares = 0, least = INFINITY;

  void add(double time) {
    ++n;
    sum += time;
    squares += time * time;
    least = std::min(least, time);
  }
  [[nodiscard]] double spread() const {
    const double mean = sum / static_cast<double>(n);
    return std::sqrt(std::max(squares / static_cast<double>(n) - mean * mean, 0.0));
  }
};

// Converts configurations to rows.
class CacheRows {
 public:
  CacheRows(const std::string& path,
            const std::function<MappedRows(const std::vector<std::string>&)>& make,
            ImportReport& report, const CacheOptions& options)
      : path_(path), make_(make), report_(report), options_(options) {}

  void header(const JsonField& field) {
    if (field.path == "tune_params_keys[]") parameters_.push_back(field.text);
  }

  void record(const std::string& key, const JsonRecord& fields) {
    if (!rows_) begin();
    const auto where = [&] { return fmt::format("{}: cache '{}'", path_, key); };
    try {
      read(fields, where);
      std::vector<std::string_view> cells(cells_.begin(), cells_.end());
      rows_->add(cells, where);
    } catch (const RowError& error) {
      if (!options_.keep_going) throw;
      report_.add_bad(error);
    }
  }

  void finish() {
    if (!rows_) {
      throw Error(path_ +
                  ": no key 'cache' with configurations; not a cache file of "
                  "Kernel Tuner");
    }
    rows_->finish();
  }

 private:
  void begin() {
    if (parameters_.empty()) {
      throw Error(path_ + ": no tune_params_keys before 'cache'; not a cache file of Kernel Tuner");
    }
    std::vector<std::string> columns = parameters_;
    for (const char* name : {"time_ms_mean", "time_ms_min", "time_ms_std", "n_repeats"}) {
      columns.emplace_back(name);
    }
    rows_ = std::make_unique<MappedRows>(make_(columns));
    cells_.resize(columns.size());
  }

  // Reads the cells of one configuration, in the order of the columns.
  void read(const JsonRecord& fields, const std::function<std::string()>& where) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const std::string* value = find_field(fields, parameters_[i]);
      if (value == nullptr) {
        throw RowError(fmt::format("{}: the parameter '{}' is missing", where(), parameters_[i]));
      }
      cells_[i] = *value;
    }
    const std::size_t time = parameters_.size();
    std::fill(cells_.begin() + static_cast<std::ptrdiff_t>(time), cells_.end(), std::string());
    Repeats repeats;
    for (const JsonField& field : fields) {
      if (field.path == "time" && !field.is_text &&
          base::parse_number(field.text).value_or(kFailedTime) < kFailedTime) {
        cells_[time] = field.text;
      }
      if (field.path == "times[]" && !field.is_text)
        repeats.add(base::parse_number(field.text).value_or(std::nan("")));
    }
    const bool runs = !cells_[time].empty();
    if (!runs && find_field(fields, "time") == nullptr) {
      throw RowError(where() + ": the configuration has no 'time'");
    }
    if (!runs || repeats.n == 0 || !std::isfinite(repeats.squares)) return;
    cells_[time + 1] = fmt::format("{}", repeats.least);
    cells_[time + 2] = fmt::format("{}", repeats.spread());
    cells_[time + 3] = fmt::format("{}", repeats.n);
  }

  const std::string& path_;
  const std::function<MappedRows(const std::vector<std::string>&)>& make_;
  ImportReport& report_;
  const CacheOptions& options_;
  std::vector<std::string> parameters_, cells_;
  std::unique_ptr<MappedRows> rows_;
};

}  // namespace

bool is_kernel_tuner_cache(const std::string& path) {
  return path.ends_with(".json") || path.ends_with(".json.gz");
}

void add_kernel_tuner_cache(const std::string& path,
                            const std::function<MappedRows(const std::vector<std::string>&)>& rows,
                            ImportReport& report, const CacheOptions& options) {
  ByteSource source(path);
  CacheRows cache(path, rows, report, options);
  std::size_t read = 0;
  JsonRecordReader reader;
  reader.container = "cache";
  reader.record = [&](const std::string& key, const JsonRecord& fields) {
    if (++read % kRecordsPerReport == 0) options.progress(source.progress());
    cache.record(key, fields);
  };
  reader.header = [&](const JsonField& field) { cache.header(field); };
  reader.may_be_unfinished = true;
  const bool whole = read_json_records(source, reader);
  cache.finish();
  if (!whole) report.notes.push_back(path + ": not finished: its configurations so far are taken");
  options.progress(1);
}

}  // namespace tilecast::measured
