// A new private folder under $TMPDIR (/tmp if unset), removed with its contents unless released.
#pragma once

#include <string>

namespace tilecast::host {

class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Error if it cannot be created
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file and returns its path. Throws Error if it cannot be written.
  std::string write(const std::string& name, const std::string& text) const;
  void release() { path_.clear(); }

 private:
  std::string path_;
};

}  // namespace tilecast::host
