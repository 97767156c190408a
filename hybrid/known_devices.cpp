#include "hybrid/known_devices.h"

#include <algorithm>

#include "base/parallel.h"

namespace tilecast::hybrid {

void KnownDevices::add(hwdesc::Device device) {
  std::string name = device.name;
  add(std::move(name), [device = std::move(device)] { return device; });
}

void KnownDevices::add(std::string name, std::function<hwdesc::Device()> read) {
  entries_.push_back(std::make_unique<Entry>());
  entries_.back()->name = std::move(name);
  entries_.back()->read = std::move(read);
}

bool KnownDevices::has(const std::string& name) const {
  return std::ranges::any_of(entries_, [&](const auto& entry) { return entry->name == name; });
}

const hwdesc::Device& KnownDevices::operator[](std::size_t i) const {
  Entry& entry = *entries_[i];
  std::call_once(entry.asked, [&] { entry.device = entry.read(); });
  return entry.device;
}

std::vector<const hwdesc::Device*> KnownDevices::all() const {
  std::vector<const hwdesc::Device*> devices(size());
  base::parallel_for(size(), base::default_jobs(),
                     [&](std::size_t i) { devices[i] = &(*this)[i]; });
  return devices;
}

}  // namespace tilecast::hybrid
