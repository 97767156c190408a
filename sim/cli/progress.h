// A line on stderr that counts finished pieces of long work; silent unless stderr is a terminal.
// Thread-safe.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

namespace tilecast::sim::cli {

class Progress {
 public:
  Progress(std::string what, std::size_t total);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void step();
  void show(std::size_t done, const std::string& note);  // "measure 17 of 400, 3 min left"

 private:
  std::string what_;
  std::size_t total_, done_ = 0;
  bool shown_;
  std::mutex mutex_;
};

}  // namespace tilecast::sim::cli
