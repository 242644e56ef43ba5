#include "emulator/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "base/log.h"

namespace rankwire {

std::optional<std::string> progress_text(const std::list<ProgressItem>& items) {
  struct Stand {
    const ProgressItem* item = nullptr;
    uint64_t done = 0, total = 0, percent = 0;
  } least;
  for (const ProgressItem& item : items) {
    Stand stand{.item = &item, .done = item.done(), .total = item.total()};
    if (stand.total > 0) stand.percent = stand.done * 100 / stand.total;
    if (item.share) stand.percent = static_cast<uint64_t>(item.share() * 100);
    if (least.item == nullptr || stand.percent < least.percent) least = stand;
  }
  if (least.item == nullptr) return std::nullopt;
  const std::string counts = fmt::format("{} of {} {}", least.done, least.total, least.item->unit);
  std::string text = least.item->share ? fmt::format("{}: {} %, {}", least.item->label, least.percent, counts)
                                       : fmt::format("{}: {} ({} %)", least.item->label, counts, least.percent);
  if (items.size() > 1) text += fmt::format(", {} beside it", items.size() - 1);
  return text;
}

ProgressLine::ProgressLine() {
  if (isatty(STDERR_FILENO) != 0 && log_verbosity() == Verbosity::kNormal) thread_ = std::thread([this] { print(); });
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_one();
  thread_.join();
}

std::shared_ptr<void> ProgressLine::show(ProgressItem item) {
  const std::lock_guard lock(mutex_);
  const auto place = items_.insert(items_.end(), std::move(item));
  return std::shared_ptr<void>(nullptr, [this, place](void*) {
    const std::lock_guard on_removal(mutex_);
    items_.erase(place);
  });
}

void ProgressLine::print() {
  std::unique_lock lock(mutex_);
  bool shown = false;
  const auto wipe = [&] {
    if (std::exchange(shown, false)) fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  };
  for (auto wait = std::chrono::seconds(2); !stop_.wait_for(lock, wait, [this] { return stopped_; });
       wait = std::chrono::seconds(1)) {
    const std::optional<std::string> text = progress_text(items_);
    if (!text) {
      wipe();
      continue;
    }
    fmt::print(stderr, "\r{}\x1b[K", *text);
    std::fflush(stderr);
    shown = true;
  }
  wipe();
}

Progress::Progress(std::string label, uint64_t total, std::function<uint64_t()> done, const char* unit)
    : Progress(
          std::move(label), [total] { return total; }, std::move(done), unit) {}

Progress::Progress(std::string label, std::function<uint64_t()> total, std::function<uint64_t()> done, const char* unit)
    : shown_(line_.show({std::move(label), std::move(total), std::move(done), unit})) {}

}  // namespace rankwire
