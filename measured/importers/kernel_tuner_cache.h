// Reads a cache file of Kernel Tuner (JSON, plain or gzip): one row per configuration tried.
//
//   {"tune_params_keys": ["bx", "by"], ...,
//    "cache": {"16,2": {"bx": 16, "by": 2, "time": 0.81, "times": [0.80, 0.82]}, ...}}
//
// Columns: the tuning parameters, then time_ms_mean, time_ms_min, time_ms_std and n_repeats. A
// configuration that failed ("time" is a text such as InvalidConfig) has no time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measured/importers/importer.h"
#include "measured/importers/mapped_rows.h"

namespace tilecast::measured {

// Decides by name: *.json or *.json.gz.
[[nodiscard]] bool is_kernel_tuner_cache(const std::string& path);

struct CacheOptions {
  bool keep_going = false;
  std::function<void(double)> progress;
};

// `rows` creates the MappedRows once the columns are known. Throws Error.
void add_kernel_tuner_cache(const std::string& path,
                            const std::function<MappedRows(const std::vector<std::string>&)>& rows,
                            ImportReport& report, const CacheOptions& options);

}  // namespace tilecast::measured
