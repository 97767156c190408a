// The descriptions of the devices that a hybrid was fitted on, in order. A device from a folder is
// read on first use, since most programs need only one and each takes 2 ms to read.
//
//   devices.name(0);   // "tpu_v3"
//   devices[0].clock;  // throws Error if its description cannot be read
//
// Concurrent reads are safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hwdesc/device.h"

namespace tilecast::hybrid {

class KnownDevices {
 public:
  void add(hwdesc::Device device);
  void add(std::string name, std::function<hwdesc::Device()> read);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const std::string& name(std::size_t i) const { return entries_[i]->name; }
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] const hwdesc::Device& operator[](std::size_t i) const;
  // Reads all of them.
  [[nodiscard]] std::vector<const hwdesc::Device*> all() const;

 private:
  struct Entry {
    std::string name;
    std::function<hwdesc::Device()> read;
    std::once_flag asked;
    hwdesc::Device device;
  };
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace tilecast::hybrid
