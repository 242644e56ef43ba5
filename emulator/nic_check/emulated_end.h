// A queue pair of the emulated NIC.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "dataplane/protocol/requester.h"
#include "dataplane/protocol/responder.h"
#include "dataplane/wire/header_template.h"
#include "emulator/nic_check/emulated_nic.h"

namespace rankwire {

struct EmulatedNic::End {
  End(uint32_t its_number, size_t its_index, const ReliableOptions& reliable, uint32_t depth)
      : number(its_number), index(its_index), pool(reliable, depth), works(depth) {}

  const uint32_t number;
  const size_t index;  // among all
  bool connected = false;
  uint8_t data_priority = 0;
  uint32_t first_psn = 0;  // that it receives

  RequesterPool pool;
  Requester requester;
  std::vector<NicWork> works;  // by slot
  Time not_before = Time::long_ago();
  Time watched = Time::never();  // the deadline that the NIC waits for

  ResponderOptions responding;
  std::array<ReadResource, ResponderResources::kMaxReads> reads;
  Responder responder;
  std::deque<Receive> receives;
  std::optional<Receive> current;     // of the SEND in progress
  std::deque<Acknowledgement> extra;  // answers that only a mutant has
  uint32_t notifications = 0;         // CNPs owed
  uint32_t not_ready_naks = 0;        // sent and received, which only mutants count
  uint8_t not_ready_retry_count = 7;
  HeaderTemplate path;
};

}  // namespace rankwire
