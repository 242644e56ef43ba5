// What stands out in an inspection, in sentences.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/report/format.h"
#include "emulator/traces/inspect.h"

namespace rankwire {
namespace {

/// Less is no finding.
constexpr double kLeastShare = 0.01;

double share_of(Duration part, Duration whole) {
  return whole > Duration() ? static_cast<double>(part.ps) / static_cast<double>(whole.ps) : 0;
}

std::string called(const OperationKey& key) {
  return key.name.empty() ? key.kind : fmt::format("{} of group {}", key.kind, key.name);
}

std::string size_remark(const Inspection& inspection) {
  if (inspection.communication.operations().empty()) return "no communication";
  const auto& largest = inspection.largest_imbalance;
  if (!largest) return "all ranks that take part in an operation move the same amount with it";
  return fmt::format("sizes differ most in {}: rank {} has {}, {:.3f} times the mean of {} ranks", called(largest->key),
                     largest->rank, readable(largest->bytes), static_cast<double>(largest->bytes.count) / largest->mean,
                     largest->ranks);
}

void add_time_remarks(const Inspection& inspection, std::vector<std::string>& list) {
  const std::optional<RankTimes> sum = inspection.sum_of_times();
  if (!sum) return;
  if (sum->communication > Duration()) {
    const auto most = std::ranges::max_element(inspection.ranks, {}, [](const RankInspection& rank) {
      return rank.times ? rank.times->exposed() : Duration();
    });
    list.push_back(
        fmt::format("{:.1f} % of the time of communication is not hidden by computation; rank {} has most, {}",
                    100 * share_of(sum->exposed(), sum->communication), most->rank, readable(most->times->exposed())));
  }
  const double idle = share_of(sum->idle.sum(), sum->span());
  if (idle < kLeastShare) return;
  const auto cause = static_cast<size_t>(std::ranges::max_element(sum->idle.by_cause) - sum->idle.by_cause.begin());
  static constexpr std::array kTexts = {
      "because the host comes too late", "because communication comes too late or waits for other ranks",
      "because another stream comes too late", "because kernels are launched one behind the other",
      "for reasons that the traces do not tell"};
  list.push_back(fmt::format("ranks are idle for {:.1f} % of their time, most of it ({:.1f} %) {}", 100 * idle,
                             100 * share_of(sum->idle.by_cause[cause], sum->idle.sum()), kTexts[cause]));
}

std::string straggler_remark(const Inspection& inspection) {
  const Stragglers& stragglers = inspection.stragglers;
  if (stragglers.worst.empty()) return "";
  const auto most = std::ranges::max_element(stragglers.ranks, {}, &RankLateness::held_up);
  const LateCall& worst = stragglers.worst.front();
  return fmt::format(
      "rank {} comes last to {} of {} collectives and holds the others up for {}; latest is rank {} at {} number {} of "
      "group {}, {} behind all others{}",
      inspection.ranks[static_cast<size_t>(most - stragglers.ranks.begin())].rank, most->last, most->collectives,
      readable(most->held_up), inspection.ranks[worst.place].rank, worst.kind, worst.number, worst.group,
      readable(worst.late),
      stragglers.clock_offsets.empty() ? ""
                                       : " (clocks contradict each other and were set by the ends of collectives)");
}

std::string memory_remark(const Inspection& inspection) {
  const auto peak = [](const RankInspection& rank) { return rank.memory ? rank.memory->peak : Bytes(-1); };
  const auto most = std::ranges::max_element(inspection.ranks, {}, peak);
  if (most == inspection.ranks.end() || !most->memory)
    return "no node names tensors, so nothing is known of memory over time";
  return fmt::format("tensors of rank {} take most memory, {} when node {} ({}) begins", most->rank,
                     readable(most->memory->peak), most->peak_node, most->peak_name);
}

}  // namespace

std::vector<std::string> remarks(const Inspection& inspection) {
  std::vector<std::string> list = {size_remark(inspection)};
  if (inspection.timing.problem.empty()) {
    add_time_remarks(inspection, list);
    if (std::string text = straggler_remark(inspection); !text.empty()) list.push_back(std::move(text));
    list.push_back(memory_remark(inspection));
  }
  if (inspection.by_rank)
    list.push_back(
        inspection.timing.recorded
            ? "ranks were looked at one by one: there is no critical path"
            : "ranks were looked at one by one, each as if no other kept it waiting: there are no stragglers "
              "and no critical path");
  if (inspection.operations.has_patterns())
    list.push_back(fmt::format("more than {} names: those that differ in numbers alone count as one, # for a number",
                               OperationTable::kMostNames));
  return list;
}

}  // namespace rankwire
