#include "emulator/report/blame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "emulator/report/format.h"
#include "emulator/report/gap_parts.h"
#include "emulator/report/html_table.h"
#include "emulator/report/port_names.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// What culprits are called.
class CulpritNames {
 public:
  explicit CulpritNames(const RunReader& record) : record_(record), ranks_(record) {
    if (const RecordedRun* run = record.emulated(); run != nullptr && run->ended)
      ports_ = port_names(record, *run), nics_ = record.rank_nics(*run);
  }

  /// "rank 3 (host 3)", "port p4 (host 4)"; empty of nobody.
  std::string operator()(const Culprit& culprit) const {
    switch (culprit.kind) {
      case Culprit::Kind::kNobody:
        return {};
      case Culprit::Kind::kRank:
        return ranks_.titled(culprit.number) + host_of(culprit.number);
      case Culprit::Kind::kHost:
        return fmt::format("host {}", culprit.number);
      case Culprit::Kind::kCable:
        return "cable " + culprit.name;
      case Culprit::Kind::kSwitch:
        return "switch " + culprit.name;
      case Culprit::Kind::kPort:
        return "port " + name_of(ports_, PortId(culprit.number)) + host_behind(nics_, PortId(culprit.number));
      case Culprit::Kind::kJob:
        return "job " + (culprit.name.empty() ? job(culprit.number) : culprit.name);
      case Culprit::Kind::kGenerator:
        return "the generator";
    }
    return {};
  }

 private:
  std::string job(uint32_t number) const {
    const auto& jobs = record_.jobs();
    return number < jobs.size() ? jobs[number].name : std::to_string(number);
  }
  std::string host_of(uint32_t rank) const {
    return rank < nics_.size() && nics_[rank].host ? fmt::format(" (host {})", *nics_[rank].host) : std::string();
  }

  const RunReader& record_;
  RankNames ranks_;
  std::map<PortId, std::string> ports_;
  std::vector<RankNic> nics_;
};

const char* kind_phrase(BlameKind kind) {
  constexpr const char* kPhrases[kBlameKinds] = {"slow rank",
                                                 "slow NIC",
                                                 "lossy cable",
                                                 "slow switch or cable",
                                                 "collision of flows",
                                                 "pause storm",
                                                 "ECN threshold too low",
                                                 "congestion control too timid",
                                                 "receiver not ready",
                                                 "traffic of others",
                                                 "late generator",
                                                 "window too small",
                                                 "reordering",
                                                 "the reference model",
                                                 "unexplained"};
  return kPhrases[static_cast<size_t>(kind)];
}

/// Losses of all alike are no cable's.
bool is_everywhere(const Blame& blame) {
  return blame.kind == BlameKind::kLossyCable && blame.culprit.kind == Culprit::Kind::kNobody;
}

std::string title_of(const Blame& blame) {
  return is_everywhere(blame) ? "losses" : kind_phrase(blame.kind);
}

std::string culprit_of(const CulpritNames& names, const Blame& blame) {
  return is_everywhere(blame) ? "the network as a whole" : names(blame.culprit);
}

/// "repairing it held the critical path up for 3 ms".
std::string repair_text(const Evidence& e, const char* what) {
  if (!e.is_inferred) return fmt::format("{} held the critical path up for {}", what, readable(e.time));
  return fmt::format(
      "{} is what may have taken {} (record.causes was off, or no operations were recorded, so that nobody knows how "
      "long it took)",
      what, readable(e.time));
}

std::string rounded_percent(double part) {
  return fmt::format("{:.0f} %", 100 * part);
}

std::string per_cent_of(uint64_t count, uint64_t of) {
  return of == 0 ? std::string()
                 : fmt::format(" ({:.2g} %)", 100 * static_cast<double>(count) / static_cast<double>(of));
}

std::string waited_beyond(const Evidence& e) {
  return e.waited > Duration() ? fmt::format(", and packets waited {} that it knows nothing of", readable(e.waited))
                               : std::string();
}

std::string trips(const Evidence& evidence) {
  if (evidence.typical <= Duration()) return {};
  return fmt::format("; half of the round trips take {} or less, the shortest {}", readable(evidence.typical),
                     readable(evidence.shortest));
}

/// "; rank 3 and rank 5 take longer there as well, so that each hides the others".
std::string also_text(const CulpritNames& names, const std::vector<RankId>& also) {
  if (also.empty()) return {};
  std::vector<std::string> ranks;
  for (const RankId rank : also) ranks.push_back(names({.kind = Culprit::Kind::kRank, .number = rank.value}));
  return fmt::format("; {} take{} longer there as well, so that each hides the other{}", fmt::join(ranks, " and "),
                     also.size() == 1 ? "s" : "", also.size() == 1 ? "" : "s");
}

/// Numbers in a sentence.
std::string evidence_of(const CulpritNames& names, const Blame& blame) {
  const Evidence& e = blame.evidence;
  switch (blame.kind) {
    case BlameKind::kSlowRank:
      return fmt::format(
          "it computes {:.3g} times as long as half of the ranks do at most, for the same, in {} of the "
          "critical path{}",
          e.factor, counted(e.count, "step"), also_text(names, e.also));
    case BlameKind::kSlowNic:
      if (e.of > 0)
        return fmt::format(
            "{} packets{} found no room in {}", e.count, per_cent_of(e.count, e.of),
            blame.culprit.kind == Culprit::Kind::kNobody ? "receive buffers of all alike" : "its receive buffer");
      return fmt::format("it paused the network {} times, for want of room in its receive buffer", e.count);
    case BlameKind::kLossyCable:
      if (e.of == 0)
        return fmt::format("{} acknowledgements or other answers and no data packets were lost, and {}", e.count,
                           repair_text(e, "sending again"));
      return fmt::format("{} of {} data packets{} were lost{}, and {}", e.count, e.of, per_cent_of(e.count, e.of),
                         e.on_purpose > 0 ? fmt::format(", {} of them on purpose (impairments)", e.on_purpose) : "",
                         repair_text(e, "repairing it"));
    case BlameKind::kSlowSpine:
      return fmt::format("while no cable fails or is degraded the reference takes {} less{}; most waits there",
                         readable(e.time), waited_beyond(e));
    case BlameKind::kEcmpCollision:
      return fmt::format("{}were flows spread evenly over equal paths, the reference would take {} less{}",
                         e.factor > 0
                             ? fmt::format("it carries {:.3g} times the mean of the cables beside it; ", e.factor)
                             : std::string(),
                         readable(e.time), waited_beyond(e));
    case BlameKind::kPfcStorm:
      if (e.count == 0) return fmt::format("senders were paused for {} of the critical path", readable(e.time));
      return fmt::format("{} pause frames, whatever it received, held the critical path up for {}", e.count,
                         readable(e.time));
    case BlameKind::kEcnThreshold:
      return fmt::format("{} packets{} were marked, for which senders slowed down for {} of the critical path{}",
                         e.count, per_cent_of(e.count, e.of), readable(e.time), trips(e));
    case BlameKind::kCongestionControl:
      return fmt::format(
          "it held senders back for {} of the critical path, {}{}", readable(e.time),
          e.count == 0 ? "and no packet was marked" : fmt::format("for {} packets that were marked", e.count),
          trips(e));
    case BlameKind::kReceiverNotReady:
      return fmt::format("{} times a receiver was not ready, which held the critical path up for {}", e.count,
                         readable(e.time));
    case BlameKind::kBackground:
      return fmt::format(
          "without it the reference takes {} less{}{}", readable(e.time), waited_beyond(e),
          e.count == 0 ? std::string()
                       : fmt::format("; it delivered {} meanwhile", readable(Bytes(static_cast<int64_t>(e.count)))));
    case BlameKind::kLateGenerator:
      return fmt::format("slips and long turns of its loop explain {}{}{}", readable(e.time),
                         e.typical > Duration() ? fmt::format("; a turn takes {}", readable(e.typical)) : "",
                         e.count > 0 ? fmt::format("; it missed {} frames", e.count) : "");
    case BlameKind::kSmallWindow:
      return fmt::format("senders waited {} of the critical path for acknowledgements, with the window full{}",
                         readable(e.time), trips(e));
    case BlameKind::kReordering:
      return fmt::format("packets came out of order {} times, of which none was lost, and {}", e.count,
                         repair_text(e, "sending again"));
    case BlameKind::kModel:
      return fmt::format(
          "packets waited {} of the critical path behind acknowledgements on their ports' lines, which it gives no "
          "time",
          readable(e.time));
    case BlameKind::kUnexplained:
      if (e.unsearched > 0)
        return fmt::format("{} executions are too many to be searched for the critical path, which would say more",
                           e.unsearched);
      return e.part
                 ? fmt::format(
                       "{} of the critical path were lost to {}, and the record does not say whose doing that is",
                       readable(e.part_time), phrase_of(*e.part))
                 : fmt::format("the record does not say what {} of the critical path were lost to", readable(e.time));
  }
  return {};
}

/// The next one, where it has a quarter of what was lost or more and is somebody's doing.
std::string also_to_blame(const CulpritNames& names, const std::vector<Blame>& blame) {
  constexpr double kLeastShare = 0.25;
  if (blame.size() < 2 || blame[1].share < kLeastShare) return {};
  if (blame[1].kind == BlameKind::kUnexplained || blame[1].kind == BlameKind::kModel) return {};
  const std::string culprit = culprit_of(names, blame[1]);
  return fmt::format("; also to blame: {}{}, for {} ({})", title_of(blame[1]), culprit.empty() ? "" : ", " + culprit,
                     readable(blame[1].gap), rounded_percent(blame[1].share));
}

/// `whose`: " for job a", or nothing.
std::string sentence(const CulpritNames& names, const std::string& whose, const std::vector<Blame>& blame) {
  const Blame& first = blame.front();
  const std::string culprit = culprit_of(names, first);
  return fmt::format("to blame{}: {}{}, for {} ({} of what was lost), confidence {}: {}", whose, title_of(first),
                     culprit.empty() ? "" : ", " + culprit, readable(first.gap), rounded_percent(first.share),
                     to_string(first.confidence), evidence_of(names, first)) +
         also_to_blame(names, blame);
}

Json json_of(const CulpritNames& names, const std::vector<Blame>& all) {
  Json list = Json::array();
  for (const Blame& blame : all) {
    const std::string culprit = names(blame.culprit);
    list.push_back({{"kind", to_string(blame.kind)},
                    {"culprit", culprit.empty() ? Json(nullptr) : Json(culprit)},
                    {"gap_ps", blame.gap.ps},
                    {"share", blame.share},
                    {"confidence", to_string(blame.confidence)},
                    {"evidence", evidence_of(names, blame)}});
  }
  return list;
}

/// The job that ended last, whose blame is the run's; absent where there is no other, or the record does not say which.
std::optional<JobId> last_job(const RunReader& record, const Diagnosis& diagnosis) {
  if (record.jobs().size() < 2 || !diagnosis.path) return std::nullopt;
  const JobId last = diagnosis.path->steps.back().node.job;
  return last.value < record.jobs().size() ? std::optional(last) : std::nullopt;
}

}  // namespace

std::vector<std::string> blame_texts(const RunReader& record, const Diagnosis& diagnosis) {
  const CulpritNames names(record);
  std::vector<std::string> texts;
  const auto whose = [&](JobId job) { return " for job " + record.jobs()[job.value].name; };
  const std::optional<JobId> last = last_job(record, diagnosis);
  if (!diagnosis.blame.empty()) texts.push_back(sentence(names, last ? whose(*last) : "", diagnosis.blame));
  for (const JobDiagnosis& job : diagnosis.jobs)
    if (!job.blame.empty()) texts.push_back(sentence(names, whose(job.job), job.blame));
  return texts;
}

Json blame_json(const RunReader& record, const Diagnosis& diagnosis) {
  return json_of(CulpritNames(record), diagnosis.blame);
}

Json job_blame_json(const RunReader& record, const Diagnosis& diagnosis, JobId job) {
  if (last_job(record, diagnosis) == job) return blame_json(record, diagnosis);
  const auto found = std::ranges::find(diagnosis.jobs, job, &JobDiagnosis::job);
  return found == diagnosis.jobs.end() ? Json(nullptr) : json_of(CulpritNames(record), found->blame);
}

std::string html_blame(const RunReader& record, const Diagnosis& diagnosis) {
  const CulpritNames names(record);
  const std::optional<JobId> last = last_job(record, diagnosis);
  std::vector<HtmlTable::Heading> headings = {
      {"To blame", HtmlColumn::kText},   {"Culprit", HtmlColumn::kText}, {"Lost"}, {"Of what was lost"},
      {"Confidence", HtmlColumn::kText}, {"Evidence", HtmlColumn::kText}};
  if (last) headings.insert(headings.begin(), {"Job", HtmlColumn::kText});
  HtmlTable table("blame", headings);
  bool is_empty = true;
  const auto add = [&](std::optional<JobId> job, const std::vector<Blame>& list) {
    for (const Blame& blame : list) {
      std::vector<HtmlCell> cells = {title_of(blame),
                                     culprit_of(names, blame),
                                     blame.gap,
                                     HtmlCell::bar(rounded_percent(blame.share), blame.share),
                                     std::string(to_string(blame.confidence)),
                                     evidence_of(names, blame)};
      if (last) cells.insert(cells.begin(), record.jobs()[job->value].name);
      table.add(cells);
      is_empty = false;
    }
  };
  add(last, diagnosis.blame);
  for (const JobDiagnosis& job : diagnosis.jobs) add(job.job, job.blame);
  return is_empty ? std::string() : std::move(table).finish();
}

}  // namespace rankwire
