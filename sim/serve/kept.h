// A bounded cache of values by key. A value may be used only inside the function passed to with().
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

namespace tilecast::sim::serve {

// Thread-safe. A full cache is cleared before the next insertion.
template <class Value>
class Kept {
 public:
  explicit Kept(std::size_t most) : most_(most) {}

  // Returns use(value) for the cached value, else for the value of make(), which is then cached.
  template <class Make, class Use>
  auto with(const std::string& key, const Make& make, const Use& use) {
    {
      const std::shared_lock reading(mutex_);
      const auto found = values_.find(key);
      if (found != values_.end()) return use(*found->second);
    }
    auto made = std::make_unique<const Value>(make());
    auto answer = use(*made);
    const std::unique_lock writing(mutex_);
    if (values_.size() >= most_) values_.clear();
    values_.emplace(key, std::move(made));
    return answer;
  }

 private:
  std::size_t most_;
  std::shared_mutex mutex_;
  std::map<std::string, std::unique_ptr<const Value>> values_;
};

}  // namespace tilecast::sim::serve
