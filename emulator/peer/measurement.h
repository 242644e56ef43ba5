// What a peer measures of the messages that reach it, from their packets.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "base/units.h"

namespace rankwire {

/// Messages of one kind and size that followed one another.
struct Throughput {
  std::string_view verb;  ///< "SEND", "WRITE", "READ"
  Bytes message;
  uint64_t messages = 0;
  Time first_packet, last_packet;  ///< arrival; of a READ, of its request and when its last response left

  /// Payload over the time from the first packet to the last, in bits per second; 0 when all came at once.
  double bits_per_second() const;
};

class ThroughputMeter {
 public:
  void add(std::string_view verb, Bytes message, Time first_packet, Time last_packet);
  /// A packet of the messages that were added last has left.
  void extend(Time packet);
  const std::vector<Throughput>& throughputs() const { return throughputs_; }

 private:
  std::vector<Throughput> throughputs_;
};

/// A latency test in one message size: half the time between two messages of the client, as perftest counts it.
struct TurnAround {
  Bytes message;
  Histogram half_round_trip;
  Duration sum, largest, second_largest;

  void add(Duration half);
  /// Without the two largest, which perftest leaves out (LAT_MEASURE_TAIL in src/perftest_parameters.c); 0 of fewer.
  Duration mean() const;
};

class TurnAroundMeter {
 public:
  void add(Bytes message, Time arrival);
  const std::vector<TurnAround>& turns() const { return turns_; }

 private:
  std::vector<TurnAround> turns_;
  Time last_;
};

}  // namespace rankwire
