#include "emulator/diagnosis/diagnosis.h"

#include <algorithm>
#include <future>
#include <map>
#include <utility>

#include "emulator/diagnosis/loop_turns.h"
#include "emulator/diagnosis/slower_step.h"
#include "emulator/record/bulk_reader.h"
#include "emulator/record/lost_links.h"
#include "emulator/record/reference_band.h"

namespace rankwire {
namespace {

/// What of a run all questions need.
struct WireTraffic {
  std::vector<PairTraffic> pairs;
  std::vector<RankNic> nics;
  std::vector<LostLink> lost_links;
};

std::vector<LostLink> lost_links_of(const RunReader& record, const RecordedRun& run) {
  std::vector<LostLink> links;
  if (run.end.verdict == "ok") return links;
  for (const PortSettingRow& lost : lost_links(record.port_settings(run)))
    links.push_back({lost.port, lost_link_text(lost)});
  return links;
}

WireTraffic read_traffic(const RunReader& record, const RecordedRun& run) {
  WireTraffic traffic;
  traffic.nics = record.rank_nics(run);
  traffic.lost_links = lost_links_of(record, run);
  record.for_each_pair(run, [&](const PairTraffic& pair) { traffic.pairs.push_back(pair); });
  return traffic;
}

double seconds_of(Duration duration) {
  return static_cast<double>(duration.ps) / 1e12;
}

TroubledPair troubled(const PairTraffic& pair, double trouble, double traffic) {
  return {.job = pair.job,
          .group = pair.group,
          .source = pair.source,
          .destination = pair.destination,
          .trouble = trouble,
          .traffic = traffic};
}

/// A single port that lost its link, where half of the trouble and more is on connections with an end there; else as
/// common_trait.
std::optional<CommonTrait> where_of(std::span<const TroubledPair> pairs, const WireTraffic& traffic,
                                    const Observations& observations) {
  const auto common = [&] { return common_trait(pairs, traffic.nics, observations); };
  if (traffic.lost_links.size() != 1) return common();
  const PortId port = traffic.lost_links.front().port;
  const auto is_there = [&](RankId rank) {
    return rank.value < traffic.nics.size() && traffic.nics[rank.value].port == port;
  };
  CommonTrait found{.trait = Trait::kPort, .value = port.value, .other = 0, .group = {}};
  double trouble = 0, all = 0;
  for (const TroubledPair& pair : pairs) {
    trouble += pair.trouble, all += pair.traffic;
    if (is_there(pair.source) || is_there(pair.destination))
      found.part_of_trouble += pair.trouble, found.part_of_traffic += pair.traffic;
  }
  if (trouble <= 0 || all <= 0 || found.part_of_trouble * 2 < trouble) return common();
  found.part_of_trouble /= trouble, found.part_of_traffic /= all;
  return found;
}

/// Of one job, absent: of all, what queue pairs count; what ports do is of all.
Losses losses_of(const RunReader& record, const RecordedRun& run, const WireTraffic& traffic,
                 std::optional<JobId> job = std::nullopt) {
  Losses losses;
  std::map<std::pair<PortId, PortId>, PortLosses> ports;
  std::vector<TroubledPair> pairs;
  for (const PairTraffic& pair : traffic.pairs) {
    if (job && pair.job != *job) continue;
    losses.packets += pair.counted;
    losses.lost += pair.lost;
    losses.uncounted += pair.packets - pair.counted;
    // What is sent again makes no more traffic of it: who loses most sends most.
    const uint64_t first = pair.counted - std::min(pair.counted, pair.retransmitted);
    pairs.push_back(troubled(pair, static_cast<double>(pair.lost), static_cast<double>(first)));
    if (std::max(pair.source.value, pair.destination.value) >= traffic.nics.size() || pair.counted == 0) continue;
    const PortId source = traffic.nics[pair.source.value].port, destination = traffic.nics[pair.destination.value].port;
    PortLosses& of_ports = ports.try_emplace({source, destination}, PortLosses{source, destination}).first->second;
    of_ports.packets += pair.counted;
    of_ports.lost += pair.lost;
  }
  for (const auto& [ends, of_ports] : ports) losses.ports.push_back(of_ports);
  for (const PortCounters& port : record.ports(run)) {
    losses.missed += port.rx_missed;
    losses.corrupt += port.rx_icrc_encapsulated;
    if (port.dropped > 0) losses.drops.push_back({port.name, port.dropped});
  }
  for (const DetailRow& detail : run.end.details)
    if (detail.name == "receive_buffer_drops") losses.buffer_drops = detail.value;
  for (const ImpairmentRuleRow& rule : record.impairment_rules(run))
    if (makes_lost(rule.action)) losses.impaired += rule.done;
  std::ranges::stable_sort(losses.drops, std::ranges::greater(), &SwitchDrops::frames);
  losses.where = where_of(pairs, traffic, {losses.lost, {}});
  return losses;
}

FailedConnections failed_of(const RunReader& record, const RecordedRun& run, const WireTraffic& traffic) {
  std::map<std::pair<RankId, RankId>, double> failures;
  FailedConnections failed;
  for (const FailureRow& failure : record.failures(run)) {
    ++failed.recorded;
    ++failures[{failure.connection.source, failure.connection.destination}];
  }
  if (failed.recorded == 0) return failed;
  std::vector<TroubledPair> pairs;
  uint64_t failed_pairs = 0;  // of which several connections may have failed
  for (const PairTraffic& pair : traffic.pairs) {
    const auto failure = failures.extract({pair.source, pair.destination});
    failed_pairs += failure ? 1 : 0;
    pairs.push_back(troubled(pair, failure ? failure.mapped() : 0, 1));
  }
  failed.where = where_of(pairs, traffic, {failed_pairs, pairs.size()});
  return failed;
}

std::optional<SlowMessages> slow_of(const RunReader& record, const RecordedRun& emulated, const RecordedRun& reference,
                                    const std::vector<RankNic>& nics) {
  SlowMessages slow;
  std::vector<TroubledPair> pairs;
  record.for_each_flow_time(emulated, reference, [&](const FlowTimes& flow) {
    const double messages = static_cast<double>(flow.messages);
    const double expected = seconds_of(flow.second) * messages;
    const double extra = seconds_of(std::max(flow.first - flow.second, Duration())) * messages;
    slow.expected += expected, slow.extra += extra;
    pairs.push_back({.job = flow.job,
                     .group = {},
                     .source = flow.source,
                     .destination = flow.destination,
                     .trouble = extra,
                     .traffic = expected});
  });
  if (pairs.empty()) return std::nullopt;
  slow.where = common_trait(pairs, nics, {pairs.size(), {}});
  return slow;
}

/// Whether a run ended well, and no rows of it are missing.
bool can_be_searched(const RecordedRun* run) {
  return run != nullptr && run->ended && run->end.verdict == "ok" && run->loss.operations == 0;
}

/// Paths to the ends of jobs.
void find_paths_of_jobs(const RunReader& record, const Executions& emulated, const Executions& reference,
                        Diagnosis& diagnosis) {
  const auto last = emulated.job(emulated.last());
  for (const JobInfo& job : record.jobs()) {
    const std::optional<uint32_t> end = emulated.last_of_job(job.job), expected = reference.last_of_job(job.job);
    if (job.job == last || !end || !expected) continue;
    if (diagnosis.jobs.size() == Diagnosis::kMostJobs) break;
    JobDiagnosis& found =
        diagnosis.jobs.emplace_back(JobDiagnosis{.job = job.job, .path = {}, .waterfall = {}, .blame = {}});
    found.path = critical_path(record, emulated, end);
    found.waterfall = waterfall(record, *record.emulated(), found.path, emulated, reference, expected);
    attribute_lateness(found.waterfall, generator_delay(*record.emulated(), record.reference()));
  }
}

/// Of each part how much of it became the generator's, 0 .. 1.
std::array<double, kGapCauses> lateness_of(const GapParts& before, const GapParts& after) {
  std::array<double, kGapCauses> late{};
  for (size_t cause = 0; cause < kGapCauses; ++cause)
    if (before[cause] > after[cause] && before[cause] > Duration())
      late[cause] = static_cast<double>((before[cause] - after[cause]).ps) / static_cast<double>(before[cause].ps);
  return late;
}

void find_paths(const RunReader& record, std::span<const OperationRow> asked, Diagnosis& diagnosis) {
  std::vector<uint32_t> runs;
  for (const RecordedRun* run : {record.emulated(), record.reference()})
    if (can_be_searched(run)) runs.push_back(run->run);
  auto reading =
      std::async(std::launch::async, [&] { return read_executions(record.folder(), runs, Executions::kMost); });
  const NodeMeetings meetings(record);
  std::vector<RunExecutions> read = reading.get();
  std::future<Executions> of_emulated, of_reference;  // put in order beside each other
  for (size_t i = 0; i < read.size(); ++i) {
    RunExecutions& executions = read[i];
    if (executions.count > Executions::kMost) diagnosis.unsearched = std::max(diagnosis.unsearched, executions.count);
    if (executions.rows.empty()) continue;
    const bool is_emulated = i == 0 && can_be_searched(record.emulated());
    (is_emulated ? of_emulated : of_reference) =
        std::async(std::launch::async, [&] { return Executions(std::move(executions.rows), record.jobs(), meetings); });
  }
  std::optional<Executions> emulated, reference;
  if (of_emulated.valid()) emulated.emplace(of_emulated.get());
  if (of_reference.valid()) reference.emplace(of_reference.get());
  if (emulated) {
    diagnosis.path = critical_path(record, *emulated);
    find_connections(record, *record.emulated(), *emulated, *diagnosis.path);
  }
  if (reference) diagnosis.reference_path = critical_path(record, *reference);
  if (emulated || reference) diagnosis.slack = slack_table(record, emulated ? *emulated : *reference);
  if (!emulated || !reference) return;
  diagnosis.waterfall = waterfall(record, *record.emulated(), *diagnosis.path, *emulated, *reference);
  const GapParts as_recorded = diagnosis.waterfall->parts;
  attribute_lateness(*diagnosis.waterfall, generator_delay(*record.emulated(), record.reference()));
  diagnosis.removed = remove_causes(record, *record.emulated(), *emulated, *reference,
                                    lateness_of(as_recorded, diagnosis.waterfall->parts));
  diagnosis.operations = operation_gaps(record, *record.emulated(), asked, *emulated, *reference);
  find_paths_of_jobs(record, *emulated, *reference, diagnosis);
}

/// By how much the run took longer than the reference; and whether that is the median of a band behind whose end the
/// run is. A single run of the model may itself be far outside of the band, and then says nothing of the network.
std::pair<Duration, bool> gap_of(const RunReader& record, const RecordedRun& run, const RecordedRun& reference) {
  const std::optional<ReferenceBand> band = reference_band(record);
  const Duration completion = run.end.completion;
  if (band && beyond(*band, completion) > Duration()) return {completion - band->median, true};
  return {completion - reference.end.completion, false};
}

/// By how much earlier the run ends in a replay without each part of its gap; 0 where nothing was replayed.
GapParts worth_of(const Diagnosis& diagnosis) {
  GapParts worth{};
  if (!diagnosis.removed) return worth;
  for (size_t cause = 0; cause < kGapCauses; ++cause)
    if (const auto& without = diagnosis.removed->without[cause]) worth[cause] = diagnosis.path->completion - *without;
  return worth;
}

void find_blame(const RunReader& record, const RecordedRun& run, Duration gap, const WireTraffic& traffic,
                Diagnosis& diagnosis) {
  diagnosis.blame = blame(blame_facts(record, {.job = {},
                                               .completion = run.end.completion,
                                               .gap = gap,
                                               .path = diagnosis.path ? &*diagnosis.path : nullptr,
                                               .waterfall = diagnosis.waterfall ? &*diagnosis.waterfall : nullptr,
                                               .worth = worth_of(diagnosis),
                                               .losses = &diagnosis.losses,
                                               .lost_of_run = diagnosis.losses.lost,
                                               .unsearched = diagnosis.unsearched}));
  for (JobDiagnosis& job : diagnosis.jobs) {
    const Losses losses = losses_of(record, run, traffic, job.job);
    const bool has_span = job.job.value < run.end.jobs.size();
    const std::optional<Duration> completion = has_span ? run.end.jobs[job.job.value].completion() : std::nullopt;
    job.blame = blame(blame_facts(record, {.job = job.job,
                                           .completion = completion.value_or(job.path.completion),
                                           .gap = job.waterfall.gap,
                                           .path = &job.path,
                                           .waterfall = &job.waterfall,
                                           .losses = &losses,
                                           .lost_of_run = diagnosis.losses.lost}));
  }
}

}  // namespace

bool is_off_the_wires(const RecordedRun& run) {
  const RunEnd& end = run.end;
  // Signals are messages without bytes, and RDMA devices do not count their packets.
  const bool is_planned = end.messages > 0 && (end.bytes_wire.count > 0 || end.bytes_local.count == 0);
  return !is_planned && end.counters.packets_tx == 0 &&
         std::ranges::none_of(end.background, [](const BackgroundRow& entry) { return entry.posted > 0; });
}

Duration generator_delay(const RecordedRun& emulated, const RecordedRun* reference) {
  const TransportCounters& counters = emulated.end.counters;
  Duration late = counters.slipped + counters.pacing_slipped;
  if (reference != nullptr && !emulated.end.turns.empty() && is_off_the_wires(emulated))
    return std::max(late, emulated.end.completion - reference->end.completion);
  if (reference == nullptr || !reference->latency || emulated.end.turns.empty()) return late;
  const Duration expected = reference->latency->p50;
  late = std::max(late, time_in_turns_above(emulated.end.turns, expected));
  if (!emulated.latency) return late;
  const Duration message = emulated.latency->p50, turn = typical_turn(emulated.end.turns);
  if (!turns_explain_messages(message, expected, turn)) return late;
  const double part = static_cast<double>((turn * kTurnsOfMessage).ps) / static_cast<double>(message.ps);
  const auto all = static_cast<double>(emulated.end.completion.ps);
  return std::max(late, Duration(static_cast<int64_t>(all * std::min(1.0, part))));
}

Diagnosis diagnose(const RunReader& record, std::span<const OperationRow> asked) {
  Diagnosis diagnosis;
  find_paths(record, asked, diagnosis);
  const RecordedRun* const run = record.emulated();
  if (run == nullptr || !run->ended) return diagnosis;
  const WireTraffic traffic = read_traffic(record, *run);
  diagnosis.losses = losses_of(record, *run, traffic);
  diagnosis.lost_links = traffic.lost_links;
  diagnosis.failed = failed_of(record, *run, traffic);
  diagnosis.shares = port_shares(record, *run);
  const RecordedRun* const reference = record.reference();
  if (reference == nullptr || !reference->ended) return diagnosis;
  diagnosis.slow = slow_of(record, *run, *reference, traffic.nics);
  if (run->end.verdict != "ok" || reference->end.verdict != "ok") return diagnosis;
  const auto [gap, is_to_median] = gap_of(record, *run, *reference);
  find_blame(record, *run, gap, traffic, diagnosis);
  if (gap <= Duration()) return diagnosis;
  Duration generator = generator_delay(*run, reference);
  // With frames that its own ports missed.
  for (const Blame& blame : diagnosis.blame)
    if (blame.kind == BlameKind::kLateGenerator) generator = std::max(generator, blame.gap);
  generator = std::min(gap, generator);
  diagnosis.gap = GapShares{.gap = gap, .generator = generator, .rest = gap - generator, .is_to_median = is_to_median};
  return diagnosis;
}

}  // namespace rankwire
