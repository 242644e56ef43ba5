#include "dataplane/roce/connection_describer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::PartsTest;
using ::testing::StartsWith;

class ConnectionDescriberTest : public PartsTest {
 protected:
  std::string describe(Time now = Time(), uint32_t connection = 0) {
    return parts_->describer.describe(ConnectionId(connection), now);
  }
};

// Numbers begin with 0x10: the sources of both connections, then their destinations.
TEST_F(ConnectionDescriberTest, BothEndsAreNamed) {
  make();
  EXPECT_THAT(describe(), StartsWith("source QP 0x10 psn "));
  EXPECT_THAT(describe(), HasSubstr(" unacked 0 window 64 retries 0/7 idle; destination QP 0x12 expects psn "));
  EXPECT_THAT(describe(), EndsWith(", 0 messages delivered"));
  EXPECT_THAT(describe(Time(), 1), StartsWith("source QP 0x11 "));
}

TEST_F(ConnectionDescriberTest, TheOldestMessageIsWaitedFor) {
  make();
  post(1000, Time(), 3);
  post(1000, Time(), 4);
  EXPECT_THAT(describe(), HasSubstr("waiting for its turn to send message 3"));
  send_silently(source(), 1, Time() + milliseconds(1));
  EXPECT_THAT(describe(Time() + milliseconds(3)), HasSubstr("unacked 1 window 64 retries 0/7 waiting for ACK of psn"));
  EXPECT_THAT(describe(Time() + milliseconds(3)), HasSubstr(" since 2.000 ms; "));
  parts_->pairs.requesters[source()].expire(parts_->outbound.pool);
  EXPECT_THAT(describe(), HasSubstr("retries 1/7"));
}

TEST_F(ConnectionDescriberTest, ReasonsComeFirst) {
  options_.profile.window = 1;
  make();
  post(2 * 4096);
  send_silently(source(), 1);
  TransmitLane& lane = parts_->lanes[0];
  lane.hold(lane.priorities().data, Time::never());
  EXPECT_THAT(describe(), HasSubstr("window full, paused by the next station, waiting for ACK of psn"));
}

TEST_F(ConnectionDescriberTest, ErrorStatesAreTold) {
  make();
  ParsedPacket refused = next_write(destination(), 100);
  ++refused.rkey;
  parts_->requests.on_request(destination(), refused, Time(), Time());
  EXPECT_THAT(describe(), EndsWith("in the error state: it refused a request"));
  EXPECT_THAT(describe(), HasSubstr("retries 0/7 idle; ")) << "the source has not heard of it";
  parts_->ending.fail_connection(source(), Time());
  EXPECT_THAT(describe(), HasSubstr("retries 0/7 in the error state; "));
}

TEST_F(ConnectionDescriberTest, OneOfSeveralQueuePairsIsShown) {
  options_.queue_pairs = 3;
  make();
  EXPECT_THAT(describe(), Not(HasSubstr("not idle")));
  post_silently(source() + 1, 1000);
  EXPECT_THAT(describe(), StartsWith("source QP 0x11 "));
  EXPECT_THAT(describe(), Not(HasSubstr("not idle")));
  post_silently(source() + 2, 1000);
  EXPECT_THAT(describe(), HasSubstr(", and 1 more of its 3 queue pairs are not idle"));
}

TEST_F(ConnectionDescriberTest, WhatIsOfferedIsWaitedFor) {
  options_.verb = DataVerb::kRead;
  make();
  post(5000, Time(), 3);
  send_silently(source(), 1);
  Requester& requester = parts_->pairs.requesters[source()];
  requester.acknowledge(parts_->outbound.pool, Time(), {.psn = requester.oldest_unacknowledged(), .msn = 1});
  EXPECT_THAT(describe(), HasSubstr("waiting for the peer to fetch message 3"));
}

TEST_F(ConnectionDescriberTest, WhatCongestionControlAllowsIsTold) {
  options_.congestion.algorithm = CongestionAlgorithm::kStatic;
  options_.congestion.rate = Bandwidth(2'500'000'000);
  make();
  post(1000);
  EXPECT_THAT(describe(), HasSubstr(", paced at 2.500 Gb/s, next packet from 0.000000 ms"));
}

TEST_F(ConnectionDescriberTest, AConnectionOfOtherPortsIsNotHere) {
  for (const uint32_t nic : {2u, 3u}) {
    plan_.nics.push_back(plan_.nics[0]);
    plan_.nics.back().id = NicId(nic);
    plan_.nics.back().port = PortId(9);
  }
  plan_.connections.push_back(
      {.id = ConnectionId(2), .source_nic = NicId(2), .destination_nic = NicId(3), .largest_message = Bytes(1)});
  make();
  EXPECT_EQ(describe(Time(), 2), "not on this transport");
}

}  // namespace
}  // namespace rankwire
