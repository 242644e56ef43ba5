// The times of all messages by what they were for, and what ranks sent each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kGroup = 3;

NodeInfo collective(uint32_t place, const std::string& kind, uint32_t sequence) {
  return {.rank = RankId(0),
          .node = place,
          .id = place,
          .name = kind,
          .kind = kind,
          .group = "tp",
          .group_size = 2,
          .job = JobId(0),
          .sequence = sequence};
}

struct Sent {
  uint64_t group, sequence;
  int64_t ps;
  bool control = false;
};

/// An all-reduce with messages of 30, 10 and 20 ps, an all-gather with one of 5 ps, a SEND of 40 ps, a clear-to-send of
/// 1000 ps, and what `more` has.
class MessageTimesTest : public ::testing::Test {
 protected:
  void write(RecorderOptions options, std::vector<Sent> more = {}) {
    std::vector<Sent> all = {{kGroup, 0, 30},
                             {kGroup, 0, 10},
                             {kGroup, 0, 20},
                             {kGroup, 1, 5},
                             {MessageId::kPointToPoint, 0, 40},
                             {MessageId::kPointToPoint, 0, 1000, true}};
    all.insert(all.end(), more.begin(), more.end());
    RunRecorder recorder(folder_.path(), options);
    recorder.configuration("{}", "0.1.0");
    recorder.nodes(std::vector{collective(0, "all_reduce", 0), collective(1, "all_gather", 1)});
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2});
    for (uint32_t i = 0; i < all.size(); ++i) {
      MessageId id;
      id.group = all[i].group, id.sequence = all[i].sequence, id.slice = i, id.destination = 1;
      id.control = all[i].control;
      run.sink().messages(
          std::vector<MessageRecord>{{.id = id, .at_source = true, .first = Time(7), .last = Time(2000)},
                                     {.id = id, .first = Time(8), .last = Time(7 + all[i].ps)}});
    }
    RunEnd end;
    end.flows = {{.connection = {.id = ConnectionId(0),
                                 .job = JobId(0),
                                 .group = GroupId(kGroup),
                                 .source = RankId(0),
                                 .destination = RankId(1)},
                  .group = "tp"}};
    run.end(end);
  }

  /// "KIND COUNT: PLACE=TIME ...".
  std::vector<std::string> times() const {
    const RunReader record(folder_.path());
    const auto all_places = [](uint64_t count) {
      std::vector<uint64_t> places(count);
      std::iota(places.begin(), places.end(), 1);
      return places;
    };
    std::vector<std::string> list;
    for (const MessageTimes& times : record.message_times(record.runs().front(), all_places)) {
      std::string& text = list.emplace_back(times.kind + ' ' + std::to_string(times.count) + ':');
      for (const auto& [place, time] : times.at) text += ' ' + std::to_string(place) + '=' + std::to_string(time.ps);
    }
    return list;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(MessageTimesTest, AreInOrderAndByKind) {
  write({.messages = MessageDetail::kAll});
  EXPECT_THAT(times(), ElementsAre(" 5: 1=5 2=10 3=20 4=30 5=40", "all_gather 1: 1=5", "all_reduce 3: 1=10 2=20 3=30",
                                   "send 1: 1=40"));
}

TEST_F(MessageTimesTest, AreThoseOfThePlacesThatAreAskedFor) {
  write({.messages = MessageDetail::kAll});
  const RunReader record(folder_.path());
  const auto times = record.message_times(record.runs().front(), [](uint64_t count) {
    return std::vector<uint64_t>{2, count};
  });
  ASSERT_EQ(times.size(), 4u);
  ASSERT_EQ(times[0].at.size(), 2u);
  EXPECT_EQ(times[0].at[0].time, Duration(10));
  EXPECT_EQ(times[0].at[1].time, Duration(40));
}

// The collective of that number is in no trace.
TEST_F(MessageTimesTest, OfMessagesThatNoNodeHasAreUnknown) {
  write({.messages = MessageDetail::kAll}, {{kGroup, 9, 50}});
  EXPECT_EQ(times().back(), "unknown 1: 1=50");
}

// As long as there are fewer than are kept all of them are in the record.
TEST_F(MessageTimesTest, OfFewAreExactEvenWhenTheyAreSampled) {
  write({.messages = MessageDetail::kSampled});
  EXPECT_EQ(times().size(), 4u);
}

TEST_F(MessageTimesTest, AreNotKnownWhereMessagesAreMissing) {
  write({.messages = MessageDetail::kSampled, .slowest = 4});
  EXPECT_THAT(times(), IsEmpty());
}

// Below 32 ps a bucket is a picosecond; 40 is in one of 40 and 41, for 32 .. 63 has 32 parts of 1 ps each: so it is 40.
TEST_F(MessageTimesTest, HaveBucketsWhateverIsKept) {
  write({.messages = MessageDetail::kSampled, .slowest = 1});
  const RunReader record(folder_.path());
  std::vector<int64_t> values;
  for (const Histogram::Bucket& bucket : record.message_buckets(record.runs().front())) {
    EXPECT_EQ(bucket.low, bucket.high);
    EXPECT_EQ(bucket.count, 1u);
    values.push_back(bucket.high.ps);
  }
  EXPECT_THAT(values, ElementsAre(5, 10, 20, 30, 40));
}

TEST_F(MessageTimesTest, HaveNoBucketsWhereMessagesAreNotRecorded) {
  write({.messages = MessageDetail::kNone});
  const RunReader record(folder_.path());
  EXPECT_THAT(record.message_buckets(record.runs().front()), IsEmpty());
  EXPECT_THAT(times(), IsEmpty());
}

FlowRow flow(uint32_t id, uint32_t source, uint32_t destination, uint64_t bytes, Path path = Path::kWire) {
  FlowRow row{.connection = {.id = ConnectionId(id),
                             .job = JobId(0),
                             .source = RankId(source),
                             .destination = RankId(destination),
                             .path = path}};
  row.counters = {.connection = ConnectionId(id), .bytes = bytes};
  return row;
}

// Two queue pairs of one connection are 100 bytes; a connection without bytes, clear-to-send and the background are not
// there.
TEST(RankPairs, AreSumsOfPayload) {
  const testing::TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    recorder.configuration("{}", "0.1.0");
    recorder.background(std::vector{BackgroundInfo{.job = JobId(5), .name = "noise"}}, RankId(3), {});
    RunRecorder::Run run = recorder.begin({.ranks = 3});
    RunEnd end;
    end.flows = {flow(0, 1, 0, 7, Path::kLocal),
                 flow(1, 0, 1, 60),
                 flow(1, 0, 1, 40),
                 flow(2, 0, 1, 999),
                 flow(3, 2, 0, 0),
                 flow(4, 0, 2, 500),
                 flow(5, 1, 0, 3)};
    end.flows[2].counters.member = 1;
    end.flows[3].connection.control = true;
    end.flows[5].connection.job = JobId(5);
    run.end(end);
  }
  const RunReader record(folder.path());
  std::vector<std::string> pairs;
  record.for_each_rank_pair(record.runs().front(), [&](const RankPairBytes& pair) {
    pairs.push_back(std::to_string(pair.source.value) + '>' + std::to_string(pair.destination.value) + ' ' +
                    std::to_string(pair.wire.count) + '+' + std::to_string(pair.local.count));
  });
  EXPECT_THAT(pairs, ElementsAre("0>1 100+0", "1>0 3+7"));
}

}  // namespace
}  // namespace rankwire
