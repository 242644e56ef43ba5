#include "emulator/diagnosis/port_shares.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "emulator/diagnosis/operation_traffic.h"

namespace rankwire {
namespace {

/// A job in one direction of a port. `time` and `sent` are as of `updated`.
struct Presence {
  JobId job;
  Bytes bytes;
  uint64_t messages = 0;  ///< there now
  double rate = 0;        ///< of those, bytes a picosecond
  Time updated;
  Duration time;
  double sent = 0;  ///< bytes
};

/// A job beside another: what the job had when they last left each other, less what it had when they met. While both
/// are there, the second is taken off already.
struct Pair {
  Duration time;
  double sent = 0;
};

struct Line {
  PortId port;
  bool outbound = true;
  std::vector<Presence> jobs;
  std::vector<Pair> pairs;  ///< jobs x jobs

  Pair& pair(size_t one, size_t beside) { return pairs[one * jobs.size() + beside]; }
};

void update(Presence& presence, Time now) {
  const Duration passed = now - std::exchange(presence.updated, now);
  if (presence.messages == 0) return;
  presence.time += passed;
  presence.sent += presence.rate * static_cast<double>(passed.ps);
}

/// The job comes to where the others are, sign -1, or leaves them, 1.
void meet(Line& line, size_t job, int sign, Time now) {
  for (size_t other = 0; other < line.jobs.size(); ++other) {
    if (other == job || line.jobs[other].messages == 0) continue;
    update(line.jobs[other], now);
    for (const auto& [one, beside] : {std::pair(job, other), std::pair(other, job)}) {
      line.pair(one, beside).time += Duration(sign * line.jobs[one].time.ps);
      line.pair(one, beside).sent += sign * line.jobs[one].sent;
    }
  }
}

void change(Line& line, size_t job, int messages, double rate, Time now) {
  Presence& presence = line.jobs[job];
  update(presence, now);
  const bool alone = messages > 0 ? presence.messages == 0 : presence.messages == 1;
  if (alone) meet(line, job, -messages, now);
  presence.messages += static_cast<uint64_t>(messages);
  presence.rate = presence.messages == 0 ? 0 : presence.rate + rate;
}

class Shares {
 public:
  Shares(const RunReader& record, const RecordedRun& run) : record_(record), run_(run), nics_(record.rank_nics(run)) {
    std::map<std::pair<PortId, bool>, std::map<JobId, Bytes>> traffic;  // false: outbound
    record.for_each_pair(run, [&](const PairTraffic& pair) {
      if (pair.bytes == Bytes() || !meet_in_the_network(nics_, pair.source, pair.destination)) return;
      traffic[{nics_[pair.source.value].port, false}][pair.job] += pair.bytes;
      traffic[{nics_[pair.destination.value].port, true}][pair.job] += pair.bytes;
    });
    for (const auto& [place, jobs] : traffic) {
      if (jobs.size() < 2) continue;
      line_of_[place] = lines_.size();
      Line& line = lines_.emplace_back(Line{.port = place.first, .outbound = !place.second, .jobs = {}, .pairs = {}});
      for (const auto& [job, bytes] : jobs)
        line.jobs.push_back({.job = job, .bytes = bytes, .updated = {}, .time = {}});
      line.pairs.resize(jobs.size() * jobs.size());
    }
  }

  std::vector<PortShare> rows() {
    const bool has_messages = !lines_.empty() && record_.has_all_messages(run_);
    if (has_messages) follow_messages();
    const bool timed = has_messages || (!lines_.empty() && follow_operations());
    std::vector<PortShare> rows;
    for (Line& line : lines_) {
      for (size_t job = 0; job < line.jobs.size(); ++job) {
        for (size_t other = 0; other < line.jobs.size(); ++other) {
          if (job == other) continue;
          PortShare& row = rows.emplace_back(PortShare{.port = line.port,
                                                       .outbound = line.outbound,
                                                       .job = line.jobs[job].job,
                                                       .other = line.jobs[other].job,
                                                       .bytes = line.jobs[job].bytes,
                                                       .other_bytes = line.jobs[other].bytes,
                                                       .together = {}});
          if (!timed) continue;
          const Pair& pair = line.pair(job, other);
          row.together = PortShare::Together{.time = line.jobs[job].time,
                                             .shared = pair.time,
                                             .shared_bytes = Bytes(std::llround(pair.sent)),
                                             .by_operations = !has_messages};
        }
      }
    }
    return rows;
  }

 private:
  /// The end of a message, or an operation, in one direction of a port.
  struct Departure {
    Time at;
    size_t line, job;
    double rate;
    bool operator>(const Departure& other) const { return at > other.at; }
  };

  void leave_until(Time now) {
    for (; !departures_.empty() && departures_.top().at <= now; departures_.pop()) {
      const Departure& gone = departures_.top();
      change(lines_[gone.line], gone.job, -1, -gone.rate, gone.at);
    }
  }

  void follow_messages() {
    record_.for_each_message(run_, [&](const JoinedMessage& message) {
      const RankId source(static_cast<uint32_t>(message.id.source));
      const RankId destination(static_cast<uint32_t>(message.id.destination));
      if (!meet_in_the_network(nics_, source, destination)) return;
      for (const bool inbound : {false, true})
        come({.port = nics_[(inbound ? destination : source).value].port,
              .outbound = !inbound,
              .job = JobId(static_cast<uint32_t>(message.id.job)),
              .from = message.posted,
              .to = message.delivered,
              .bytes = static_cast<double>(message.bytes.count)});
    });
    leave_until(Time::never());
  }

  bool follow_operations() {
    const bool known =
        for_each_operation_traffic(record_, run_, nics_, [&](const OperationTraffic& operation) { come(operation); });
    leave_until(Time::never());
    return known;
  }

  /// Not before those that came already.
  void come(const OperationTraffic& traffic) {
    if (traffic.to <= traffic.from) return;  // nobody shares what takes no time
    leave_until(traffic.from);
    const auto line = line_of_.find({traffic.port, !traffic.outbound});
    if (line == line_of_.end()) return;
    std::vector<Presence>& jobs = lines_[line->second].jobs;
    const auto job = std::ranges::find(jobs, traffic.job, &Presence::job);
    if (job == jobs.end()) return;
    const auto place = static_cast<size_t>(job - jobs.begin());
    const double rate = traffic.bytes / static_cast<double>((traffic.to - traffic.from).ps);
    change(lines_[line->second], place, 1, rate, traffic.from);
    departures_.push({traffic.to, line->second, place, rate});
  }

  const RunReader& record_;
  const RecordedRun& run_;
  const std::vector<RankNic> nics_;
  std::vector<Line> lines_;
  std::map<std::pair<PortId, bool>, size_t> line_of_;  // false: outbound
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
};

}  // namespace

bool meet_in_the_network(std::span<const RankNic> nics, RankId source, RankId destination) {
  if (std::max(source.value, destination.value) >= nics.size()) return false;
  const RankNic &a = nics[source.value], &b = nics[destination.value];
  return a.port != b.port && (!a.host || a.host != b.host);
}

std::vector<PortShare> port_shares(const RunReader& record, const RecordedRun& run) {
  if (record.jobs().size() < 2) return {};
  return Shares(record, run).rows();
}

}  // namespace rankwire
