// Which messages of the record the page has, and of which operations they are.
#include "emulator/report/page_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/report/decoded_numbers.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using testing::at_microsecond;
using ::testing::ElementsAre;
using testing::TemporaryFolder;

/// The sample's all-reduce of ranks 0 and 1 from 10 to 50 us, then two SENDs from 0 to 1 that only their tags tell
/// apart, from 60 and from 80 us on, 10 us each, and their RECVs.
class PageMessagesTest : public ::testing::Test {
 protected:
  PageMessagesTest() {
    RunRecorder recorder(folder_.path());
    testing::begin_sample(recorder);
    recorder.nodes(std::vector{pair_node(0, 2, 0), pair_node(0, 3, 1), pair_node(1, 2, 0), pair_node(1, 3, 1)});
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "virtual", .ranks = 2});
    std::vector<OperationRecord> rows = testing::sample_operations(50);
    for (uint32_t rank = 0; rank < 2; ++rank) {
      rows.push_back(testing::sample_operation(rank, 2, at_microsecond(60), at_microsecond(70)));
      rows.push_back(testing::sample_operation(rank, 3, at_microsecond(80), at_microsecond(90)));
    }
    run.sink().operations(rows);
    add(run, 0, 12, 42);                            // of the all-reduce, 30 us
    add(run, MessageId::kPointToPoint, 81, 89);     // of the second SEND, 8 us
    add(run, MessageId::kPointToPoint, 61, 66, 1);  // of no operation that is known
    add(run, 0, 13, 14, 0, true);                   // clear to send
    RunEnd end = testing::sample_end(microseconds(90));
    end.flows = {{.connection = {.id = ConnectionId(0),
                                 .job = JobId(0),
                                 .group = GroupId(0),
                                 .source = RankId(0),
                                 .destination = RankId(1)},
                  .group = "dp",
                  .counters = {.connection = ConnectionId(0)}}};
    run.end(end);
  }

  static NodeInfo pair_node(uint32_t rank, uint32_t index, uint32_t tag) {
    NodeInfo node = testing::sample_node(rank, index, "act", rank == 0 ? "send" : "receive");
    node.group = "";
    node.peer = RankId(1 - rank);
    node.tag = tag;
    return node;
  }

  /// From rank 0 to rank 1.
  static void add(RunRecorder::Run& run, uint64_t group, int64_t posted, int64_t delivered, uint64_t sequence = 0,
                  bool control = false) {
    MessageId id;
    id.group = group, id.source = 0, id.destination = 1, id.sequence = sequence, id.control = control ? 1 : 0;
    run.sink().messages(std::vector<MessageRecord>{
        {.id = id,
         .bytes = Bytes(4096),
         .at_source = true,
         .first = at_microsecond(posted),
         .last = at_microsecond(posted)},
        {.id = id, .bytes = Bytes(4096), .first = at_microsecond(delivered), .last = at_microsecond(delivered)}});
  }

  nlohmann::json messages(size_t most, size_t most_operations = kMostPageOperations) const {
    const RunReader record(folder_.path());
    PageOperations operations(most_operations);
    record.for_each_operation([&](const OperationRow& row) { operations.add(row); });
    return nlohmann::json::parse(page_messages_json(record, operations, most));
  }

  TemporaryFolder folder_;
};

std::vector<int64_t> decoded(const nlohmann::json& side, const char* column) {
  return testing::decoded_numbers(side["columns"][column].get<std::string>());
}

// Rows by (rank, start): of rank 0 compute, all-reduce and two SENDs are 0 to 3, of rank 1 the same with RECVs 4 to 7.
TEST_F(PageMessagesTest, AreOfTheOperationsAtBothEnds) {
  const nlohmann::json json = messages(10);
  EXPECT_EQ(json[1], nullptr) << "no reference";
  const nlohmann::json& side = json[0];
  EXPECT_EQ(side["messages"], 2);
  EXPECT_EQ(side["all"], 3) << "control messages apart";
  EXPECT_THAT(decoded(side, "from"), ElementsAre(1, 3));
  EXPECT_THAT(decoded(side, "to"), ElementsAre(5, 7));
  EXPECT_THAT(decoded(side, "source"), ElementsAre(0, 0));
  EXPECT_THAT(decoded(side, "destination"), ElementsAre(1, 1));
  EXPECT_THAT(decoded(side, "posted"), ElementsAre(12'000'000, 81'000'000));
  EXPECT_THAT(decoded(side, "duration"), ElementsAre(30'000'000, 8'000'000));
  EXPECT_THAT(decoded(side, "bytes"), ElementsAre(4096, 4096));
}

TEST_F(PageMessagesTest, TheSlowestAreThere) {
  const nlohmann::json side = messages(1)[0];
  EXPECT_EQ(side["messages"], 1);
  EXPECT_EQ(side["all"], 3);
  EXPECT_THAT(decoded(side, "duration"), ElementsAre(30'000'000));
}

// Of the eight executions the two all-reduces are the longest, 40 us.
TEST_F(PageMessagesTest, OfOperationsThatThePageHasNotThereAreNone) {
  const nlohmann::json side = messages(10, 2)[0];
  EXPECT_EQ(side["messages"], 1);
  EXPECT_THAT(decoded(side, "from"), ElementsAre(0));
  EXPECT_THAT(decoded(side, "to"), ElementsAre(1));
}

}  // namespace
}  // namespace rankwire
