#include "emulator/assembly/lost_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/record/lost_links.h"

namespace rankwire {
namespace {

/// What a silent port may look like to those that wait for it.
constexpr std::array<std::string_view, 4> kOfSilence = {"dead_peer", "lost_completion", "credit_shortage", "unknown"};

/// Those behind it, of which one that most wait for comes first.
RankId rank_behind(const RunEnd& end, PortId port) {
  RankId found;
  int64_t most = -1;
  for (uint32_t rank = 0; rank < end.rank_nics.size(); ++rank) {
    if (end.rank_nics[rank].port != port) continue;
    const int64_t waits = std::ranges::count(end.stall->waits, RankId(rank), &StallWait::peer);
    if (waits > most) found = RankId(rank), most = waits;
  }
  return found;
}

/// Waits lead to whoever is silent, and where a rank on the lost port waits for others, these are not.
void blame_stall(const std::vector<PortSettingRow>& lost, RunEnd& end) {
  StallRow& stall = *end.stall;
  if (std::ranges::find(kOfSilence, stall.kind) == kOfSilence.end()) return;
  stall.kind = "lost_link";
  const auto is_behind_one = [&](RankId rank) {
    return rank.valid() && rank.value < end.rank_nics.size() &&
           std::ranges::find(lost, end.rank_nics[rank.value].port, &PortSettingRow::port) != lost.end();
  };
  if (is_behind_one(stall.culprit)) return;
  stall.culprit = rank_behind(end, lost.front().port);
  stall.is_cycle = false;
  stall.chain.clear();
  std::set<RankId> behind;
  stall.accused = 0;
  for (const StallWait& wait : stall.waits) {
    if (!stall.culprit.valid() || wait.peer != stall.culprit) continue;
    if (stall.chain.empty()) stall.chain.push_back(wait);
    behind.insert(wait.rank);
    ++stall.accused;
  }
  stall.behind = static_cast<uint32_t>(behind.size());
}

}  // namespace

void tell_lost_links(const Setup& setup, const std::vector<PortSettingRow>& lost, RunResult& result, RunEnd& end) {
  if (result.verdict == Verdict::kOk || lost.empty()) return;
  std::string text;
  for (const PortSettingRow& row : lost) {
    const std::string of_port =
        fmt::format("port {}: {}; ", setup.config.ports[row.port.value].name, lost_link_text(row));
    if (result.reason.find(of_port) == std::string::npos) text += of_port;
  }
  result.reason.insert(0, text);
  end.reason.insert(0, text);
  if (end.stall) blame_stall(lost, end);
}

void tell_lost_links(const Setup& setup, RunResult& result, RunEnd& end) {
  tell_lost_links(setup, lost_links(end.port_settings), result, end);
}

}  // namespace rankwire
