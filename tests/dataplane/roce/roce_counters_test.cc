#include "dataplane/roce/roce_counters.h"

#include <gtest/gtest.h>

#include <string_view>

namespace rankwire {
namespace {

uint64_t value(const std::vector<NamedCounter>& list, std::string_view name) {
  for (const NamedCounter& counter : list)
    if (counter.name == name) return counter.value;
  return UINT64_MAX;
}

TEST(RoceCounters, WhatIsSentIsCountedOnce) {
  RoceCounters counters(2, true, false);
  counters.count_data(3, 1000);
  RequestRun run;
  run.opcode = Opcode::kWriteMiddle;
  run.count = 2;
  run.retransmission = true;
  counters.count_request(1, run, 500);
  run.opcode = Opcode::kReadRequest;
  run.count = 1;
  run.retransmission = false;
  counters.count_request(1, run, 74);
  counters.count_answer(static_cast<uint8_t>(Syndrome::kNakSequence), 62);
  counters.count_notification(0, 78);
  EXPECT_EQ(counters.packets_tx(), 3u + 2 + 1 + 1 + 1);
  EXPECT_EQ(counters.totals.bytes_tx, 3 * 1000u + 2 * 500 + 74 + 62 + 78);
  EXPECT_EQ(counters.totals.data_packets_tx, 5u);
  EXPECT_EQ(counters.totals.read_requests_tx, 1u);
  EXPECT_EQ(counters.totals.retransmitted, 2u);
  EXPECT_EQ(counters.of[1].retransmitted, 2u);
  EXPECT_EQ(counters.totals.naks_tx, 1u);
  EXPECT_EQ(counters.rdma(0).np_cnp_sent, 1u);
}

TEST(RoceCounters, AQueuePairsEventsAreItsOwnAndTheTotals) {
  RoceCounters counters(2, false, true);
  counters.count_timeout(1);
  counters.count_duplicate(1);
  counters.count_duplicate(0);
  counters.count_out_of_sequence(1);
  counters.count_implied_nak(1);
  counters.count_nak(1, {.syndrome = static_cast<uint8_t>(Syndrome::kNakSequence)});
  RdmaCounters expected;
  expected.local_ack_timeout_err = expected.duplicate_request = expected.out_of_sequence = 1;
  expected.implied_nak_seq_err = expected.packet_seq_err = 1;
  EXPECT_EQ(counters.rdma(1), expected);
  EXPECT_EQ(counters.totals.duplicate_packets, 2u);
  EXPECT_EQ(
      counters.totals.timeouts + counters.totals.out_of_sequence + counters.totals.implied_naks + counters.totals.naks,
      4u);
}

TEST(RoceCounters, ForeignFramesAreNotMalformed) {
  RoceCounters counters(0, false, false);
  counters.count_reject(Reject::kEtherType);
  counters.count_reject(Reject::kOpcode);
  counters.count_reject(Reject::kOpcode);
  EXPECT_EQ(counters.totals.malformed, 2u);
  std::vector<NamedCounter> list;
  counters.append_rejects(list);
  EXPECT_EQ(value(list, "foreign"), 1u);
  EXPECT_EQ(value(list, "foreign_ether_type"), 1u);
  EXPECT_EQ(value(list, "rejected_opcode"), 2u);
  EXPECT_EQ(list.size(), 3u) << "reasons that did not occur are not listed";
}

TEST(RoceCounters, DetailsHaveTheirNames) {
  RoceCounters counters(1, true, false);
  counters.details.stale_acks = 5;
  counters.notified[0].handled = 7;
  std::vector<NamedCounter> list;
  counters.append_details(list);
  EXPECT_EQ(value(list, "stale_acks"), 5u);
  EXPECT_EQ(value(list, "rp_cnp_handled"), 7u);
  EXPECT_EQ(value(list, "misdirected"), 0u);
}

}  // namespace
}  // namespace rankwire
