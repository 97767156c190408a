// The YAML file that describes how to convert third-party tables to a measurement set: the fields
// of the manifest, and for each table the sources of its columns.
//
//   name: bmm_t4
//   source: publication of the numbers
//   licence: MIT
//   timing: device                         or host: run times include the dispatch
//   how_timed: CUDA events
//   device: t4                             or `devices: {Tesla T4: t4}` with a column `device`
//   dispatch: {softmax: 12 us}             floors per op class; host timing only
//   dtype: f32                             for rows without one
//   tables:                                if absent, the columns must be those of a set (empty if
//                                          an operator does not use them)
//     - files: bmm_*.csv                   patterns (* and ?) of file names or, if they contain a
//                                          /, of whole paths; if absent: every file
//       header: [M, N, K, t]               column names, if the file has none
//       where: {column: OPName, in: [bmm]} rows to take; also `not_in`, or `not_empty: COLUMN`; of
//                                          tables with equal `files`, the first that takes a row
//       columns: {op: {constant: matmul}, m: M, ...}      measured/importers/column_rule.h
//       keep: [CUDA Version]               columns kept as x_cuda_version
//       parameters: [block_size_x]         columns with numeric parameters of the kernel's code
//                                          other than the tile, as p_block_size_x
//       fastest_of_equal: true             among rows that differ only in time, x_*, threads,
//                                          vector and direct, keep the fastest
//   every_table: {where: ..., columns: ...} keys for all tables; a table's own take precedence,
//                                          column by column; rows must pass both `where`
//
// Parsing is strict; errors are `file:line:col: key: got ..., expected ...`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measured/importers/column_rule.h"
#include "measured/importers/importer.h"
#include "measured/measurement_set.h"

namespace tilecast::measured {

struct RowFilter {
  std::string where;
  std::vector<std::string> columns;  // a row passes if any of them does
  std::vector<std::string> values;   // empty: any non-empty text
  bool keep_listed = true;           // false: rows with a listed value are left out
  std::string reason;                // reason given for rows left out
  std::vector<std::size_t> index{};  // of the columns, after bind()

  [[nodiscard]] bool passes(const std::vector<std::string_view>& cells) const;
};

struct TableMapping {
  std::vector<std::string> files;   // patterns; empty: every file
  std::vector<std::string> header;  // empty: the file's first line
  std::vector<RowFilter> filters;
  std::vector<ColumnRule> rules;
  bool fastest_of_equal = false;

  [[nodiscard]] bool knows(const std::string& path) const;
  void bind(const std::vector<std::string>& columns, const std::string& file);  // throws Error
};

struct ColumnMapping {
  Manifest manifest;
  std::vector<TableMapping> tables;

  // The first table that matches the file; null if none does.
  [[nodiscard]] const TableMapping* find(const std::string& path) const;
  // That table and the following ones with the same `files`.
  [[nodiscard]] std::vector<TableMapping> all_of(const std::string& path) const;
  // Columns of measurements.csv, in order of first occurrence.
  [[nodiscard]] std::vector<std::string> targets() const;
};

// `name_or_path`, `input`: see read_import_manifest() (import_manifest.h). Throws Error.
[[nodiscard]] ColumnMapping read_column_mapping(const std::string& name_or_path,
                                                const ImportOptions& options,
                                                const std::string& input);
// The mapping for a table that already has the columns of a set (op, m ..., runtime_ns; see
// measurement_set.h; cells that an operator does not use are empty), or that lists tile runs:
// `file` (HLO), `compute_time_ns`, bounds, `error`.
[[nodiscard]] TableMapping mapping_as_named(const std::vector<std::string>& columns,
                                            const std::string& file);

// Whether `name` matches a pattern of literal characters, '*' (any sequence) and '?' (any
// character).
[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view name);

}  // namespace tilecast::measured
