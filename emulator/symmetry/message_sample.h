// What a quotient's messages say of those of the whole run, in bounded memory.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/event.h"
#include "base/histogram.h"
#include "base/message.h"
#include "base/small_histogram.h"
#include "base/transport.h"
#include "emulator/symmetry/quotient.h"

namespace rankwire {

/// A message of the whole run.
struct SampledMessage {
  MessageId id;
  Bytes bytes;
  Time posted, acked, delivered;
};

/// How long the messages of a connection of the whole run took from being posted to being delivered.
struct SampledFlow {
  ConnectionId connection;
  Histogram histogram;
};

/// The messages of a class of connections are those of each of its members, at the same times. Counts them all, and
/// keeps what a record keeps that hears of every message: the histograms of the connections whose first message is
/// acknowledged first, in the order of the model's events, and the slowest data messages, of equally slow ones those
/// that are acknowledged first. One thread.
class MessageSample {
 public:
  /// `flows`: connections that have a histogram; `slowest`: messages that are kept.
  struct Limits {
    size_t flows = 0, slowest = 0;
  };

  /// The quotient outlives it.
  MessageSample(const Quotient& quotient, Limits limits);

  /// An event of the quotient's model, in the order of its poll. Those that are not of kind kSent say nothing more.
  void add(const Event& event);

  /// Of all data messages of the whole run.
  Histogram total() const;
  /// By connection. Calls `visit(SampledFlow)`.
  template <class Visit>
  void for_each_flow(Visit visit) const;
  /// The slowest first. `workload` and `plan` are those of the whole run.
  std::vector<SampledMessage> slowest(const Workload& workload, const Plan& plan) const;

 private:
  /// By which events of the model follow each other, up to the number of the connection.
  struct Moment {
    Time acked, delivered, last_tx;
    auto operator<=>(const Moment&) const = default;
  };
  /// A message of the quotient.
  struct Kept {
    Duration completion;
    Moment moment;
    ConnectionId connection;
    uint32_t index = 0;
    Bytes bytes;
    Time posted;
  };
  static bool goes_before(const Kept& a, const Kept& b);
  std::vector<ConnectionId> first_flows() const;
  std::vector<std::vector<ConnectionId>> members_of(const std::vector<Kept>& kept) const;

  const Quotient& quotient_;
  const Limits limits_;
  std::vector<Duration> latencies_;                          // by class of connections
  std::vector<uint32_t> sizes_;                              // the same: members
  std::map<uint32_t, Histogram> totals_;                     // by size of classes: of data messages of the quotient
  std::vector<Moment> first_;                                // by class: of its first message; never: none yet
  std::unordered_map<uint32_t, SmallHistogram> histograms_;  // by class: of the first ones
  std::vector<Kept> kept_;                                   // a heap with the one on top that goes behind all others
};

template <class Visit>
void MessageSample::for_each_flow(Visit visit) const {
  for (const ConnectionId c : first_flows())
    visit(SampledFlow{c, histograms_.at(quotient_.classes.connections.class_of[c.value]).whole()});
}

}  // namespace rankwire
