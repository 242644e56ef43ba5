// How much of the time for which sources waited for acknowledgements is the network's doing, and whose traffic was
// there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "emulator/diagnosis/executions.h"
#include "emulator/diagnosis/traffic_ramp.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Of what the NICs behind a port measured of round trips, the least of all ports is what a way takes without anything
/// that waits, and the mean beyond it is waiting in the network: a wait for acknowledgements consists of the same in
/// the same parts. The model's own way, and its longest, is known from its messages. Immutable after construction.
class NetworkWaits {
 public:
  struct Wait {
    Connection connection;  ///< without NICs and sizes
    Duration time;          ///< for which it waited for acknowledgements
  };
  struct Share {
    Duration path_latency;     ///< the way is longer than the model's
    Duration own_job, others;  ///< waiting in the network behind traffic of the same job, and of others
  };

  /// `executions` are those of `run`, `waiting` the connections that will be asked about. Reads queue pairs and causes
  /// of the run once, and round trips.
  NetworkWaits(const RunReader& record, const RecordedRun& run, const Executions& executions,
               const std::set<ConnectionId>& waiting);

  /// Of `waited`, which passed on these connections between both times. The parts are no more than that together, and
  /// waiting in the network is no more than what others sent to either port takes on its line or, of a way between two
  /// switches of the embedded fabric, what they sent out of the first and into the second one, whichever is more;
  /// theirs are in proportion to it. Where the record says which cables connections take, that is what others sent on
  /// the same ones, else on all of the switch together. That a cable is slower than the ports is not known. All 0 where
  /// round trips were not measured.
  Share of(std::span<const Wait> waits, Time from, Time to, Duration waited) const;

 private:
  /// Parts of a wait, 0 .. 1.
  struct Parts {
    double path_latency = 0, queueing = 0;
  };
  struct Way {
    PortId from, to;
    JobId job;
  };
  /// Where frames meet others: on the line to a port, and on a cable of a switch with ports to or from another one, or
  /// on any of them where it is not known which.
  enum class PlaceKind : uint8_t { kToPort, kOnCable, kOutOfLeaf, kIntoLeaf };
  using Place = std::pair<PlaceKind, uint32_t>;  ///< of which port, cable or leaf
  /// Out of the first switch, and into the last: numbers of cables.
  struct CableEnds {
    uint32_t out, into;
  };
  /// Line time, picoseconds.
  struct Traffic {
    double own = 0, others = 0;
    double together() const { return own + others; }
  };

  void read_lines(const RunReader& record, const RecordedRun& run, const Executions& executions,
                  const std::set<ConnectionId>& waiting);
  void find_leaves(const RunReader& record, const RecordedRun& run);
  void find_cables(const RunReader& record);
  /// Of data of the connection from one port to the other, or `back`, of its acknowledgements. Nothing but the line to
  /// a port where both are at one switch.
  std::vector<Place> places_of(ConnectionId connection, PortId from, PortId to, bool back) const;
  /// What all but `connection` sent there between both times, by whether it was of its job. `passes`: it sent there.
  Traffic traffic_at(const Place& place, const Connection& connection, bool passes, Time from, Time to) const;
  Traffic beside(const Connection& connection, PortId source, PortId destination, Time from, Time to) const;
  void read_round_trips(const RunReader& record, const RecordedRun& run);
  const Parts& parts_of(const Connection& connection) const;

  std::vector<RankNic> nics_;
  Duration frame_time_;                                      // of the mean frame on its line
  std::map<PortId, Parts> parts_;                            // by the source's port; invalid: all
  std::map<PortId, uint32_t> leaves_;                        // switches of the embedded fabric that ports stand at
  std::map<ConnectionId, std::array<CableEnds, 2>> cables_;  // of data, and of acknowledgements
  std::map<std::pair<Place, JobId>, TrafficRamp> jobs_;
  std::map<ConnectionId, TrafficRamp> own_;
};

}  // namespace rankwire
