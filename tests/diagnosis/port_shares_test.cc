#include "emulator/diagnosis/port_shares.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "emulator/record/recorder.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using testing::TemporaryFolder;

constexpr Time us(int64_t n) {
  return Time() + microseconds(n);
}

/// Ranks 0 and 1, of jobs 0 and 1, stand behind port 0, ranks 2 and 3, of the same jobs, behind port 1; each has a host
/// of its own.
class PortSharesTest : public ::testing::Test {
 protected:
  PortSharesTest() {
    for (uint32_t r = 0; r < 4; ++r)
      end_.rank_nics.push_back({.nic = NicId(r), .port = PortId(r / 2), .mac = {}, .ip = {}, .host = r});
  }

  /// A message with both its ends.
  void message(uint32_t job, uint32_t source, uint32_t destination, int64_t bytes, int64_t posted, int64_t delivered,
               bool control = false) {
    MessageRecord half{.id = {}, .bytes = Bytes(bytes), .at_source = true, .first = us(posted), .last = us(delivered)};
    half.id.job = job, half.id.source = source, half.id.destination = destination;
    half.id.control = control, half.id.sequence = halves_.size();
    halves_.push_back(half);
    half.at_source = false;
    halves_.push_back(half);
    FlowRow& flow = end_.flows.emplace_back();
    flow.connection.id = flow.counters.connection = ConnectionId(static_cast<uint32_t>(end_.flows.size() - 1));
    flow.connection.job = JobId(job), flow.connection.control = control;
    flow.connection.source = RankId(source), flow.connection.destination = RankId(destination);
    flow.counters.bytes = static_cast<uint64_t>(bytes);
  }

  /// A SEND of `source`, of job `source`, and its RECV, with as many bytes as its messages; each executed so often.
  void operations(uint32_t source, uint32_t destination, int64_t bytes,
                  const std::vector<std::pair<int64_t, int64_t>>& times) {
    for (const auto& [rank, peer, kind] :
         {std::tuple(source, destination, "send"), std::tuple(destination, source, "receive")}) {
      nodes_.push_back({.rank = RankId(rank),
                        .node = 0,
                        .id = 1,
                        .name = kind,
                        .kind = kind,
                        .group_size = 2,
                        .bytes = Bytes(bytes),
                        .job = JobId(source),
                        .peer = RankId(peer)});
      for (uint32_t i = 0; i < times.size(); ++i)
        executions_.push_back(
            {.rank = RankId(rank), .node = 0, .iteration = i, .start = us(times[i].first), .end = us(times[i].second)});
    }
  }

  std::vector<PortShare> shares(MessageDetail detail = MessageDetail::kAll) {
    {
      RunRecorder recorder(folder_.path(), {.messages = detail});
      const JobInfo jobs[] = {{.job = JobId(0), .name = "a", .first_rank = 0, .ranks = 2},
                              {.job = JobId(1), .name = "b", .first_rank = 2, .ranks = 2}};
      recorder.jobs(jobs);
      recorder.nodes(nodes_);
      RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 4});
      run.sink().operations(executions_);
      run.sink().messages(halves_);
      run.end(end_);
    }
    const RunReader record(folder_.path());
    return port_shares(record, *record.emulated());
  }

  RunEnd end_;
  std::vector<MessageRecord> halves_;
  std::vector<NodeInfo> nodes_;
  std::vector<OperationRecord> executions_;
  TemporaryFolder folder_;
};

void expect_together(const PortShare& share, Duration time, Duration shared, int64_t bytes) {
  ASSERT_TRUE(share.together);
  EXPECT_EQ(share.together->time, time);
  EXPECT_EQ(share.together->shared, shared);
  EXPECT_EQ(share.together->shared_bytes, Bytes(bytes));
}

// Job 0 has messages there from 0 to 15 us, job 1 from 8 to 12. Of the first message of job 0, 100 bytes a us, 2 us are
// in that, of the second, 50 bytes a us, 4.
TEST_F(PortSharesTest, AreOfTheTimeInWhichBothHaveMessages) {
  message(0, 0, 2, 1000, 0, 10);
  message(0, 0, 2, 500, 5, 15);
  message(1, 1, 3, 400, 8, 12);
  message(1, 1, 3, 64, 0, 20, true);  // a grant is no data
  const std::vector<PortShare> rows = shares();
  ASSERT_EQ(rows.size(), 4u);
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].port, PortId(i / 2));
    EXPECT_EQ(rows[i].outbound, i < 2) << "all goes from port 0 to port 1";
    EXPECT_EQ(rows[i].job, JobId(i % 2));
    EXPECT_EQ(rows[i].other, JobId(1 - i % 2));
    EXPECT_EQ(rows[i].bytes, Bytes(i % 2 == 0 ? 1500 : 400));
    EXPECT_EQ(rows[i].other_bytes, Bytes(i % 2 == 0 ? 400 : 1500));
  }
  for (const uint32_t first : {0u, 2u}) {
    EXPECT_FALSE(rows[first].together->by_operations);
    expect_together(rows[first], microseconds(15), microseconds(4), 2 * 100 + 4 * 50);
    expect_together(rows[first + 1], microseconds(4), microseconds(4), 400);
  }
}

// They meet twice, and one that ends when the other begins has not met it.
TEST_F(PortSharesTest, AddUp) {
  message(0, 0, 2, 100, 0, 10);
  message(1, 1, 3, 100, 10, 20);
  message(0, 0, 2, 100, 15, 25);
  message(1, 1, 3, 100, 24, 34);
  const std::vector<PortShare> rows = shares();
  ASSERT_EQ(rows.size(), 4u);
  expect_together(rows[0], microseconds(20), microseconds(6), 60);
  expect_together(rows[1], microseconds(20), microseconds(6), 60);
}

TEST_F(PortSharesTest, AreNotOfWhatNeverLeavesAHostOrPort) {
  message(0, 0, 2, 100, 0, 10);
  message(1, 1, 0, 100, 0, 10);  // behind the same port
  end_.rank_nics[3].host = 1;
  message(1, 1, 3, 100, 0, 10);  // on the same host
  EXPECT_TRUE(shares().empty());
}

// One that is not in the record might have been at any time.
TEST_F(PortSharesTest, HaveNoTimesWhereMessagesAndOperationsAreMissing) {
  message(0, 0, 2, 1000, 0, 10);
  message(1, 1, 3, 400, 8, 12);
  const std::vector<PortShare> rows = shares(MessageDetail::kNone);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].bytes, Bytes(1000));
  EXPECT_FALSE(rows[0].together);
}

// Job 0 sends 1000 bytes in two executions, 50 bytes a us while they last, and job 1 400 bytes meanwhile, from 5 to 25
// us, 20 bytes a us: both are there from 5 to 10 and from 20 to 25.
TEST_F(PortSharesTest, HaveTimesOfOperationsWhereMessagesAreMissing) {
  message(0, 0, 2, 1000, 0, 10);
  message(1, 1, 3, 400, 8, 12);
  operations(0, 2, 500, {{0, 10}, {20, 30}});
  operations(1, 3, 400, {{5, 25}});
  const std::vector<PortShare> rows = shares(MessageDetail::kNone);
  ASSERT_EQ(rows.size(), 4u);
  for (const uint32_t first : {0u, 2u}) {
    expect_together(rows[first], microseconds(20), microseconds(10), 500);
    expect_together(rows[first + 1], microseconds(20), microseconds(10), 200);
    EXPECT_TRUE(rows[first].together->by_operations);
  }
}

// Of few messages a sample is all of them.
TEST_F(PortSharesTest, HaveTimesOfASampleThatIsAll) {
  message(0, 0, 2, 1000, 0, 10);
  message(1, 1, 3, 400, 8, 12);
  const std::vector<PortShare> rows = shares(MessageDetail::kSampled);
  ASSERT_EQ(rows.size(), 4u);
  expect_together(rows[0], microseconds(10), microseconds(2), 200);
}

}  // namespace
}  // namespace rankwire
