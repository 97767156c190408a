#include "hwdesc/device_numbers.h"

#include <algorithm>

#include "hwdesc/device_schema.h"

namespace tilecast::hwdesc {
namespace {

class NumberLister final : public SchemaVisitor {
 public:
  [[nodiscard]] std::vector<DeviceNumber> take() { return std::move(numbers_); }

  void number(const Field& field, double& value) override { list(field, value, false); }
  void optional_number(const Field& field, std::optional<double>& value) override {
    if (value) list(field, *value, false);
  }
  void integer(const Field& field, std::int64_t& value) override {
    list(field, static_cast<double>(value), true);
  }
  void flag(const Field&, bool&) override {}
  void text(const Field&, std::string&) override {}
  void choice(const Field&, std::size_t&) override {}
  void numbers(const Field& field, std::map<std::string, double>& values) override {
    for (const auto& [key, value] : values) {
      list(field, value, false);
      numbers_.back().path += "." + key;
    }
  }
  void word_groups(const Field&, std::vector<std::vector<std::string>>&) override {}
  [[nodiscard]] bool enter(const Block& block, bool present) override {
    if (present) blocks_.push_back(block.key);
    return present;
  }
  void leave() override { blocks_.pop_back(); }
  [[nodiscard]] std::vector<std::string> names(const std::vector<std::string>& held) override {
    return held;
  }

 private:
  void list(const Field& field, double value, bool integer) {
    std::string path;
    for (const std::string& block : blocks_) path += block + ".";
    path += field.key;
    numbers_.push_back({std::move(path), field.kind, integer, field.low, field.high, value});
  }

  std::vector<std::string> blocks_;
  std::vector<DeviceNumber> numbers_;
};

}  // namespace

std::vector<DeviceNumber> device_numbers(const Device& device) {
  Device visited = device;
  NumberLister lister;
  walk(lister, visited);
  return lister.take();
}

const DeviceNumber* find_number(const std::vector<DeviceNumber>& numbers, std::string_view path) {
  for (const std::string_view prefix : {"", "memory.", "transfer."}) {
    const auto found = std::ranges::find_if(numbers, [&](const DeviceNumber& number) {
      return number.path.size() == prefix.size() + path.size() && number.path.starts_with(prefix) &&
             number.path.ends_with(path);
    });
    if (found != numbers.end()) return &*found;
  }
  return nullptr;
}

}  // namespace tilecast::hwdesc
