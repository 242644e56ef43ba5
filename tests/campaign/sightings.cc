#include "tests/campaign/sightings.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire::testing {
namespace {

constexpr const char* kAskedFor[] = {
    // Opcodes.
    "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_LAST_IMMEDIATE", "SEND_ONLY", "SEND_ONLY_IMMEDIATE", "WRITE_FIRST",
    "WRITE_MIDDLE", "WRITE_LAST", "WRITE_LAST_IMMEDIATE", "WRITE_ONLY", "WRITE_ONLY_IMMEDIATE", "READ_REQUEST",
    "READ_RESPONSE_FIRST", "READ_RESPONSE_MIDDLE", "READ_RESPONSE_LAST", "READ_RESPONSE_ONLY", "ACKNOWLEDGE",
    "ATOMIC_ACKNOWLEDGE", "COMPARE_SWAP", "FETCH_ADD", "SEND_LAST_INVALIDATE", "SEND_ONLY_INVALIDATE", "CNP",
    // Answers.
    "ACK", "ACK with credits", "RNR NAK", "NAK sequence error", "NAK invalid request", "NAK remote access error",
    "NAK remote operational error", "reserved syndrome",
    // Places in the circle of sequence numbers, and directions.
    "PSN wraps", "reverse message delivered", "control message delivered",
    // Counters of the transport.
    "retransmitted", "naks", "timeouts", "rnr_naks", "implied_naks", "icrc_errors", "malformed", "unknown_qp",
    "duplicate_packets", "out_of_sequence", "ecn_ce_rx", "cnp_rx", "pause_rx", "misdirected", "stale_acks",
    "ghost_acks", "malformed_responses", "out_of_credits", "refused"};

}  // namespace

Sightings::Sightings() {
  for (const char* name : kAskedFor) sightings_[name].asked_for = true;
}

void Sightings::note(std::string_view name, uint64_t times) {
  if (times == 0) return;
  auto found = sightings_.find(name);
  if (found == sightings_.end()) found = sightings_.emplace(name, Sighting()).first;
  if (found->second.times == 0) found->second.first_seed = seed_;
  found->second.times += times;
}

void Sightings::print() const {
  for (const auto& [name, sighting] : sightings_)
    if (sighting.times > 0)
      fmt::print("{:80} {:12} {:8}\n", name, sighting.times, sighting.first_seed);
    else
      fmt::print("{:80} {:>12}\n", name, "never");
}

size_t Sightings::asked_for() const {
  return std::ranges::count_if(sightings_, [](const auto& entry) { return entry.second.asked_for; });
}

size_t Sightings::missing() const {
  return std::ranges::count_if(sightings_,
                               [](const auto& entry) { return entry.second.asked_for && entry.second.times == 0; });
}

Sightings& sightings() {
  static Sightings sightings;
  return sightings;
}

}  // namespace rankwire::testing
