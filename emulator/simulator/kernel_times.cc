#include "emulator/simulator/kernel_times.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace rankwire {
namespace {

bool is_meant(const KernelRow& row, RankId rank) {
  return !row.ranks || std::ranges::binary_search(*row.ranks, rank);
}

}  // namespace

KernelTimes::KernelTimes(std::vector<KernelRow> rows) : rows_(std::move(rows)) {
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    const bool literal = rows_[i].pattern.find_first_of("*?[\\") == std::string::npos;
    (literal ? literal_[rows_[i].pattern] : patterns_).push_back(i);
  }
}

const KernelRow* KernelTimes::row_of(RankId rank, std::string_view name) const {
  size_t first = rows_.size();
  if (const auto named = literal_.find(name); named != literal_.end()) {
    const auto row = std::ranges::find_if(named->second, [&](uint32_t i) { return is_meant(rows_[i], rank); });
    if (row != named->second.end()) first = *row;
  }
  const std::string text(name);
  for (const uint32_t i : patterns_) {
    if (i > first) break;
    if (is_meant(rows_[i], rank) && fnmatch(rows_[i].pattern.c_str(), text.c_str(), 0) == 0) return &rows_[i];
  }
  return first == rows_.size() ? nullptr : &rows_[first];
}

std::optional<Duration> KernelTimes::find(RankId rank, std::string_view name, int64_t operations, Bytes bytes) const {
  const KernelRow* row = row_of(rank, name);
  if (row == nullptr) return std::nullopt;
  constexpr unsigned __int128 kUnit = 1'000'000'000;
  const auto product = [](int64_t a, int64_t b) {
    return static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b);
  };
  const unsigned __int128 work = product(operations, row->per_operation) + product(bytes.count, row->per_byte);
  const unsigned __int128 ps = (work + kUnit - 1) / kUnit + static_cast<unsigned __int128>(row->duration.ps);
  constexpr auto kMost = static_cast<unsigned __int128>(Duration::max().ps);
  return Duration(static_cast<int64_t>(ps < kMost ? ps : kMost));
}

}  // namespace rankwire
