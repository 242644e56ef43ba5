#include "emulator/assembly/stall_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "emulator/engine/communication.h"
#include "emulator/engine/rank_wait.h"

namespace rankwire {

StallFacts stall_facts(const Setup& setup, WorkerEngines& engines) {
  StallFacts facts;
  facts.ranks = static_cast<uint32_t>(setup.workload.ranks.size());
  for (uint32_t worker = 0; worker < engines.count(); ++worker) {
    const Engine& engine = engines.of_worker(worker);
    std::ranges::copy(engine.waits(), std::back_inserter(facts.waits));
    std::ranges::copy(engine.finished_ranks(), std::back_inserter(facts.finished));
    const auto [broken, by] = engine.broken_connections();
    std::ranges::copy(broken, std::back_inserter(facts.broken));
    std::ranges::copy(by, std::back_inserter(facts.broken_by));
  }
  facts.stall_timeout = setup.config.run.stall_timeout;
  return facts;
}

namespace {

/// Makes rows of waits, and looks at each connection once.
class WaitRows {
 public:
  /// Both are borrowed.
  WaitRows(const Setup& setup, const StoppedRun& run) : setup_(setup), run_(run) {}

  StallWait row(const RankWait& wait) {
    StallWait row{.kind = to_string(wait.kind), .rank = wait.rank, .peer = wait.peer, .iteration = wait.iteration};
    if (wait.node != RankWait::kNoNode) {
      const Node& node = setup_.workload.ranks[wait.rank.value].nodes[wait.node];
      row.operation = node.name;
      if (node.kind == NodeKind::kCollective) row.group = setup_.workload.groups[node.group.value].name;
    }
    if (!wait.connection.valid()) return row;
    row.connection = wait.connection;
    const auto [known, is_new] = connections_.try_emplace(wait.connection.value);
    if (is_new) known->second = look(wait.connection);
    const Looked& looked = known->second;
    row.source_qp = looked.pair.source_number, row.destination_qp = looked.pair.destination_number;
    row.retries = looked.pair.retries;
    row.state = looked.text;
    return row;
  }

 private:
  struct Looked {
    QueuePairState pair;  // the first that is stuck, or the first
    std::string text;
  };

  Looked look(ConnectionId connection) const {
    Looked looked{.pair = {}, .text = run_.describe(connection)};
    const std::vector<QueuePairState> states = run_.states(connection);
    const auto stuck = std::ranges::find_if(states, [](const QueuePairState& s) { return s.hold != Hold::kNothing; });
    if (!states.empty()) looked.pair = stuck != states.end() ? *stuck : states.front();
    return looked;
  }

  const Setup& setup_;
  const StoppedRun& run_;
  std::map<uint32_t, Looked> connections_;
};

}  // namespace

Time blamed_since(Time end, Time last_progress, Duration stall_timeout) {
  return std::min(last_progress, end - stall_timeout);
}

std::optional<StallRow> stall_row(const Setup& setup, StoppedRun run) {
  if (run.verdict == Verdict::kOk) return std::nullopt;
  StallFacts& facts = run.facts;
  const bool stood_still = run.end - run.last_progress >= Duration(facts.stall_timeout.ps / 2);
  if (run.verdict != Verdict::kStalled && facts.broken.empty() && facts.gone.empty() && !stood_still)
    return std::nullopt;
  facts.sort();
  const Stall stall = diagnose_stall(facts, run.states);
  StallRow row{.kind = to_string(stall.kind),
               .culprit = stall.culprit,
               .behind = stall.behind,
               .accused = stall.accused,
               .is_cycle = stall.is_cycle,
               .last_progress = std::max(run.last_progress, Time())};
  WaitRows rows(setup, run);
  for (const RankWait& wait : stall.chain) row.chain.push_back(rows.row(wait));
  for (const auto& waits : {facts.broken, facts.waits})
    for (const RankWait& wait : waits)
      if (row.waits.size() < StallRow::kMostWaits) row.waits.push_back(rows.row(wait));
  return row;
}

std::optional<StallRow> stall_row(const Setup& setup, const RunResult& result, WorkerEngines& engines,
                                  const Transport& transport) {
  if (result.verdict == Verdict::kOk) return std::nullopt;
  StoppedRun run{.verdict = result.verdict,
                 .end = Time() + result.total,
                 .last_progress = result.last_progress,
                 .facts = stall_facts(setup, engines),
                 .states = [&](ConnectionId connection) { return transport.states(connection); },
                 .describe = [&](ConnectionId connection) { return transport.describe(connection); }};
  const CommunicationCounters messages = engines.messages();
  if (messages.sent > messages.delivered) run.facts.messages_undelivered = messages.sent - messages.delivered;
  const Time since = blamed_since(run.end, run.last_progress, run.facts.stall_timeout);
  if (result.verdict == Verdict::kStalled)
    for (const WorkerTime& worker : result.workers)
      if (worker.standstill_end > since) run.facts.longest_turn = std::max(run.facts.longest_turn, worker.standstill);
  return stall_row(setup, std::move(run));
}

}  // namespace rankwire
