// A run over several machines that stands still: what is so, and what each machine tells the leader of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emulator/assembly/joined_stall.h"
#include "emulator/assembly/machine_report.h"
#include "emulator/assembly/machine_shares.h"
#include "emulator/assembly/machine_stall.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/stall_rows.h"
#include "emulator/input/config.h"
#include "tests/temporary_folder.h"

namespace rankwire::testing {

inline constexpr uint32_t kRanks = 6;
inline constexpr Duration kTimeout = seconds(5);

/// Six ranks, one a host and port, on `machines` machines in turn: a has ranks 0, 2 and 4 of two.
class Lab {
 public:
  explicit Lab(uint32_t machines) : count_(machines) {
    const std::string ranks = std::to_string(kRanks);
    std::vector<std::string> settings{"name=machines",
                                      "workload.generate.layers=1",
                                      "workload.generate.hidden=64",
                                      "workload.generate.sequence=16",
                                      "workload.generate.vocabulary=100",
                                      "workload.generate.tensor_parallel=1",
                                      "workload.generate.data_parallel=" + ranks,
                                      "hosts.count=" + ranks,
                                      "hosts.npus=1",
                                      "ports.count=" + ranks,
                                      "run.stall_timeout=5s"};
    for (uint32_t p = 0; p < kRanks; ++p) {
      const std::string port = "ports[" + std::to_string(p) + "].";
      settings.push_back(port + "device=net_af_packet" + std::to_string(p) + ",iface=x");
      settings.push_back(port + "on=" + std::string(1, static_cast<char>('a' + p % machines)));
    }
    prepare(setup, load_config("", settings), folder_.path());
    names = machines_of(setup.config);
    shares.emplace(machine_shares(setup, names));
  }

  uint32_t count() const { return count_; }
  /// A connection from the rank to the next one of the ring.
  ConnectionId from(uint32_t rank) const {
    for (const Connection& c : setup.plan.transport.connections)
      if (c.source.value == rank && c.destination.value == (rank + 1) % kRanks) return c.id;
    return {};
  }

  rankwire::Setup setup;
  std::vector<std::string> names;
  std::optional<WorkerShares> shares;

 private:
  const uint32_t count_;
  const TemporaryFolder folder_;
};

inline QueuePairState joined(QueuePairState source, const QueuePairState& destination) {
  source.add(destination);
  return source;
}

/// A run that stood still, as whoever knows everything sees it.
struct Truth {
  StallFacts facts;
  std::map<uint32_t, ConnectionView> at_source, at_destination;           // by connection
  std::vector<Standstill> standstills = std::vector<Standstill>(kRanks);  // of the machine of each rank
  Time end = Time() + seconds(20), last_progress = Time() + seconds(10);

  Truth() {
    facts.ranks = kRanks;
    facts.stall_timeout = kTimeout;
  }
  void wait(WaitKind kind, uint32_t rank, uint32_t peer, ConnectionId connection) {
    facts.waits.push_back({.kind = kind,
                           .rank = RankId(rank),
                           .peer = RankId(peer),
                           .node = 0,
                           .iteration = 1,
                           .connection = connection});
  }
  /// Of a queue pair of the connection.
  void state(ConnectionId connection, const QueuePairState& source, uint32_t expected) {
    const uint32_t number = connection.value * 2 + 16;
    QueuePairState with_numbers = source;
    with_numbers.source_number = number, with_numbers.destination_number = number + 1;
    const std::string name = std::to_string(connection.value);
    ConnectionView& sends = at_source[connection.value];
    sends.states.push_back(with_numbers), sends.text = "source of " + name;
    ConnectionView& receives = at_destination[connection.value];
    receives.states.push_back({.source_number = number, .destination_number = number + 1, .expected = expected});
    receives.text = "destination of " + name;
  }

  std::optional<StallRow> row(const Lab& lab, uint64_t undelivered) const {
    StoppedRun run{
        .verdict = Verdict::kStalled,
        .end = end,
        .last_progress = last_progress,
        .facts = facts,
        .states =
            [this](ConnectionId c) {
              std::vector<QueuePairState> states;
              for (size_t i = 0; i < at_source.at(c.value).states.size(); ++i)
                states.push_back(joined(at_source.at(c.value).states[i], at_destination.at(c.value).states[i]));
              return states;
            },
        .describe =
            [this](ConnectionId c) { return at_source.at(c.value).text + "; " + at_destination.at(c.value).text; }};
    run.facts.messages_undelivered = undelivered;
    return stall_row(lab.setup, std::move(run));
  }

  /// What a machine sees of a connection; of one on it alone both ends, as its transport tells it.
  ConnectionView view(const Lab& lab, uint32_t machine, ConnectionId connection) const {
    const WorkerRoute& route = lab.shares->route(connection);
    const ConnectionView &source = at_source.at(connection.value), &other = at_destination.at(connection.value);
    if (route.source != machine) return other;
    if (route.destination != machine) return source;
    ConnectionView both{.states = {}, .text = source.text + "; " + other.text};
    for (size_t i = 0; i < source.states.size(); ++i) both.states.push_back(joined(source.states[i], other.states[i]));
    return both;
  }
};

/// The reports of the machines, each as it arrives at the leader.
class Told {
 public:
  Told(const Lab& lab, const Truth& truth, const StallLimits& limits = {}) : lab_(lab), truth_(truth) {
    for (uint32_t machine = 0; machine < lab.count(); ++machine) {
      MachineReport report{.verdict = Verdict::kStalled, .reason = "no progress", .waiting = {}, .messages = {}};
      MachineStall& stall = report.stall.emplace();
      const StallFacts& facts = truth.facts;
      const auto is_here = [&](RankId rank) { return lab.shares->of_rank(rank) == machine; };
      for (const RankWait& wait : facts.waits)
        if (is_here(wait.rank)) stall.facts.waits.push_back(wait);
      for (const RankId rank : facts.finished)
        if (is_here(rank)) stall.facts.finished.push_back(rank);
      for (size_t i = 0; i < facts.broken.size(); ++i) {
        if (!is_here(facts.broken[i].rank)) continue;
        stall.facts.broken.push_back(facts.broken[i]), stall.facts.broken_by.push_back(facts.broken_by[i]);
      }
      for (uint32_t rank = 0; rank < kRanks; ++rank)
        if (is_here(RankId(rank))) stall.standstills.push_back(truth.standstills[rank]);
      stall.end = truth.end, stall.last_progress = truth.last_progress;
      complete(
          stall, [&](ConnectionId connection) { return truth.view(lab, machine, connection); }, limits);
      reports.push_back(machine_report(bytes_of(report)));
    }
    clocks.resize(lab.count());
  }

  ToldMachines machines() const { return {lab_.setup, *lab_.shares, lab_.names, reports}; }
  /// Each answers what it is asked.
  std::vector<ConnectionViews> answers() const {
    std::vector<ConnectionViews> answers;
    const auto asked = untold_ends(machines());
    for (uint32_t machine = 0; machine < lab_.count(); ++machine) {
      const std::vector<ConnectionId> own = question(question_bytes(asked[machine]));
      ConnectionViews ends;
      for (const ConnectionId connection : own) ends[connection.value] = truth_.view(lab_, machine, connection);
      answers.push_back(views_of_answer(answer_bytes(own, ends)));
    }
    return answers;
  }
  std::optional<StallRow> row() const { return joined_stall(machines(), answers(), clocks); }

  std::vector<std::optional<MachineReport>> reports;
  std::vector<ClockCorrection> clocks;

 private:
  const Lab& lab_;
  const Truth& truth_;
};

}  // namespace rankwire::testing
