#include "feeder/finished_ids.h"

namespace rankwire {

uint32_t FinishedIds::add_page(uint64_t id) {
  const auto page = static_cast<uint32_t>(pages_.size());
  pages_.emplace_back();
  index_.insert(id / kPage, page);
  last_number_ = id / kPage;
  last_page_ = page;
  return page;
}

void FinishedIds::clear() noexcept {
  index_.clear();
  pages_.clear();
  last_number_ = UINT64_MAX;
  last_page_ = IdMap::kNone;
}

}  // namespace rankwire
