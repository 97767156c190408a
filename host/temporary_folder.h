// A folder of our own under $TMPDIR (/tmp when unset), removed with what is in it unless released.
#pragma once

#include <string>

namespace tilecast::host {

class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Error where none can be made
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  // The path of the file. Throws Error where it cannot be written.
  std::string write(const std::string& name, const std::string& text) const;
  void release() { path_.clear(); }

 private:
  std::string path_;
};

}  // namespace tilecast::host
