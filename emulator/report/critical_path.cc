#include "emulator/report/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/gap_parts.h"
#include "emulator/report/html_table.h"
#include "emulator/report/html_waterfall.h"
#include "emulator/report/page_paths.h"
#include "emulator/report/port_names.h"
#include "emulator/report/rank_names.h"
#include "emulator/report/time_shares.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPathOperations = 16, kPathRanks = 8;

/// Steps that differ in numbers only, or those of one rank.
struct PathShare {
  std::string name;
  bool communicates = false;
  uint64_t steps = 0;
  Duration length, reference;
  Duration extra() const { return length - reference; }
};

std::string operation_name(const CriticalStep& step) {
  std::string name;
  append_pattern(name, step.node.name);
  if (!step.communicates()) return name;
  name += " (" + step.node.kind;
  if (!step.node.group.empty()) append_pattern(name += " ", step.node.group);
  return name + ")";
}

/// The longest first. `key` is empty for steps that do not count.
std::vector<PathShare> shares(const CriticalPath& path, const std::optional<Waterfall>& waterfall,
                              const std::function<std::string(const CriticalStep&)>& key) {
  std::map<std::string, PathShare> by_key;
  for (size_t i = 0; i < path.steps.size(); ++i) {
    const CriticalStep& step = path.steps[i];
    const std::string name = key(step);
    if (name.empty()) continue;
    PathShare& share = by_key.try_emplace(name, PathShare{name, step.communicates()}).first->second;
    ++share.steps;
    share.length += step.length();
    if (waterfall) share.reference += waterfall->reference[i];
  }
  std::vector<PathShare> list;
  for (auto& [name, share] : by_key) list.push_back(std::move(share));
  std::ranges::stable_sort(list, std::ranges::greater(), &PathShare::length);
  return list;
}

std::vector<PathShare> operations(const CriticalPath& path, const std::optional<Waterfall>& waterfall) {
  return shares(path, waterfall, operation_name);
}

/// What the ranks computed.
std::vector<PathShare> computing_ranks(const RunReader& record, const CriticalPath& path,
                                       const std::optional<Waterfall>& waterfall) {
  const RankNames names(record);
  return shares(path, waterfall, [&](const CriticalStep& step) {
    return step.communicates() ? std::string() : names.titled(step.node.rank.value);
  });
}

/// All that they did.
std::vector<PathShare> ranks(const RunReader& record, const CriticalPath& path,
                             const std::optional<Waterfall>& waterfall) {
  const RankNames names(record);
  return shares(path, waterfall, [&](const CriticalStep& step) { return names.titled(step.node.rank.value); });
}

/// That communicate; SEND and RECV are of none.
std::vector<PathShare> groups(const CriticalPath& path, const std::optional<Waterfall>& waterfall) {
  return shares(path, waterfall, [&](const CriticalStep& step) {
    return !step.communicates() ? std::string() : step.node.group.empty() ? "point-to-point" : step.node.group;
  });
}

/// Behind which ranks communicate.
std::vector<PathShare> ports(const RunReader& record, const CriticalPath& path,
                             const std::optional<Waterfall>& waterfall) {
  const RecordedRun* const run = record.emulated() != nullptr ? record.emulated() : record.reference();
  const std::vector<RankNic> nics = record.rank_nics(*run);
  const std::map<PortId, std::string> names = port_names(record, *run);
  return shares(path, waterfall, [&](const CriticalStep& step) {
    const uint32_t rank = step.node.rank.value;
    return step.communicates() && rank < nics.size() ? name_of(names, nics[rank].port) : std::string();
  });
}

/// That were held up longest in their steps.
std::vector<PathShare> connections(const RunReader& record, const CriticalPath& path,
                                   const std::optional<Waterfall>& waterfall) {
  const RankNames names(record);
  return shares(path, waterfall, [&](const CriticalStep& step) {
    if (!step.connection) return std::string();
    return fmt::format("{} to {}, channel {}", names.titled(step.connection->source.value),
                       names.titled(step.connection->destination.value), step.connection->channel);
  });
}

struct PathSums {
  Duration compute, communication, between;
};

uint64_t waiting_steps(const CriticalPath& path) {
  return static_cast<uint64_t>(std::ranges::count_if(path.steps, [](const auto& s) { return s.before > Duration(); }));
}

PathSums sums_of(const CriticalPath& path) {
  PathSums sums;
  for (const CriticalStep& step : path.steps) {
    (step.communicates() ? sums.communication : sums.compute) += step.length();
    sums.between += step.before;
  }
  return sums;
}

/// The emulated side's, or the reference's where nothing was emulated.
const std::optional<CriticalPath>& principal_path(const Diagnosis& diagnosis) {
  return diagnosis.path ? diagnosis.path : diagnosis.reference_path;
}

Json shares_json(const std::vector<PathShare>& shares, size_t most, bool with_reference) {
  Json list = Json::array();
  for (const PathShare& share : shares) {
    if (list.size() == most) break;
    list.push_back({{"name", share.name},
                    {"steps", share.steps},
                    {"time_ps", share.length.ps},
                    {"reference_ps", with_reference ? Json(share.reference.ps) : Json(nullptr)}});
  }
  return list;
}

Json path_json(const RunReader& record, const std::optional<CriticalPath>& path,
               const std::optional<Waterfall>& waterfall) {
  if (!path) return nullptr;
  const PathSums sums = sums_of(*path);
  const auto most = [&](const std::vector<PathShare>& list) {
    return shares_json(list, kPathRanks, waterfall.has_value());
  };
  return {{"completion_ps", path->completion.ps},
          {"steps", path->steps.size()},
          {"compute_ps", sums.compute.ps},
          {"communication_ps", sums.communication.ps},
          {"between_ps", sums.between.ps},
          {"operations", shares_json(operations(*path, waterfall), kPathOperations, waterfall.has_value())},
          {"computing_ranks", most(computing_ranks(record, *path, waterfall))},
          {"ranks", most(ranks(record, *path, waterfall))},
          {"groups", most(groups(*path, waterfall))},
          {"ports", most(ports(record, *path, waterfall))},
          {"connections", most(connections(record, *path, waterfall))}};
}

}  // namespace

std::optional<PathMain> main_part(const Diagnosis& diagnosis) {
  const std::optional<CriticalPath>& path = principal_path(diagnosis);
  if (!path || path->completion <= Duration()) return std::nullopt;
  const auto list = operations(*path, diagnosis.waterfall);
  if (list.empty()) return std::nullopt;
  return PathMain{.operation = list[0].name,
                  .time = list[0].length,
                  .share = ratio_of(list[0].length, path->completion).value_or(0)};
}

namespace {

double percent(Duration part, Duration whole) {
  return 100 * ratio_of(part, whole).value_or(0);
}

/// "; most in OPERATION, +3 ms", the one that takes longest beyond the reference; empty where none does.
std::string most_of(const std::vector<PathShare>& shares) {
  const auto most = std::ranges::max_element(shares, {}, &PathShare::extra);
  if (most == shares.end() || most->extra() <= Duration()) return {};
  return fmt::format("; most in {}, {}", most->name, signed_time(most->extra()));
}

}  // namespace

Json critical_path_json(const RunReader& record, const Diagnosis& diagnosis) {
  if (!diagnosis.path && !diagnosis.reference_path) return nullptr;
  return {{"emulated", path_json(record, diagnosis.path, diagnosis.waterfall)},
          {"reference", path_json(record, diagnosis.reference_path, {})}};
}

std::string unsearched_text(const Diagnosis& diagnosis) {
  if (principal_path(diagnosis) || diagnosis.unsearched == 0) return {};
  return fmt::format(
      "not searched for: a run has {} executions, of which at most {} are held in memory; with fewer iterations "
      "(workload.iterations) path, slack and whose time was lost are told",
      diagnosis.unsearched, Executions::kMost);
}

std::string critical_path_line(const RunReader& record, const Diagnosis& diagnosis) {
  const std::optional<CriticalPath>& path = principal_path(diagnosis);
  if (std::string text = unsearched_text(diagnosis); !text.empty()) return text;
  if (!path || path->completion <= Duration()) return {};
  const PathSums sums = sums_of(*path);
  std::string text = record.emulated() != nullptr && !diagnosis.path ? "of the reference: " : "";
  text += fmt::format("{:.1f} % communication, {:.1f} % compute, {:.1f} % between operations, in {}",
                      percent(sums.communication, path->completion), percent(sums.compute, path->completion),
                      percent(sums.between, path->completion), counted(path->steps.size(), "step"));
  if (const auto list = operations(*path, diagnosis.waterfall); !list.empty())
    text += fmt::format("; longest {}, {:.1f} %", list[0].name, percent(list[0].length, path->completion));
  const auto ranks = computing_ranks(record, *path, diagnosis.waterfall);
  if (sums.compute * 2 > path->completion && ranks[0].length * 2 > sums.compute)
    text += fmt::format("; {} computes {:.1f} %", ranks[0].name, percent(ranks[0].length, path->completion));
  return text;
}

/// What of the largest part would be had without it, where that is less than the part by more than a tenth, because
/// something else was hidden by it, and where replays are good for it.
std::string without_text(const RunReader& record, const Diagnosis& diagnosis) {
  constexpr double kMostError = 0.05;
  if (std::abs(replay_error(record, diagnosis).value_or(1)) > kMostError) return {};
  const auto [cause, part] = parts_of(*diagnosis.waterfall).front();
  const std::optional<Duration> without = diagnosis.removed->without[static_cast<size_t>(cause)];
  if (!without || part <= Duration()) return {};
  const Duration saved = diagnosis.path->completion - *without;
  if (saved * 10 >= part * 9) return {};
  return fmt::format("; without '{}' it would have ended {} earlier", phrase_of(cause),
                     readable(std::max(saved, Duration())));
}

std::string waterfall_line(const RunReader& record, const Diagnosis& diagnosis) {
  if (!diagnosis.waterfall) return {};
  const Waterfall& waterfall = *diagnosis.waterfall;
  if (extent_of(waterfall.gap) * 100 <= diagnosis.path->completion) return {};
  std::string text = signed_time(waterfall.gap) + " against the reference along that path";
  if (waterfall.gap > Duration() && diagnosis.gap && diagnosis.gap->generator * 2 >= waterfall.gap)
    return text +
           fmt::format(", of which lateness of the generator may explain {}", readable(diagnosis.gap->generator));
  text += ": " + parts_text(named_parts(waterfall.parts)) + most_of(operations(*diagnosis.path, waterfall)) +
          without_text(record, diagnosis);
  const bool has_causes = !record.causes_of_groups(*record.emulated()).empty();
  if (waterfall[GapCause::kUnexplained] > Duration() && waterfall[GapCause::kUnexplained] * 2 > waterfall.gap &&
      !has_causes)
    text += "; 'record.causes: on' would tell why";
  return text;
}

std::string main_cause_text(const Diagnosis& diagnosis) {
  const std::optional<Waterfall>& waterfall = diagnosis.waterfall;
  if (!waterfall || waterfall->gap * 20 <= diagnosis.path->completion) return {};
  if (diagnosis.gap && diagnosis.gap->generator * 2 >= waterfall->gap) return {};
  const auto [cause, part] = parts_of(*waterfall).front();
  if (part * 2 < waterfall->gap || cause == GapCause::kUnexplained || cause == GapCause::kFaster ||
      cause == GapCause::kOtherChain)
    return {};
  if (part > waterfall->gap)
    return fmt::format(
        "along the critical path '{}' took {} more than in the reference, and what was faster made up for all but the "
        "{} by which it ended later",
        phrase_of(cause), readable(part), readable(waterfall->gap));
  return fmt::format("of the {} by which it took longer than the reference {} are '{}' along the critical path",
                     readable(waterfall->gap), readable(part), phrase_of(cause));
}

std::string critical_path_csv(const Diagnosis& diagnosis) {
  const std::optional<CriticalPath>& path = principal_path(diagnosis);
  std::string csv = "step,job,rank,iteration,node,name,kind,group,before_ps,from_ps,to_ps,reference_ps";
  for (size_t cause = 0; cause < kGapCauses; ++cause)
    csv += fmt::format(",{}_ps", to_string(static_cast<GapCause>(cause)));
  csv += "\n";
  if (!path) return csv;
  for (size_t i = 0; i < path->steps.size(); ++i) {
    const CriticalStep& step = path->steps[i];
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", i, step.node.job.value, step.node.rank.value,
                       step.iteration, step.node.id, csv_field(step.node.name), step.node.kind,
                       csv_field(step.node.group), step.before.ps, (step.from - Time()).ps, (step.to - Time()).ps,
                       diagnosis.waterfall ? fmt::to_string(diagnosis.waterfall->reference[i].ps) : "");
    for (size_t cause = 0; cause < kGapCauses; ++cause)
      csv += diagnosis.waterfall ? fmt::format(",{}", diagnosis.waterfall->by_step[i][cause].ps) : ",";
    csv += "\n";
  }
  return csv;
}

std::string html_critical_path(const RunReader& record, const Diagnosis& diagnosis) {
  const std::optional<CriticalPath>& path = principal_path(diagnosis);
  if (const std::string text = unsearched_text(diagnosis); !text.empty())
    return "<p class=\"note\">The critical path is " + html_escaped(text) + ".</p>\n";
  if (!path || path->completion <= Duration()) return {};
  std::string html;
  if (diagnosis.waterfall)
    html += html_waterfall(record, *path, *diagnosis.waterfall, diagnosis.removed ? &*diagnosis.removed : nullptr);
  html += html_job_waterfalls(record, diagnosis.jobs);
  html += html_paths(record, diagnosis);
  HtmlTable table("critical path",
                  {{"On the path", HtmlColumn::kText}, {"Steps"}, {"Time"}, {"Of the completion"}, {"Reference"}});
  const auto add = [&](const std::string& name, uint64_t steps, Duration length, std::optional<Duration> reference) {
    const double part = ratio_of(length, path->completion).value_or(0);
    table.add({name, steps, length, HtmlCell::bar(fmt::format("{:.1f} %", 100 * part), part), reference});
  };
  const auto in_reference = [&](const PathShare& share) {
    return diagnosis.waterfall ? std::optional(share.reference) : std::nullopt;
  };
  const auto list = operations(*path, diagnosis.waterfall);
  for (size_t i = 0; i < list.size() && i < kPathOperations; ++i)
    add(list[i].name, list[i].steps, list[i].length, in_reference(list[i]));
  if (const PathSums sums = sums_of(*path); sums.between > Duration())
    add("between operations", waiting_steps(*path), sums.between, std::nullopt);
  const auto ranks = computing_ranks(record, *path, diagnosis.waterfall);
  html += std::move(table).finish();
  html += html_shown_of(std::min(list.size(), kPathOperations), list.size(), "critical_path.csv");
  if (ranks.empty()) return html;
  HtmlTable computing("critical path",
                      {{"Computes on the path", HtmlColumn::kText}, {"Steps"}, {"Time"}, {"Reference"}});
  for (size_t i = 0; i < ranks.size() && i < kPathRanks; ++i)
    computing.add({ranks[i].name, ranks[i].steps, ranks[i].length, in_reference(ranks[i])});
  html += std::move(computing).finish();
  HtmlTable whose("critical path", {{"Whose", HtmlColumn::kText}, {"Steps"}, {"Time"}, {"Reference"}});
  const auto add_whose = [&](const char* what, const std::vector<PathShare>& of) {
    for (size_t i = 0; i < of.size() && i < kPathRanks; ++i)
      whose.add({what + of[i].name, of[i].steps, of[i].length, in_reference(of[i])});
  };
  add_whose("group ", groups(*path, diagnosis.waterfall));
  add_whose("port ", ports(record, *path, diagnosis.waterfall));
  add_whose("connection of ", connections(record, *path, diagnosis.waterfall));
  return html + std::move(whose).finish();
}

}  // namespace rankwire
