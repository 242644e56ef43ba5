#include "emulator/report/time_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/jobs.h"

namespace rankwire {

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

namespace {

constexpr size_t kPrintedPatterns = 4, kListedPatterns = 64;

/// By job and the pattern of the group's name, the most time first; beyond kListedPatterns "(other)", the last.
std::vector<GroupCauses> causes_of_patterns(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  if (run == nullptr) return {};
  const JobNames jobs(record);
  std::map<std::pair<JobId, std::string>, GroupCauses> patterns;
  for (const GroupCauses& of_group : record.causes_of_groups(*run)) {
    std::string pattern;
    append_pattern(pattern, of_group.group);
    GroupCauses& sum = patterns[{of_group.job, pattern}];
    sum.job = of_group.job;
    sum.group = jobs.with_job(pattern.empty() ? "point-to-point" : pattern, of_group.job);
    sum.queue_pairs += of_group.queue_pairs;
    sum.causes += of_group.causes;
  }
  std::vector<GroupCauses> list;
  list.reserve(patterns.size());
  for (auto& [pattern, sum] : patterns) list.push_back(std::move(sum));
  std::ranges::stable_sort(list, std::greater<>(), [](const GroupCauses& sum) { return sum.causes.total(); });
  for (; list.size() > kListedPatterns; list.pop_back()) {
    GroupCauses& other = list[kListedPatterns - 1];
    other.group = "(other)";
    other.queue_pairs += list.back().queue_pairs;
    other.causes += list.back().causes;
  }
  return list;
}

GroupCauses sum_of(const std::vector<GroupCauses>& list) {
  GroupCauses all;
  for (const GroupCauses& sum : list) {
    all.queue_pairs += sum.queue_pairs;
    all.causes += sum.causes;
  }
  return all;
}

nlohmann::ordered_json sums_json(const GroupCauses& sum) {
  nlohmann::ordered_json json = {{"queue_pairs", sum.queue_pairs}};
  json.update(causes_json(sum.causes));
  return json;
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

nlohmann::ordered_json causes_json(const TimeByCause& causes) {
  nlohmann::ordered_json json;
  for (size_t i = 0; i < kCauses; ++i)
    json[fmt::format("{}_ps", to_string(static_cast<Cause>(i)))] = causes.spent[i].ps;
  return json;
}

nlohmann::ordered_json time_by_cause_json(const RunReader& record) {
  const std::vector<GroupCauses> patterns = causes_of_patterns(record);
  if (patterns.empty()) return nullptr;
  nlohmann::ordered_json json = sums_json(sum_of(patterns));
  json["groups"] = nlohmann::ordered_json::array();
  for (const GroupCauses& sum : patterns) {
    nlohmann::ordered_json& of_pattern = json["groups"].emplace_back(nlohmann::ordered_json{{"group", sum.group}});
    of_pattern.update(sums_json(sum));
  }
  return json;
}

std::string time_by_cause_text(const RunReader& record) {
  const std::vector<GroupCauses> patterns = causes_of_patterns(record);
  // Where no queue pair ever had anything to send there is nothing to be told.
  if (patterns.empty() || sum_of(patterns).causes.total() == Duration()) return {};
  std::string text = fmt::format("{:<14}{}\n", "queue pairs", shares_text(sum_of(patterns).causes));
  if (patterns.size() == 1) return text;
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (i == kPrintedPatterns) {
      text += fmt::format("  and {} more groups, in summary.json\n", patterns.size() - i);
      break;
    }
    text += fmt::format("  of {}: {}\n", patterns[i].group, shares_text(patterns[i].causes));
  }
  return text;
}

}  // namespace rankwire
