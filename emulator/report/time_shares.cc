#include "emulator/report/time_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace rankwire {
namespace {

const char* phrase_of(Cause cause) {
  switch (cause) {
    case Cause::kTransmitting:
      return "transmitting";
    case Cause::kWindow:
      return "window full";
    case Cause::kCongestionControl:
      return "congestion control";
    case Cause::kPaused:
      return "paused";
    case Cause::kReceiverNotReady:
      return "receiver not ready";
    case Cause::kRecovering:
      return "recovering";
    case Cause::kPort:
      return "others first";
    case Cause::kAcknowledgement:
      return "acknowledgements under way";
  }
  return "unknown";
}

}  // namespace

std::string shares_text(const TimeByCause& causes) {
  std::array<Cause, kCauses> order;
  for (size_t i = 0; i < kCauses; ++i) order[i] = static_cast<Cause>(i);
  std::ranges::stable_sort(order, std::greater<>(), [&](Cause cause) { return causes[cause]; });
  const auto total = static_cast<double>(causes.total().ps);
  std::string text;
  for (const Cause cause : order) {
    const double percent = total > 0 ? 100 * static_cast<double>(causes[cause].ps) / total : 0;
    if (percent < 0.05) break;
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", phrase_of(cause), percent);
  }
  return text.empty() ? "-" : text;
}

}  // namespace rankwire
