// What the slowest messages were for.
#include <gtest/gtest.h>

#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

NodeInfo node(uint32_t place, const std::string& name, const std::string& kind, const std::string& group,
              uint32_t sequence) {
  return {.rank = RankId(0),
          .node = place,
          .id = place,
          .name = name,
          .kind = kind,
          .group = group,
          .group_size = 2,
          .bytes = Bytes(64),
          .job = JobId(0),
          .sequence = sequence};
}

MessageId message(uint64_t group, uint64_t sequence, bool control = false) {
  MessageId id;
  id.group = group, id.sequence = sequence, id.destination = 1, id.control = control;
  return id;
}

/// The names of one message from rank 0, whose nodes these are; group 3 is called "tp".
std::vector<std::string> names_of(const MessageId& id, std::vector<NodeInfo> nodes) {
  const testing::TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path(), {.messages = MessageDetail::kAll});
    recorder.configuration("{}", "0.1.0", {});
    recorder.nodes(nodes);
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kReference, .ranks = 2});
    RecordSink& sink = run.sink();
    sink.messages(std::vector<MessageRecord>{{.id = id, .at_source = true, .first = Time(0), .last = Time(30)},
                                             {.id = id, .first = Time(5), .last = Time(20)}});
    RunEnd end;
    end.flows = {{.connection = {.id = ConnectionId(0),
                                 .job = JobId(0),
                                 .group = GroupId(3),
                                 .source = RankId(0),
                                 .destination = RankId(1)},
                  .group = "tp",
                  .counters = {.connection = ConnectionId(0)}}};
    run.end(end);
  }
  const RunReader reader(folder.path());
  const auto slowest = reader.slowest_messages(reader.runs().front(), 1);
  if (slowest.size() != 1) return {};
  return {slowest[0].operation, slowest[0].kind, slowest[0].group};
}

using Names = std::vector<std::string>;

TEST(MessageNames, OfACollectiveAreThoseOfItsNode) {
  const std::vector<NodeInfo> nodes = {node(0, "other group", "all_reduce", "dp", 1),
                                       node(1, "before", "all_reduce", "tp", 0),
                                       node(2, "wanted", "all_gather", "tp", 1), node(3, "sent", "send", "", 1)};
  EXPECT_EQ(names_of(message(3, 1), nodes), (Names{"wanted", "all_gather", "tp"}));
}

TEST(MessageNames, OfASendAreThoseOfTheSend) {
  const std::vector<NodeInfo> nodes = {node(0, "reduce", "all_reduce", "tp", 0), node(1, "sent", "send", "", 0),
                                       node(2, "received", "receive", "", 0)};
  EXPECT_EQ(names_of(message(MessageId::kPointToPoint, 0), nodes), (Names{"sent", "send", ""}));
  EXPECT_EQ(names_of(message(MessageId::kPointToPoint, 0, true), nodes), (Names{"received", "receive", ""}));
}

// Those with other tags have the same numbers.
TEST(MessageNames, OfSendsThatMayBeMeantAreWhatTheyHaveInCommon) {
  EXPECT_EQ(names_of(message(MessageId::kPointToPoint, 0),
                     {node(0, "act 1", "send", "", 0), node(1, "act 12", "send", "", 0)}),
            (Names{"act #", "send", ""}));
  EXPECT_EQ(names_of(message(MessageId::kPointToPoint, 0),
                     {node(0, "act 1", "send", "", 0), node(1, "grad 1", "send", "", 0)}),
            (Names{"(several)", "send", ""}));
}

TEST(MessageNames, AreEmptyWithoutTheNode) {
  EXPECT_EQ(names_of(message(3, 7), {node(0, "reduce", "all_reduce", "tp", 0)}), (Names{"", "", "tp"}));
}

}  // namespace
}  // namespace rankwire
