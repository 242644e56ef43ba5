#include "emulator/peer/measurement.h"

#include <algorithm>

namespace rankwire {

double Throughput::bits_per_second() const {
  const Duration taken = last_packet - first_packet;
  if (taken.ps <= 0) return 0;
  return static_cast<double>(message.count) * 8 * static_cast<double>(messages) * 1e12 / static_cast<double>(taken.ps);
}

void ThroughputMeter::add(std::string_view verb, Bytes message, Time first_packet, Time last_packet) {
  if (throughputs_.empty() || throughputs_.back().verb != verb || throughputs_.back().message != message)
    throughputs_.push_back({verb, message, 0, first_packet, last_packet});
  Throughput& current = throughputs_.back();
  ++current.messages;
  // Those of several queue pairs overlap.
  current.first_packet = std::min(current.first_packet, first_packet);
  current.last_packet = std::max(current.last_packet, last_packet);
}

void ThroughputMeter::extend(Time packet) {
  if (!throughputs_.empty()) throughputs_.back().last_packet = std::max(throughputs_.back().last_packet, packet);
}

void TurnAround::add(Duration half) {
  half_round_trip.add(half);
  sum += half;
  second_largest = std::max(second_largest, std::min(largest, half));
  largest = std::max(largest, half);
}

Duration TurnAround::mean() const {
  const auto counted = static_cast<int64_t>(half_round_trip.count()) - 2;
  return counted > 0 ? Duration((sum - largest - second_largest).ps / counted) : Duration();
}

void TurnAroundMeter::add(Bytes message, Time arrival) {
  if (turns_.empty() || turns_.back().message != message) {
    turns_.emplace_back().message = message;
  } else {
    turns_.back().add(Duration((arrival - last_).ps / 2));
  }
  last_ = arrival;
}

}  // namespace rankwire
