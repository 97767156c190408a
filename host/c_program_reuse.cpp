#include "host/c_program_reuse.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tilecast::host {
namespace {

class PageCache {
 public:
  explicit PageCache(double capacity) : capacity_(capacity) {}

  // Simulates a call; returns its missing share.
  double call(const std::vector<ArrayUse>& uses) {
    double missing = 0, all = 0;
    for (const ArrayUse& use : uses) {
      for_each_page(use, [&](const Page& page, double bytes) {
        const auto last = last_used_.find(page);
        all += bytes;
        if (last == last_used_.end() || used_ - last->second > capacity_) missing += bytes;
      });
    }
    for (const ArrayUse& use : uses) {
      for_each_page(use, [&](const Page& page, double bytes) {
        used_ += bytes;
        last_used_[page] = used_;
      });
    }
    return all > 0 ? missing / all : 0;
  }

  void forget(ArrayUse::Memory memory) {
    std::erase_if(last_used_, [&](const auto& entry) { return entry.first.first == memory; });
  }

 private:
  using Page = std::pair<ArrayUse::Memory, std::int64_t>;

  template <class Visit>
  static void for_each_page(const ArrayUse& use, Visit&& visit) {
    const std::int64_t end = use.offset + use.bytes;
    for (std::int64_t at = use.offset; at < end;) {
      const std::int64_t next =
          std::min(end, (at / ArrayUse::kAlignment + 1) * ArrayUse::kAlignment);
      visit(Page{use.memory, at / ArrayUse::kAlignment}, static_cast<double>(next - at));
      at = next;
    }
  }

  double capacity_;
  double used_ = 0;  // bytes used so far
  std::map<Page, double> last_used_;
};

}  // namespace

std::vector<double> missing_shares(const CProgram& program, Bytes capacity, CacheState state) {
  PageCache cache(capacity.value);
  for (const PartCall& call : program.calls) (void)cache.call(call.uses);
  if (state == CacheState::kCold) {
    cache.forget(ArrayUse::Memory::kInput);
    cache.forget(ArrayUse::Memory::kOutput);
  }
  std::vector<double> shares;
  for (const PartCall& call : program.calls) shares.push_back(cache.call(call.uses));
  return shares;
}

}  // namespace tilecast::host
