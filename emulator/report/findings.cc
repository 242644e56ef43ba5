#include "emulator/report/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "emulator/report/assessment.h"
#include "emulator/report/blame.h"
#include "emulator/report/critical_path.h"
#include "emulator/report/device_statistics.h"
#include "emulator/report/format.h"
#include "emulator/report/port_names.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// A part of all message times that is not spoken of.
constexpr double kLeastSlow = 0.05;
constexpr size_t kNamedDrops = 3;

/// What the values of traits are called.
class TraitNames {
 public:
  TraitNames(const RunReader& record, const RecordedRun& run)
      : ranks_(record), ports_(port_names(record, run)), jobs_(record.jobs()), nics_(record.rank_nics(run)) {}

  std::string port(PortId port) const { return name_of(ports_, port); }
  /// " (host 2)"
  std::string behind(PortId port) const { return host_behind(nics_, port); }

  /// "port p2", "host 3", "rank 5 of job a", "job a", "group tp0".
  std::string value(const CommonTrait& found) const {
    switch (found.trait) {
      case Trait::kDestinationPort:
      case Trait::kSourcePort:
      case Trait::kPort:
        return "port " + port(PortId(found.value)) + host_behind(nics_, PortId(found.value));
      case Trait::kPortPair:
        return fmt::format("port {} to port {}", port(PortId(found.value)), port(PortId(found.other)));
      case Trait::kDestinationHost:
      case Trait::kSourceHost:
      case Trait::kHost:
        return fmt::format("host {}", found.value);
      case Trait::kDestinationRank:
      case Trait::kSourceRank:
      case Trait::kRank:
        return ranks_.titled(found.value);
      case Trait::kRankPair:
        return fmt::format("{} to {}", ranks_.titled(found.value), ranks_.titled(found.other));
      case Trait::kJob:
        return "job " + job(found.value);
      case Trait::kGroup:
        return fmt::format("group {}{}", found.group, jobs_.empty() ? "" : " of job " + job(found.value));
    }
    return {};
  }

  /// "on the way to port p2 (host 2)".
  std::string place(const CommonTrait& found) const {
    switch (found.trait) {
      case Trait::kDestinationPort:
      case Trait::kDestinationHost:
      case Trait::kDestinationRank:
        return "on the way to " + value(found);
      case Trait::kPortPair:
      case Trait::kRankPair:
      case Trait::kSourcePort:
      case Trait::kSourceHost:
      case Trait::kSourceRank:
        return "on the way from " + value(found);
      case Trait::kPort:
      case Trait::kHost:
      case Trait::kRank:
        return "on the way from or to " + value(found);
      case Trait::kJob:
      case Trait::kGroup:
        return "of " + value(found);
    }
    return {};
  }

 private:
  std::string job(uint32_t number) const { return number < jobs_.size() ? jobs_[number].name : std::to_string(number); }

  RankNames ranks_;
  std::map<PortId, std::string> ports_;
  std::vector<JobInfo> jobs_;
  std::vector<RankNic> nics_;
};

/// "7.3 %", "100 %"; what is not all is never called so.
std::string percent(double part) {
  if (part >= 1) return "100 %";
  const double value = 100 * part;
  if (value < 0.1) return fmt::format("{:.2g} %", value);
  return fmt::format("{:.1f} %", std::min(value, 99.9));
}

std::string part_of(uint64_t part, uint64_t all) {
  return percent(all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all));
}

/// "; 100 % of them on the way to port p2, which has 25.0 % of the traffic".
std::string where_text(const TraitNames& names, const std::optional<CommonTrait>& where, const char* trouble,
                       const char* traffic) {
  if (!where) return {};
  return fmt::format("; {} of {} {}, which has {} of {}", percent(where->part_of_trouble), trouble, names.place(*where),
                     percent(where->part_of_traffic), traffic);
}

std::string failure_text(const TraitNames& names, const FailedConnections& failed) {
  if (failed.recorded == 0) return {};
  return fmt::format("{} failed{}", counted(failed.recorded, "connection"),
                     where_text(names, failed.where, "them", "the connections"));
}

std::string drops_text(const std::vector<SwitchDrops>& drops) {
  if (drops.empty()) return {};
  std::vector<std::string> list;
  for (size_t i = 0; i < std::min(drops.size(), kNamedDrops); ++i)
    list.push_back(fmt::format("{} at {}", drops[i].frames, drops[i].port));
  if (drops.size() > kNamedDrops) list.push_back("and " + counted(drops.size() - kNamedDrops, "more port"));
  return fmt::format("; dropped: {}", fmt::join(list, ", "));
}

/// Why packets were sent again although all had arrived.
std::string repetition_text(const TransportCounters& counters) {
  std::vector<std::string> reasons;
  const auto add = [&](uint64_t count, const char* what) {
    if (count > 0) reasons.push_back(fmt::format(fmt::runtime(what), count, count == 1 ? "" : "s"));
  };
  add(counters.rnr_naks, "{} time{} a receiver was not ready");
  add(counters.naks + counters.implied_naks, "{} time{} packets came out of order");
  add(counters.timeouts, "{} time-out{}, for which answers were lost or late");
  return reasons.empty() ? "nobody counted why" : fmt::format("{}", fmt::join(reasons, ", "));
}

/// `ended`: well, so that nothing was under way any more.
std::string loss_text(const TraitNames& names, const Losses& losses, const TransportCounters& counters, bool ended) {
  if (losses.lost == 0) {
    if (counters.timeouts + counters.retransmitted == 0) return {};
    const char* const arrived = losses.packets == 0              ? ", and nobody counted what arrived"
                                : losses.uncounted > 0 || !ended ? ""
                                                                 : ", although no fewer arrived than were sent";
    return fmt::format("{} packets were sent again{}: {}", counters.retransmitted, arrived, repetition_text(counters));
  }
  std::string text = fmt::format("{}{} of {} data packets were lost ({})", ended ? "" : "at least ", losses.lost,
                                 losses.packets, part_of(losses.lost, losses.packets));
  text += drops_text(losses.drops) + where_text(names, losses.where, "them", "the traffic");
  const auto add = [&](uint64_t count, const char* what) {
    if (count > 0) text += fmt::format("; {} {}", count, what);
  };
  add(losses.missed, "frames were missed by the generator's own ports");
  add(losses.buffer_drops, "found no room in receive buffers of emulated NICs");
  add(losses.impaired, "packets of any kind, acknowledgements too, were dropped or corrupted on purpose");
  add(losses.corrupt, "arrived corrupt");
  return text;
}

/// Of a port, source or destination, whose messages were slow for the pauses of another one.
std::string spread_text(const std::optional<CommonTrait>& where, const std::vector<Blame>& blame) {
  const bool is_port = where && (where->trait == Trait::kPort || where->trait == Trait::kSourcePort ||
                                 where->trait == Trait::kDestinationPort);
  if (!is_port || blame.empty()) return {};
  const auto& [kind, number, name] = blame.front().culprit;
  const bool pauses = blame.front().kind == BlameKind::kPfcStorm || blame.front().kind == BlameKind::kSlowNic;
  if (!pauses || kind != Culprit::Kind::kPort || number == where->value) return {};
  return "; pauses spread there from the port to blame";
}

/// Where the run as a whole was slower, too.
std::string slow_text(const TraitNames& names, const RunReader& record, const Diagnosis& diagnosis) {
  const std::optional<SlowMessages>& slow = diagnosis.slow;
  const std::optional<double> ratio = completion_ratio(record);
  if (!slow || slow->extra <= kLeastSlow * slow->expected || !ratio || *ratio <= 1 + kLeastSlow) return {};
  return fmt::format("messages took {:.3g} times as long as in the reference{}",
                     (slow->expected + slow->extra) / slow->expected,
                     where_text(names, slow->where, "the extra time", "the time in the reference") +
                         spread_text(slow->where, diagnosis.blame));
}

std::string gap_text(const RecordedRun& run, const std::optional<GapShares>& gap) {
  if (!gap || gap->gap * 20 <= run.end.completion) return {};
  const bool is_real = !run.end.turns.empty();
  if (!is_real && !gap->is_to_median) return {};
  std::string text = fmt::format("it took {} longer than {}", readable(gap->gap),
                                 gap->is_to_median ? "the median of the reference's band" : "the reference");
  if (is_real)
    text += fmt::format(", of which lateness of the generator's worst port may explain {}, and not {}",
                        readable(gap->generator), readable(gap->rest));
  return text;
}

Json trait_json(const TraitNames& names, const std::optional<CommonTrait>& where) {
  if (!where) return nullptr;
  constexpr const char* kNames[] = {"port_pair",
                                    "destination_port",
                                    "source_port",
                                    "port",
                                    "destination_host",
                                    "source_host",
                                    "host",
                                    "rank_pair",
                                    "destination_rank",
                                    "source_rank",
                                    "rank",
                                    "job",
                                    "group"};
  return {{"trait", kNames[static_cast<size_t>(where->trait)]},
          {"value", where->value},
          {"other",
           where->trait == Trait::kPortPair || where->trait == Trait::kRankPair ? Json(where->other) : Json(nullptr)},
          {"text", names.value(*where)},
          {"part_of_trouble", where->part_of_trouble},
          {"part_of_traffic", where->part_of_traffic}};
}

}  // namespace

std::vector<std::string> findings(const RunReader& record, const Diagnosis& diagnosis) {
  const RecordedRun* const run = record.emulated();
  if (run == nullptr || !run->ended) return {};
  const TraitNames names(record, *run);
  std::vector<std::string> list;
  for (const LostLink& lost : diagnosis.lost_links)
    list.push_back(fmt::format("port {}{}: {}", names.port(lost.port), names.behind(lost.port), lost.text));
  std::ranges::move(blame_texts(record, diagnosis), std::back_inserter(list));
  for (const std::string& text :
       {failure_text(names, diagnosis.failed),
        loss_text(names, diagnosis.losses, run->end.counters, run->end.verdict == "ok"),
        slow_text(names, record, diagnosis), gap_text(*run, diagnosis.gap), main_cause_text(diagnosis)}) {
    if (!text.empty()) list.push_back(text);
  }
  for (std::string& text : device_disagreements(record)) list.push_back(std::move(text));
  return list;
}

nlohmann::ordered_json diagnosis_json(const RunReader& record, const Diagnosis& diagnosis) {
  const RecordedRun* const run = record.emulated();
  if (run == nullptr || !run->ended) return nullptr;
  const TraitNames names(record, *run);
  const Losses& l = diagnosis.losses;
  Json json;
  json["findings"] = findings(record, diagnosis);
  json["unsearched_executions"] = diagnosis.unsearched;
  json["lost_links"] = Json::array();
  for (const LostLink& lost : diagnosis.lost_links)
    json["lost_links"].push_back({{"port", names.port(lost.port)}, {"text", lost.text}});
  Json drops = Json::array();
  for (const SwitchDrops& drop : l.drops) drops.push_back({{"port", drop.port}, {"frames", drop.frames}});
  json["losses"] = {{"packets", l.packets},
                    {"lost", l.packets == 0 && l.uncounted > 0 ? Json(nullptr) : Json(l.lost)},
                    {"uncounted_packets", l.uncounted},
                    {"generator_missed", l.missed},
                    {"receive_buffer_drops", l.buffer_drops},
                    {"impaired", l.impaired},
                    {"corrupt", l.corrupt},
                    {"switch_drops", std::move(drops)},
                    {"where", trait_json(names, l.where)}};
  json["failed_connections"] = {{"recorded", diagnosis.failed.recorded},
                                {"where", trait_json(names, diagnosis.failed.where)}};
  json["slow_messages"] = nullptr;
  if (const auto& slow = diagnosis.slow)
    json["slow_messages"] = {
        {"reference_s", slow->expected}, {"extra_s", slow->extra}, {"where", trait_json(names, slow->where)}};
  json["gap"] = nullptr;
  if (const auto& gap = diagnosis.gap)
    json["gap"] = {{"gap_ps", gap->gap.ps},
                   {"generator_ps", gap->generator.ps},
                   {"rest_ps", gap->rest.ps},
                   {"base", gap->is_to_median ? "median" : "reference"}};
  return json;
}

}  // namespace rankwire
