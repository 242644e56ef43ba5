// What the transport counted, through a record on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "emulator/record/database.h"
#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using testing::TemporaryFolder;

void record(const std::filesystem::path& folder, const RunEnd& end, std::span<const MessageRecord> messages = {}) {
  RunRecorder recorder(folder);
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2});
  run.sink().messages(messages);
  run.end(end);
}

FlowRow flow(uint32_t connection, uint16_t member, bool control) {
  return {.connection = {.id = ConnectionId(connection),
                         .job = JobId(0),
                         .source = RankId(0),
                         .destination = RankId(1),
                         .control = control},
          .counters = {.connection = ConnectionId(connection),
                       .member = member,
                       .source_qp = 100u + member,
                       .destination_qp = 200u + member,
                       .messages = 10,
                       .bytes = 20,
                       .packets = 30,
                       .retransmitted = 40,
                       .naks = 50,
                       .rnr_naks = 60,
                       .timeouts = 70,
                       .marks = 80}};
}

// Connection 0 carries data over two queue pairs, connection 1 control between the same ranks: each has the latency of
// its own messages, 20 and 7 ps, whichever of its queue pairs they took.
TEST(TransportRecord, EveryQueuePairIsARowWithTheLatencyOfItsConnection) {
  TemporaryFolder folder;
  MessageId data;
  data.group = MessageId::kPointToPoint;
  data.destination = 1;
  MessageId control = data;
  control.control = 1;
  const std::vector<MessageRecord> messages = {{.id = data, .at_source = true, .first = Time(0), .last = Time(30)},
                                               {.id = data, .first = Time(5), .last = Time(20)},
                                               {.id = control, .at_source = true, .first = Time(1), .last = Time(9)},
                                               {.id = control, .first = Time(8), .last = Time(8)}};
  record(folder.path(), {.flows = {flow(0, 0, false), flow(0, 1, false), flow(1, 0, true), flow(2, 0, false)}},
         messages);
  const RunReader reader(folder.path());
  std::vector<std::string> rows;
  reader.for_each_flow(*reader.emulated(), [&](const RecordedFlow& row) {
    const FlowCounters& n = row.flow.counters;
    rows.push_back(fmt::format("{}.{} {}->{} control {} max {}", n.connection.value, n.member, n.source_qp,
                               n.destination_qp, row.flow.connection.control, row.latency ? row.latency->max.ps : -1));
    EXPECT_EQ(n.retransmitted, 40u);
    EXPECT_EQ(n.naks, 50u);
    EXPECT_EQ(n.rnr_naks, 60u);
    EXPECT_EQ(n.timeouts, 70u);
    EXPECT_EQ(n.marks, 80u);
  });
  EXPECT_THAT(rows, ElementsAre("0.0 100->200 control false max 20", "0.1 101->201 control false max 20",
                                "1.0 100->200 control true max 7", "2.0 100->200 control false max 20"));
  EXPECT_EQ(reader.emulated()->latency->count, 1u) << "control messages are no part of the message completion time";
}

// In whatever parts they are told, flows are the run's, with what their queue pairs counted.
TEST(TransportRecord, FlowsMayBeToldBeforeTheEnd) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunRecorder::Run run = recorder.next_run();
    EXPECT_THROW(run.flows(std::vector{flow(0, 0, false)}), Error) << "it has not begun";
    run.begin({.fidelity = Fidelity::kEmulated, .ranks = 2});
    FlowRow last = flow(2, 0, false);
    last.counters.source_end.packet_seq_err = 7;
    run.flows(std::vector{flow(0, 0, false), flow(1, 0, false)});
    run.flows(std::vector{last});
    run.end({.flows = {flow(3, 0, false)}});
  }
  const RunReader reader(folder.path());
  std::vector<std::string> rows;
  reader.for_each_flow(*reader.emulated(), [&](const RecordedFlow& row) {
    const FlowCounters& n = row.flow.counters;
    rows.push_back(fmt::format("{} {} {}", n.connection.value, n.messages, n.source_end.packet_seq_err));
  });
  EXPECT_THAT(rows, ElementsAre("0 10 0", "1 10 0", "2 10 7", "3 10 0"));
}

// Connections 0 and 1 lead from rank 0 to rank 1; connection 1 is of RDMA devices, which do not tell what arrived.
TEST(TransportRecord, TellsWhatDidNotArrive) {
  TemporaryFolder folder;
  FlowRow lossy = flow(0, 0, false), all = flow(0, 1, false), unknown = flow(1, 0, false);
  lossy.counters.packets = 100, lossy.counters.arrived = 80, lossy.counters.unacknowledged = 5;
  lossy.counters.answers = AnswerCounters{.acks_tx = 9, .naks_tx = 4, .acks_rx = 7};
  all.counters.packets = 30, all.counters.arrived = 30;
  unknown.counters.packets = 7;
  record(folder.path(), {.flows = {lossy, all, unknown}});
  const RunReader reader(folder.path());
  std::vector<std::string> rows;
  std::vector<std::optional<AnswerCounters>> answers;
  reader.for_each_flow(*reader.emulated(), [&](const RecordedFlow& row) {
    const FlowCounters& n = row.flow.counters;
    rows.push_back(fmt::format("{} {}", n.arrived ? fmt::to_string(*n.arrived) : "-", n.unacknowledged));
    answers.push_back(n.answers);
  });
  EXPECT_THAT(rows, ElementsAre("80 5", "30 0", "- 0"));
  EXPECT_THAT(answers, ElementsAre(lossy.counters.answers, std::nullopt, std::nullopt));
  std::vector<PairTraffic> pairs;
  reader.for_each_pair(*reader.emulated(), [&](const PairTraffic& pair) { pairs.push_back(pair); });
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].queue_pairs, 3u);
  EXPECT_EQ(pairs[0].packets, 137u);
  EXPECT_EQ(pairs[0].counted, 130u);
  EXPECT_EQ(pairs[0].lost, 15u) << "100 - 80 - 5";
  EXPECT_EQ(reader.wire_packets(*reader.emulated()).packets, 137u);
  EXPECT_EQ(reader.wire_packets(*reader.emulated()).lost, 15u);
}

TEST(TransportRecord, KeepsTheHostsOfRanksAndLimits) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    recorder.limits(std::vector<LimitInfo>{{"ratio", 1.1}, {"busbw.all_reduce", 8e10}});
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2});
    run.end({.rank_nics = {{.nic = NicId(0), .port = PortId(0), .mac = {}, .ip = {}, .host = 3},
                           {.nic = NicId(1), .port = PortId(1), .mac = {}, .ip = {}, .host = {}}}});
  }
  const RunReader reader(folder.path());
  const auto nics = reader.rank_nics(*reader.emulated());
  ASSERT_EQ(nics.size(), 2u);
  EXPECT_EQ(nics[0].host, 3u);
  EXPECT_EQ(nics[1].host, std::nullopt);
  const auto limits = reader.limits();
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0].name, "ratio");
  EXPECT_EQ(limits[1].value, 8e10);
}

TEST(TransportRecord, KeepsDetailsInTheirOrderAndRanksNics) {
  TemporaryFolder folder;
  record(folder.path(), {.details = {{"replies_held", 3}, {"acks_coalesced", UINT64_MAX}},
                         .rank_nics = {{NicId(4), PortId(1), "02:00:00:00:00:05", "198.18.0.5"},
                                       {NicId(2), PortId(0), "02:00:00:00:00:03", "2001:db8::3"}}});
  const RunReader reader(folder.path());
  const std::vector<DetailRow>& details = reader.emulated()->end.details;
  ASSERT_EQ(details.size(), 2u);
  EXPECT_EQ(details[0].name, "replies_held");
  EXPECT_EQ(details[0].value, 3u);
  EXPECT_EQ(details[1].value, UINT64_MAX);
  const auto nics = reader.rank_nics(*reader.emulated());
  ASSERT_EQ(nics.size(), 2u);
  EXPECT_EQ(nics[0].nic, NicId(4));
  EXPECT_EQ(nics[0].port, PortId(1));
  EXPECT_EQ(nics[0].mac, "02:00:00:00:00:05");
  EXPECT_EQ(nics[1].ip, "2001:db8::3");
}

// The switch numbers its ports like the generator's.
TEST(TransportRecord, PortsKeepTheirOrderAndTheirClock) {
  TemporaryFolder folder;
  record(folder.path(), {.ports = {{.port = PortId(0), .name = "p0", .hardware_time = true},
                                   {.port = PortId(1), .name = "p1", .arrival_error = nanoseconds(230)},
                                   {.port = PortId(0), .name = "switch.p0"}}});
  const RunReader reader(folder.path());
  const auto ports = reader.ports(*reader.emulated());
  ASSERT_EQ(ports.size(), 3u);
  EXPECT_TRUE(ports[0].hardware_time);
  EXPECT_EQ(ports[1].name, "p1");
  EXPECT_FALSE(ports[1].hardware_time);
  EXPECT_EQ(ports[1].arrival_error, nanoseconds(230));
  EXPECT_EQ(ports[2].name, "switch.p0");
}

TEST(TransportRecord, KeepsWhoseMessagesWereWrong) {
  TemporaryFolder folder;
  record(folder.path(), {.wrong_messages = {{"grads", 3}, {"weights", 1}}});
  const RunReader reader(folder.path());
  const auto wrong = reader.wrong_messages(*reader.emulated());
  ASSERT_EQ(wrong.size(), 2u);
  EXPECT_EQ(wrong[0].operation, "grads");
  EXPECT_EQ(wrong[0].messages, 3u);
  EXPECT_EQ(wrong[1].operation, "weights");
  EXPECT_EQ(wrong[1].messages, 1u);
}

TEST(TransportRecord, KeepsFailuresAndWhatHardwareSays) {
  TemporaryFolder folder;
  FailureRow failure{
      .operation = "grads", .message = "job 0 group 1", .reason = "retry count exceeded", .state = "QP 17"};
  failure.connection.id = ConnectionId(5);
  failure.connection.source = RankId(3), failure.connection.destination = RankId(4);
  record(folder.path(), {.failures = {failure},
                         .hardware_counters = {{PortId(1), "hw_counters.sent_pkts", 7, 1007},
                                               {PortId(1), "hw_counters.reset", UINT64_MAX, 4}},
                         .port_settings = {{PortId(1), "firmware", "28.1", "28.1"}, {PortId(1), "state", "up", ""}}});
  const RunReader reader(folder.path());
  const auto failures = reader.failures(*reader.emulated());
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].connection.id, ConnectionId(5));
  EXPECT_EQ(failures[0].connection.source, RankId(3));
  EXPECT_EQ(failures[0].connection.destination, RankId(4));
  EXPECT_EQ(failures[0].operation, "grads");
  EXPECT_EQ(failures[0].message, "job 0 group 1");
  EXPECT_EQ(failures[0].reason, "retry count exceeded");
  EXPECT_EQ(failures[0].state, "QP 17");
  const auto counters = reader.hardware_counters(*reader.emulated());
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[0].port, PortId(1));
  EXPECT_EQ(counters[0].name, "hw_counters.sent_pkts");
  EXPECT_EQ(counters[0].change(), 1000u);
  EXPECT_EQ(counters[1].before, UINT64_MAX);
  EXPECT_EQ(counters[1].change(), 4u) << "a counter that began again counts from 0";
  const auto settings = reader.port_settings(*reader.emulated());
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].name, "firmware");
  EXPECT_EQ(settings[1].before, "up");
  EXPECT_EQ(settings[1].after, "");
}

// 0.5 of its 2 s there job 1 has job 0 beside it; the bytes do not fit in 32 bits.
TEST(TransportRecord, KeepsLinksThatJobsShare) {
  TemporaryFolder folder;
  record(folder.path(),
         {.shared_links = {{.link = "it's.up",
                            .job = JobId(1),
                            .other = JobId(0),
                            .time = seconds(2),
                            .shared = milliseconds(500),
                            .bytes = Bytes(25'000'000'000),
                            .shared_bytes = Bytes(6'250'000'000)},
                           {.link = "down", .job = JobId(0), .other = JobId(1), .time = {}, .shared = {}}}});
  const RunReader reader(folder.path());
  const std::vector<SharedLinkRow> links = reader.shared_links(*reader.emulated());
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].link, "it's.up");
  EXPECT_EQ(links[0].job, JobId(1));
  EXPECT_EQ(links[0].other, JobId(0));
  EXPECT_EQ(links[0].time, seconds(2));
  EXPECT_EQ(links[0].shared, milliseconds(500));
  EXPECT_EQ(links[0].bytes, Bytes(25'000'000'000));
  EXPECT_EQ(links[0].shared_bytes, Bytes(6'250'000'000));
  EXPECT_EQ(links[1].link, "down");
}

// Records of an earlier rankwire have the same version and lack these tables.
TEST(TransportRecord, ReadsRecordsWithoutTheTablesThatWereAdded) {
  TemporaryFolder folder;
  record(folder.path(), {});
  Database(folder.path() / "run.sqlite", Database::Access::kCreate)
      .execute(
          "DROP TABLE failures; DROP TABLE hardware_counters; DROP TABLE port_settings; "
          "DROP TABLE shared_links;");
  const RunReader reader(folder.path());
  EXPECT_TRUE(reader.failures(*reader.emulated()).empty());
  EXPECT_TRUE(reader.hardware_counters(*reader.emulated()).empty());
  EXPECT_TRUE(reader.port_settings(*reader.emulated()).empty());
  EXPECT_TRUE(reader.shared_links(*reader.emulated()).empty());
}

/// Port 0 measured 1 .. 10 ps and is stamped by hardware, port 1 measured 11 .. 20 ps and is not; one way 5 ps on port
/// 1 alone, and an empty histogram.
class Latencies : public ::testing::Test {
 protected:
  Latencies() {
    for (int64_t ps = 1; ps <= 10; ++ps) low_.add(Duration(ps));
    for (int64_t ps = 11; ps <= 20; ++ps) high_.add(Duration(ps));
    one_way_.add(Duration(5));
    const std::array latencies = {PortLatency{PortId(0), LatencyKind::kRoundTrip, &low_},
                                  PortLatency{PortId(0), LatencyKind::kOneWay, &empty_},
                                  PortLatency{PortId(1), LatencyKind::kRoundTrip, &high_},
                                  PortLatency{PortId(1), LatencyKind::kOneWay, &one_way_}};
    const std::array ports = {PortCounters{.port = PortId(0), .hardware_time = true, .arrival_error = nanoseconds(2)},
                              PortCounters{.port = PortId(1), .arrival_error = nanoseconds(300)}};
    rows_ = latency_rows(latencies, ports);
  }
  Histogram low_, high_, one_way_, empty_;
  std::vector<LatencyRow> rows_;
};

TEST_F(Latencies, AllPortsComeFirstAndEmptyHistogramsNowhere) {
  ASSERT_EQ(rows_.size(), 5u);
  EXPECT_FALSE(rows_[0].port.valid());
  EXPECT_EQ(rows_[1].port, PortId(0));
  EXPECT_EQ(rows_[2].port, PortId(1));
  EXPECT_EQ(rows_[3].kind, LatencyKind::kOneWay);
  EXPECT_FALSE(rows_[3].port.valid());
  EXPECT_EQ(rows_[4].port, PortId(1));
}

// 1 .. 20: mean 10.5, rounded up; the 10th, 18th and 20th value.
TEST_F(Latencies, FiguresOfAllPortsAreThoseOfAllPackets) {
  const LatencyRow& all = rows_[0];
  EXPECT_EQ(all.count, 20u);
  EXPECT_EQ(all.min, Duration(1));
  EXPECT_EQ(all.mean, Duration(11));
  EXPECT_EQ(all.p50, Duration(10));
  EXPECT_EQ(all.p90, Duration(18));
  EXPECT_EQ(all.p99, Duration(20));
  EXPECT_EQ(all.max, Duration(20));
}

TEST_F(Latencies, TheClockOfAllPortsIsThatOfTheWorst) {
  EXPECT_TRUE(rows_[1].hardware_time);
  EXPECT_EQ(rows_[1].error, nanoseconds(2));
  EXPECT_FALSE(rows_[0].hardware_time);
  EXPECT_EQ(rows_[0].error, nanoseconds(300));
}

TEST_F(Latencies, AreReadAsTheyWereWritten) {
  TemporaryFolder folder;
  record(folder.path(), {.latencies = rows_});
  const RunReader reader(folder.path());
  const auto read = reader.latencies(*reader.emulated());
  ASSERT_EQ(read.size(), rows_.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].port, rows_[i].port);
    EXPECT_EQ(read[i].kind, rows_[i].kind);
    EXPECT_EQ(read[i].count, rows_[i].count);
    EXPECT_EQ(read[i].mean, rows_[i].mean);
    EXPECT_EQ(read[i].p999, rows_[i].p999);
    EXPECT_EQ(read[i].hardware_time, rows_[i].hardware_time);
    EXPECT_EQ(read[i].error, rows_[i].error);
    EXPECT_EQ(read[i].buckets, rows_[i].buckets);
  }
}

}  // namespace
}  // namespace rankwire
