#include "sim/report/difference.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilecast::sim::report {
namespace {

using Kernels = std::vector<KernelResult>;

// Pairs kernels with equal keys, the first with the first, in program order.
class KernelMatcher {
 public:
  KernelMatcher(const Kernels& before, const Kernels& after)
      : before_(before), after_(after), taken_before_(before.size()), taken_after_(after.size()) {}

  // `key` gives "" for kernels that this round leaves alone.
  template <class Key>
  void round(PairedBy by, const Key& key) {
    std::map<std::string, std::vector<std::size_t>> waiting;  // of before, last first
    for (std::size_t i = before_.size(); i-- > 0;) {
      const std::string text = taken_before_[i] ? "" : key(before_[i]);
      if (!text.empty()) waiting[text].push_back(i);
    }
    for (std::size_t i = 0; i < after_.size(); ++i) {
      const std::string text = taken_after_[i] ? "" : key(after_[i]);
      const auto found = waiting.find(text);
      if (found == waiting.end() || found->second.empty()) continue;
      add(by, found->second.back(), i);
      found->second.pop_back();
    }
  }

  std::vector<KernelPair> pairs() {
    std::vector<KernelPair> all = pairs_;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (!taken_before_[i]) all.push_back({.before = i});
    }
    for (std::size_t i = 0; i < after_.size(); ++i) {
      if (!taken_after_[i]) all.push_back({.after = i});
    }
    return all;
  }

 private:
  void add(PairedBy by, std::size_t before, std::size_t after) {
    taken_before_[before] = taken_after_[after] = true;
    pairs_.push_back({.before = before, .after = after, .by = by});
  }

  const Kernels &before_, &after_;
  std::vector<bool> taken_before_, taken_after_;
  std::vector<KernelPair> pairs_;
};

std::vector<KernelPair> match(const Kernels& before, const Kernels& after) {
  KernelMatcher matcher(before, after);
  matcher.round(PairedBy::kContent, [](const KernelResult& k) {
    return k.content.empty() ? "" : k.content + ' ' + k.computation + ' ' + k.name;
  });
  matcher.round(PairedBy::kContent, [](const KernelResult& k) { return k.content; });
  matcher.round(PairedBy::kName, [](const KernelResult& k) {
    return k.opcode + ' ' + k.computation + ' ' + k.name;
  });
  matcher.round(PairedBy::kName, [](const KernelResult& k) { return k.opcode + ' ' + k.name; });
  return matcher.pairs();
}

std::string resource_of(const KernelResult& kernel) {
  return kernel.skipped ? "skipped" : kernel.bound;
}

void attribute(const Kernels& before, const Kernels& after, KernelPair& pair) {
  const KernelResult* was = pair.before ? &before[*pair.before] : nullptr;
  const KernelResult* is = pair.after ? &after[*pair.after] : nullptr;
  pair.change_s = (is != nullptr ? is->total_s : 0) - (was != nullptr ? was->total_s : 0);
  if (was != nullptr && is != nullptr) {
    pair.launches_s = (is->launches - was->launches) * was->time_s;
  } else {
    pair.launches_s = pair.change_s;
  }
  const bool slower = pair.change_s > 0 || was == nullptr;
  pair.resource = resource_of(slower && is != nullptr ? *is : *was);
}

// Shares by name, in the order of |change|.
class ShareTable {
 public:
  ChangeShare& at(const std::string& name) {
    ChangeShare& share = shares_[name];
    share.name = name;
    return share;
  }
  [[nodiscard]] std::vector<ChangeShare> sorted() const {
    std::vector<ChangeShare> list;
    for (const auto& [name, share] : shares_) list.push_back(share);
    std::ranges::stable_sort(list, [](const ChangeShare& a, const ChangeShare& b) {
      return std::abs(a.change_s) > std::abs(b.change_s);
    });
    return list;
  }

 private:
  std::map<std::string, ChangeShare> shares_;
};

}  // namespace

std::string_view name(PairedBy by) {
  return by == PairedBy::kContent ? "content" : by == PairedBy::kName ? "name" : "nothing";
}

Difference difference(const SimulationResult& before, const SimulationResult& after) {
  Difference result{.pairs = match(before.kernels, after.kernels)};
  ShareTable resources, classes;
  for (KernelPair& pair : result.pairs) {
    attribute(before.kernels, after.kernels, pair);
    resources.at(pair.resource).change_s += pair.change_s;
  }
  for (const KernelResult& kernel : before.kernels) {
    result.before_s += kernel.total_s;
    resources.at(resource_of(kernel)).before_s += kernel.total_s;
    classes.at(kernel.op_class).before_s += kernel.total_s;
    classes.at(kernel.op_class).change_s -= kernel.total_s;
  }
  for (const KernelResult& kernel : after.kernels) {
    result.after_s += kernel.total_s;
    resources.at(resource_of(kernel)).after_s += kernel.total_s;
    classes.at(kernel.op_class).after_s += kernel.total_s;
    classes.at(kernel.op_class).change_s += kernel.total_s;
  }
  std::ranges::stable_sort(result.pairs, [](const KernelPair& a, const KernelPair& b) {
    return std::abs(a.change_s) > std::abs(b.change_s);
  });
  result.resources = resources.sorted();
  result.classes = classes.sorted();
  return result;
}

}  // namespace tilecast::sim::report
