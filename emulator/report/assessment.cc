#include "emulator/report/assessment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/diagnosis/loop_turns.h"
#include "emulator/report/band.h"
#include "emulator/report/certification.h"
#include "emulator/report/format.h"
#include "emulator/report/limits.h"
#include "emulator/report/repetitions.h"

namespace rankwire {
namespace {

/// A loop whose turn takes longer than so many messages do stands still.
constexpr int kStandsStill = 10;

/// Below that a gap is not spoken of.
bool matters(Duration gap, Duration whole) {
  return gap * 20 > whole;
}

/// Whether it was cut off by `run.deadline`, and so takes longer than it did.
bool is_overdue(const RecordedRun& run) {
  const std::string_view reason = run.end.reason;
  const size_t at = reason.find("deadline of ");
  if (run.end.verdict != "failed" || at == std::string_view::npos) return false;
  // Behind what became of ports, or the machine that noticed it.
  const std::string_view before = reason.substr(0, at);
  return before.empty() || before.ends_with("; ") || before.ends_with("': ");
}

/// What a message waits for turns of the loop may be all that it takes longer than in the reference.
void judge_messages(const RecordedRun& emulated, Duration expected, std::vector<std::string>& reasons) {
  const Duration message = emulated.latency->p50;
  const Duration turn = typical_turn(emulated.end.turns);
  const Duration gap = message - expected;
  if (!turns_explain_messages(message, expected, turn)) return;
  reasons.push_back(
      fmt::format("a message takes {} longer than in the reference ({} instead of {}, P50), and a turn of the loop "
                  "takes {}: up to {} turns of each message are the generator's own",
                  readable(gap), readable(message), readable(expected), readable(turn), kTurnsOfMessage));
}

/// What the loop's own turns may have added to the emulated side is as large as the gap to the reference: then the gap
/// says nothing of the network.
void judge_turns(const RecordedRun& emulated, const RecordedRun* reference, std::vector<std::string>& reasons) {
  if (emulated.end.turns.empty() || reference == nullptr || !reference->latency) return;
  const bool is_whole = emulated.end.verdict == "ok";
  if ((!is_whole && !is_overdue(emulated)) || reference->end.verdict != "ok") return;
  const Duration expected = reference->latency->p50;
  if (is_whole && emulated.latency) judge_messages(emulated, expected, reasons);
  const Duration longer = emulated.end.completion - reference->end.completion;
  const Duration blind = time_in_turns_above(emulated.end.turns, expected);
  if (matters(longer, emulated.end.completion) && blind * 2 >= longer) {
    reasons.push_back(
        fmt::format("{} passed in turns of the loop that took longer than a message does in the reference ({}): at "
                    "least half of the {} by which the run is longer",
                    readable(blind), readable(expected), readable(longer)));
  }
}

/// Messages of the background are measured for a given time, which a loop that stands still does not lengthen: it is in
/// the times of these messages instead.
void judge_background(const RecordedRun& emulated, const RecordedRun* reference, Duration lasted,
                      std::vector<std::string>& reasons) {
  if (reference == nullptr) return;
  std::optional<Duration> quickest;
  for (const BackgroundRow& entry : reference->end.background)
    if (entry.completion.count > 0) quickest = std::min(quickest.value_or(entry.completion.p50), entry.completion.p50);
  if (!quickest) return;
  const Duration blind = time_in_turns_above(emulated.end.turns, *quickest * kStandsStill);
  if (!matters(blind, lasted)) return;
  reasons.push_back(
      fmt::format("{} of {} passed in turns of the loop that took longer than {} messages of the background do in the "
                  "reference ({} each, P50)",
                  readable(blind), readable(lasted), kStandsStill, readable(*quickest)));
}

/// A run that ended early has no completion time to compare, and may have ended early for the loop's sake: peers give
/// up on what answers so late.
void judge_early_end(const RecordedRun& emulated, const RecordedRun* reference, std::vector<std::string>& reasons) {
  if (emulated.end.verdict == "ok" || reference == nullptr || !reference->latency || reference->end.verdict != "ok")
    return;
  const Duration expected = reference->latency->p50;
  const Duration turn = typical_turn(emulated.end.turns);
  if (turn <= expected * kStandsStill) return;
  reasons.push_back(
      fmt::format("the run is {}, and half of the loop's time passed in turns of {} or more, longer than {} messages "
                  "take in the reference ({} each, P50)",
                  emulated.end.verdict, readable(turn), kStandsStill, readable(expected)));
}

/// "port p3", or with several workers "port p3 (worker 1)".
std::string port_name(const PortCounters& port) {
  return fmt::format("port {}{}", port.name, port.worker ? fmt::format(" (worker {})", *port.worker) : "");
}

/// The one that lost most line time.
std::string slowest_port(std::span<const PortCounters> ports) {
  const auto slowest = std::ranges::max_element(ports, {}, &PortCounters::slipped);
  return slowest != ports.end() && slowest->slipped > Duration(0) ? port_name(*slowest) : "a port";
}

/// What limits say: "limits.ratio: 1.432 is above 1.1; limits.timeouts: ...".
struct LimitTexts {
  std::string broken;   ///< those that are; empty when all are kept
  std::string unclear;  ///< those of which the generator or the reference cannot tell, kept or not
};

/// What makes a ratio that is above its limit none of the network's; empty where nothing does.
std::string explained_excess(const RunReader& record, const LimitResult& result) {
  const RecordedRun* const run = record.emulated();
  if (result.limit.name != "ratio" || result.is_kept || !result.value || run == nullptr) return {};
  if (run->start.fidelity != Fidelity::kEmulated) return {};
  const auto part_of_run = [&](double part) {
    return Duration(static_cast<int64_t>(static_cast<double>(run->end.completion.ps) * part));
  };
  const Duration excess = part_of_run((*result.value - result.limit.value) / *result.value);
  const Duration gap = part_of_run((*result.value - 1) / *result.value);
  return explained_by_lateness(excess, gap, generator_delay(*run, record.reference()));
}

LimitTexts limit_texts(const RunReader& record) {
  const std::optional<Certificate> certificate = record.certificate();
  const double part = certificate ? resolvable_part(*certificate).value_or(0) : 0;
  std::vector<std::string> broken, unclear;
  for (const LimitResult& result : limit_results(record)) {
    if (is_within(result, part)) {
      unclear.push_back(fmt::format("{}, closer to the limit than the {:.2g} % that may be the generator's",
                                    result.text, part * 100));
    } else if (is_between(result)) {
      unclear.push_back(fmt::format("{}, of which one end is above the limit and the other is not", result.text));
    } else if (const std::string explanation = explained_excess(record, result); !explanation.empty()) {
      unclear.push_back(result.text + explanation);
    } else if (!result.is_kept) {
      broken.push_back(result.text);
    }
  }
  return {fmt::format("{}", fmt::join(broken, "; ")), fmt::format("{}", fmt::join(unclear, "; "))};
}

/// Losses and time-outs of the emulated side; empty where there is none, or where kept limits allow what there is.
std::string unlimited_trouble(const RunReader& record) {
  const RecordedRun* const run = record.emulated();
  if (run == nullptr || !run->ended) return {};
  const auto is_limited = [limits = record.limits()](const char* name) {
    return std::ranges::find(limits, name, &LimitInfo::name) != limits.end();
  };
  if (is_limited("retransmissions")) return {};
  const RunReader::WirePackets packets = record.wire_packets(*run);
  std::vector<std::string> trouble;
  if (packets.lost > 0 && !is_limited("loss_ppm"))
    trouble.push_back(fmt::format("{} of {} data packets lost", packets.lost, packets.packets));
  if (const uint64_t timeouts = run->end.counters.timeouts; timeouts > 0 && !is_limited("timeouts"))
    trouble.push_back(counted(timeouts, "time-out"));
  return fmt::format("{}", fmt::join(trouble, ", "));
}

/// Absent of a run that is ok.
std::optional<RecordVerdict> run_verdict(const RunReader& record, const RecordedRun& run) {
  if (run.end.verdict == "ok") return std::nullopt;
  return RecordVerdict{run.end.verdict, run.end.reason, reason_code(record, run)};
}

/// Of an emulated side that is ok: what its limits make of it, or, where there are none, its losses. Absent of a good
/// one.
std::optional<RecordVerdict> limits_verdict(const RunReader& record) {
  const LimitTexts limits = limit_texts(record);
  const std::string trouble = unlimited_trouble(record);
  // The gravest decides, and all of it is said.
  const auto [verdict, code] = !limits.broken.empty()    ? std::pair("failed", "limit_exceeded")
                               : !limits.unclear.empty() ? std::pair("inconclusive", "below_resolution")
                                                         : std::pair("degraded", "degraded");
  std::vector<std::string> reasons;
  for (const std::string& reason : {limits.broken, limits.unclear, trouble})
    if (!reason.empty()) reasons.push_back(reason);
  if (reasons.empty()) return std::nullopt;
  return RecordVerdict{verdict, fmt::format("{}", fmt::join(reasons, "; ")), code};
}

/// How much of the gap to the reference is not the generator's.
std::string explain_limits(const RunReader& record, const RecordedRun& run) {
  if (run.end.verdict != "ok") return "the run did not end well, so there are no times to judge";
  const RecordedRun* const reference = record.reference();
  const std::optional<double> ratio = completion_ratio(record);
  if (!ratio || *ratio <= 1) return "the generator may have set the pace: the times say nothing bad of the network";
  const Duration gap = run.end.completion - reference->end.completion;
  const Duration late = generator_delay(run, reference);
  if (late * 2 >= gap) return "the generator may have set the pace: the times say little of the network";
  return fmt::format(
      "the generator was late for {} at most, which is not all of the {} by which the run is longer than the reference",
      readable(late), readable(gap));
}

}  // namespace

std::string explained_by_lateness(Duration excess, Duration gap, Duration late) {
  if (late >= excess) return fmt::format(", by {}, which lateness of the generator may explain", readable(excess));
  if (late * 2 < gap || excess > gap) return {};
  return fmt::format(", by {}, of which lateness of the generator may explain {}, and that is most of the gap",
                     readable(excess), readable(late));
}

std::string reason_code(const RunReader& record, const RecordedRun& run) {
  if (!run.ended) return run.at_work ? "running" : "no_end";
  const RunEnd& end = run.end;
  if (end.verdict == "ok") return "completed";
  if (end.verdict == "stalled") return "no_progress";
  if (end.verdict == "interrupted") return "signal";
  if (is_overdue(run)) return "deadline";
  const std::vector<FailureRow> failures = record.failures(run);
  if (!failures.empty() && is_unconnected(failures.front())) return "not_connected";
  if (end.counters.messages_failed != 0 || !failures.empty()) return "message_failed";
  if (end.messages_lost + end.messages_duplicated + end.counters.payload_errors != 0) return "wrong_delivery";
  return "error";
}

RecordVerdict emulated_verdict(const RunReader& record) {
  const RecordedRun& run = *record.emulated();
  if (const auto bad = run_verdict(record, run)) return *bad;
  if (const auto bad = limits_verdict(record)) return *bad;
  return {"ok", run.end.reason, "completed"};
}

RecordVerdict verdict_of(const RunReader& record) {
  const RecordedRun* const emulated = record.emulated();
  if (emulated == nullptr && record.models().empty())
    return {"interrupted", "the record ends before any run began", "not_begun"};
  std::optional<RecordVerdict> of_models;
  for (const RecordedRun* run : record.models()) {
    if (!of_models && run != emulated) of_models = run_verdict(record, *run);
  }
  if (!of_models && !record.failure().empty()) of_models = RecordVerdict{"failed", record.failure(), "error"};
  if (!of_models && !record.interruption().empty())
    of_models = RecordVerdict{"interrupted", record.interruption(), "signal"};
  if (!record.repetitions().empty()) return verdict_of_repetitions(record, of_models);
  if (emulated != nullptr) {
    if (const auto bad = run_verdict(record, *emulated)) return *bad;
  }
  if (of_models) return *of_models;
  if (const auto bad = limits_verdict(record)) return *bad;
  return {"ok", (emulated != nullptr ? emulated : record.models().front())->end.reason, "completed"};
}

FidelityAssessment assess_fidelity(const RunReader& record) {
  FidelityAssessment assessment{"ok", {}};
  const RecordedRun* run = record.emulated();
  if (run == nullptr) return assessment;
  // What the generator counted is written at the end.
  if (!run->ended) return {"unknown", {}};
  const TransportCounters& counters = run->end.counters;
  std::vector<std::string>& reasons = assessment.reasons;
  const std::vector<PortCounters> ports = record.ports(*run);
  const Duration lasted = time_reached(record, *run);
  const auto judge = [&](const std::string& who, Duration lost, const char* what) {
    if (lost.ps <= lasted.ps / 100) return;
    reasons.push_back(fmt::format("{} lost {} of {} for good, more than 1 % of the {} {}", who, readable(lost), what,
                                  run->end.verdict == "ok" ? "completion time" : "time until the last progress,",
                                  readable(lasted)));
  };
  judge(slowest_port(ports), counters.slipped, "line time");
  judge("a queue pair that congestion control paces", counters.pacing_slipped, "its schedule");
  if (counters.post_refused != 0) {
    reasons.push_back(fmt::format("{} messages were refused by a full message pool", counters.post_refused));
  }
  for (const PortCounters& port : ports) {
    if (port.rx_missed == 0) continue;
    reasons.push_back(
        fmt::format("{} missed {} frames because nobody took them in time", port_name(port), port.rx_missed));
  }
  if (const auto stall = record.stall(*run); stall && stall->kind == "generator_starvation")
    reasons.push_back("the loop itself stood still when the run was stopped");
  judge_turns(*run, record.reference(), reasons);
  judge_background(*run, record.reference(), lasted, reasons);
  judge_early_end(*run, record.reference(), reasons);
  if (!reasons.empty()) assessment.fidelity = "generator_limited";
  return assessment;
}

const RecordedRun* principal_run(const RunReader& record) {
  // One that threw has measured nothing.
  const auto tells = [](const RecordedRun* run) {
    return run != nullptr && run->ended && (run->end.verdict != "failed" || run->end.messages > 0);
  };
  for (const RecordedRun* run : {record.emulated(), record.reference()})
    if (tells(run)) return run;
  return nullptr;
}

bool did_anything(const RecordedRun& run) {
  const RunEnd& end = run.end;
  const bool may_not_have_begun = end.verdict == "interrupted" || end.verdict == "failed";
  return !may_not_have_begun || end.completion > Duration() || end.counters.messages_sent > 0 ||
         std::ranges::any_of(end.background, [](const BackgroundRow& entry) { return entry.posted > 0; });
}

std::optional<Duration> completion_of(const RunReader& record, const RecordedRun* run) {
  if (run == nullptr || !run->ended || !did_anything(*run)) return std::nullopt;
  return time_reached(record, *run);
}

Duration time_reached(const RunReader& record, const RecordedRun& run) {
  if (run.end.verdict == "ok") return run.end.completion;
  const std::optional<StallRow> stall = record.stall(run);
  return stall ? std::max(run.end.completion, stall->last_progress - Time()) : run.end.completion;
}

std::optional<double> completion_ratio(const RunReader& record) {
  for (const RecordedRun* run : {record.emulated(), record.reference()}) {
    if (run == nullptr || !run->ended || run->end.verdict != "ok") return std::nullopt;
  }
  return ratio_of(record.emulated()->end.completion, record.reference()->end.completion);
}

std::string describe_completion(const RunReader& record) {
  std::string text;
  for (const RecordedRun* run : {record.emulated(), record.reference()}) {
    if (run == nullptr) continue;
    if (!text.empty()) text += ", ";
    if (run->ended && !did_anything(*run)) {
      text += fmt::format("{} not run", to_string(run->start.fidelity));
      continue;
    }
    if (run->end.verdict != "ok") text += run->end.verdict + (run->ended ? " after " : "");
    if (run->ended) text += readable(time_reached(record, *run));
    text += fmt::format(" {}", to_string(run->start.fidelity));
  }
  if (const auto ratio = predicted_ratio(record)) {
    text += ", ratio " + readable_ratio(ratio);
    if (reference_band(record)) text += " of the band's median";
  }
  return text.empty() ? "-" : text;
}

std::string explain_fidelity(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  if (run == nullptr) return "nothing was emulated: all times are those of the reference model";
  if (!run->ended)
    return fmt::format("the {} run {}, so what its generator counted is not in the record",
                       to_string(run->start.fidelity), run->at_work ? "is still at work" : "has no end");
  if (assess_fidelity(record).fidelity != "ok") {
    return explain_limits(record, *run);
  }
  if (run->start.fidelity == Fidelity::kTwin) {
    return "packet-level twin in virtual time: no device took part, and the generator is never late";
  }
  if (!did_anything(*run)) return "nothing was sent, so there are no times to judge";
  if (is_off_the_wires(*run)) return "nothing was on a wire: what is longer than in the reference is the loop's own";
  if (run->end.verdict != "ok")
    return fmt::format("the generator kept its schedule as far as the run went (worst stall {})",
                       readable(run->end.counters.worst_stall));
  return fmt::format(
      "the generator kept its schedule (worst stall {}): the times are the network's but for what is given to the "
      "generator",
      readable(run->end.counters.worst_stall));
}

std::vector<std::string> all_warnings(const RunReader& record) {
  std::vector<std::string> warnings = record.warnings();
  if (const std::string unjudged = unjudged_limits_text(record); !unjudged.empty()) warnings.push_back(unjudged);
  for (const RecordedRun& run : record.runs()) {
    const char* name = to_string(run.start.fidelity);
    if (run.loss.operations != 0) {
      warnings.push_back(fmt::format("{} operations of the {} run are not in the record: its writer fell behind",
                                     run.loss.operations, name));
    }
    if (run.loss.messages != 0) {
      warnings.push_back(fmt::format("{} message ends of the {} run are not in the record: its writer fell behind",
                                     run.loss.messages, name));
    }
    if (run.loss.unjoined != 0) {
      warnings.push_back(
          fmt::format("{} message ends of the {} run have no other end in the record", run.loss.unjoined, name));
    }
  }
  return warnings;
}

}  // namespace rankwire
