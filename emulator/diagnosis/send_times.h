// Where the time of connections went that carry one SEND after the other.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/id.h"
#include "base/time_by_cause.h"
#include "base/units.h"
#include "emulator/diagnosis/executions.h"

namespace rankwire {

/// What the record accounts to a SEND is the time since the one before it on the connection had ended, or since its own
/// start, whichever is later: a message that waits behind the repair of an earlier one has its waiting in that one's
/// row. One thread.
class SendTimes {
 public:
  /// `executions` outlives it.
  explicit SendTimes(const Executions& executions) : executions_(&executions) {}

  /// Wants `of` to be asked for the SEND `send`, an index of the executions, and this time.
  void want(uint32_t send, Time after);
  /// To be called when all are wanted: the SENDs that ended on the way to those, between the same two ranks, each once,
  /// without those that are wanted themselves.
  std::vector<uint32_t> others() const;
  /// A row of the record: of a SEND that is wanted, or of one of the others. The same may be added again.
  void add(ConnectionId connection, uint32_t send, const TimeByCause& causes);
  /// To be called when all are added.
  void finish();

  /// What the connection spent on `send` and on those before it that ended later than `after`, all of which the message
  /// waited for; zeros where nothing of it was added. It may have spent some of it before `after`, which held the
  /// message up all the same.
  TimeByCause of(ConnectionId connection, uint32_t send, Time after) const;

 private:
  struct Wanted {
    uint32_t first, send;  ///< from the first that ended on the way, to itself
  };
  /// SENDs of a connection are of one rank, and so in the order of their ends.
  struct Row {
    uint32_t send;
    TimeByCause causes;  ///< from `finish` on with those before it
  };

  const Executions* executions_;
  std::vector<Wanted> wanted_;
  std::map<ConnectionId, std::vector<Row>> rows_;
};

}  // namespace rankwire
