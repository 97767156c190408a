#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "sim/cli/options.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;

// `named`: what messages call the file.
void write_stream(const std::string& path, const std::string& text, const std::string& named) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw Error(fmt::format("{}: cannot write it: {}", named, std::strerror(errno)));
}

void write_atomically(const std::string& path, const std::string& text) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    write_stream(path, text, path);  // a pipe or a device: there is nothing to replace
    return;
  }
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  try {
    write_stream(temporary, text, path);
    std::error_code failure;
    fs::rename(temporary, path, failure);
    if (failure) throw Error(fmt::format("{}: cannot write it: {}", path, failure.message()));
  } catch (const Error&) {
    fs::remove(temporary, ignored);
    throw;
  }
}

}  // namespace

void add_output_options(CLI::App& verb, OutputOptions& options,
                        const std::vector<std::string>& formats) {
  options.format = formats.front();
  verb.add_option("-f,--format", options.format, "form of the answer")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
  verb.add_option("-o,--output", options.file, "file to write instead of stdout")
      ->type_name("FILE");
}

void write(const OutputOptions& options, const std::string& text) {
  if (!options.file.empty()) {
    write_atomically(options.file, text);
    return;
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(fmt::format("stdout: cannot write it: {}", std::strerror(errno)));
  }
}

void note_unread(const std::string& file, const std::vector<std::string>& columns) {
  if (columns.empty()) return;
  fmt::print(stderr, "note: {}: kept, not read: {}\n", file, fmt::join(columns, ", "));
}

void write_rows(const OutputOptions& options, const measured::CsvTable& rows,
                const std::string& schema) {
  write(options, options.format == "json"  ? views::rows_json(rows, schema)
                 : options.format == "csv" ? views::rows_csv(rows)
                                           : views::rows_text(rows));
}

}  // namespace tilecast::sim::cli
