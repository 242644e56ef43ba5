// One run of the records of two machines.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "emulator/record/machine_rows.h"
#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using testing::TemporaryFolder;

constexpr RecorderOptions kPart{.messages = MessageDetail::kAll, .waiting_halves = 0};

/// From rank 0, on machine a, to rank 1, on machine b.
MessageId message() {
  MessageId id;
  id.group = MessageId::kPointToPoint;
  id.destination = 1;
  return id;
}

FlowRow end_of_flow() {
  return {.connection = {.id = ConnectionId(0), .job = JobId(0), .source = RankId(0), .destination = RankId(1)},
          .counters = {.connection = ConnectionId(0), .source_qp = 100, .destination_qp = 200}};
}

/// Posted at 10 us and acknowledged at 40; 30 packets.
RecordPart part_of_source(const std::filesystem::path& folder) {
  RunRecorder recorder(folder, kPart);
  RunRecorder::Run run = recorder.begin({.ranks = 2});
  const std::vector<OperationRecord> operations{
      {.rank = RankId(0), .start = Time() + microseconds(5), .end = Time() + microseconds(40)}};
  run.sink().operations(operations);
  run.sink().messages(std::vector<MessageRecord>{{.id = message(),
                                                  .bytes = Bytes(100),
                                                  .at_source = true,
                                                  .first = Time() + microseconds(10),
                                                  .last = Time() + microseconds(40)}});
  FlowRow flow = end_of_flow();
  flow.counters.messages = 1, flow.counters.packets = 30, flow.counters.retransmitted = 2;
  flow.counters.answers = AnswerCounters{.acks_rx = 3};
  RunEnd end{.per_rank = {microseconds(40), Duration()}, .flows = {flow}};
  end.counters.packets_tx = 30, end.counters.worst_stall = microseconds(3);
  end.details = {{"turns", 5}};
  end.hardware_counters = {{.port = PortId(0), .name = "hw_counters.sent_pkts", .before = 1, .after = 31}};
  end.port_settings = {{.port = PortId(0), .name = "device", .before = "mlx5_0", .after = "mlx5_0"}};
  run.end(end);
  run.warning("the port is slow");
  return {.machine = "a", .file = folder / "run.sqlite", .clock = {}, .verdict = "ok", .reason = {}};
}

/// Delivered at 35 us by a clock that is 5 us ahead at 0 and gains 100 ppm, which is nothing at 35 us but a second at
/// 10^4.
RecordPart part_of_destination(const std::filesystem::path& folder, uint64_t arrived, bool ends = true) {
  RunRecorder recorder(folder, kPart);
  RunRecorder::Run run = recorder.begin({.ranks = 2});
  const std::vector<OperationRecord> operations{
      {.rank = RankId(1), .start = Time() + microseconds(5), .end = Time() + seconds(10'000)}};
  run.sink().operations(operations);
  run.sink().messages(std::vector<MessageRecord>{{.id = message(),
                                                  .bytes = Bytes(100),
                                                  .marks = 4,
                                                  .first = Time() + microseconds(25),
                                                  .last = Time() + microseconds(35)}});
  if (ends) {
    FlowRow flow = end_of_flow();
    flow.counters.marks = 4, flow.counters.arrived = arrived;
    flow.counters.answers = AnswerCounters{.acks_tx = 5, .naks_tx = 6};
    RunEnd end{.per_rank = {Duration(), seconds(10'000)}, .flows = {flow}};
    end.counters.packets_tx = 7, end.counters.worst_stall = microseconds(2);
    end.details = {{"turns", 6}};
    end.hardware_counters = {{.port = PortId(1), .name = "hw_counters.sent_pkts", .before = 2, .after = 9}};
    end.port_settings = {{.port = PortId(1), .name = "device", .before = "mlx5_0", .after = "mlx5_0"}};
    run.end(end);
    run.warning("the port is slow");
    run.warning("a core is short");
  }
  return {.machine = "b",
          .file = folder / "run.sqlite",
          .clock = {.offset = microseconds(5), .drift = 1e-4, .error = microseconds(1)},
          .verdict = "ok",
          .reason = {}};
}

void put_together(const std::filesystem::path& folder, const std::vector<RecordPart>& parts, MessageDetail messages) {
  RunRecorder recorder(folder, {.messages = messages});
  recorder.nodes(std::vector<NodeInfo>{{.rank = RankId(0), .name = "send", .kind = "send"},
                                       {.rank = RankId(1), .name = "receive", .kind = "receive"}});
  RunRecorder::Run run = recorder.begin({.ranks = 2});
  run.end({.per_rank = {Duration(), Duration()}});
  run.take_parts(parts);
}

TEST(RecordParts, TimesAreOfOneClock) {
  TemporaryFolder folder;
  put_together(folder / "run", {part_of_source(folder / "a"), part_of_destination(folder / "b", 30)},
               MessageDetail::kSampled);
  const RunReader reader(folder / "run");
  const RecordedRun& run = *reader.emulated();
  std::vector<std::string> rows;
  reader.for_each_execution(run, [&](const OperationRecord& row) {
    rows.push_back(fmt::format("{}: {} {}", row.rank.value, row.start.ps, row.end.ps));
  });
  std::ranges::sort(rows);
  // 5 us are 5 us ahead, and 0.5 ns by drift; 10^4 s are ahead by a second and 5 us.
  EXPECT_THAT(rows, ElementsAre("0: 5000000 40000000", "1: -500 9998999995000000"));
  EXPECT_EQ(run.end.per_rank[0], microseconds(40));
  EXPECT_EQ(run.end.per_rank[1].ps, 9998999995000000);
  EXPECT_EQ(run.end.completion.ps, 9998999995000000);
}

TEST(RecordParts, MessagesHaveTheirTwoEnds) {
  for (const MessageDetail detail : {MessageDetail::kSampled, MessageDetail::kAll}) {
    TemporaryFolder folder;
    put_together(folder / "run", {part_of_source(folder / "a"), part_of_destination(folder / "b", 30)}, detail);
    const RunReader reader(folder / "run");
    const RecordedRun& run = *reader.emulated();
    ASSERT_TRUE(run.latency);
    EXPECT_EQ(run.latency->count, 1u);
    // Posted at 10 us, delivered at 35 - 5 us, less 3.5 ns of drift.
    EXPECT_EQ(run.latency->max.ps, 20'000'000 - 3'500);
    EXPECT_EQ(run.loss.unjoined, 0u);
    const std::vector<JoinedMessage> messages = reader.slowest_messages(run, 10);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].acked, Time() + microseconds(40));
    EXPECT_EQ(messages[0].marks, 4u);
  }
}

TEST(RecordParts, CountsOfBothEndsAreOne) {
  TemporaryFolder folder;
  put_together(folder / "run", {part_of_source(folder / "a"), part_of_destination(folder / "b", 29)},
               MessageDetail::kSampled);
  const RunReader reader(folder / "run");
  const RecordedRun& run = *reader.emulated();
  EXPECT_EQ(run.end.counters.packets_tx, 37u);
  EXPECT_EQ(run.end.counters.worst_stall, microseconds(3)) << "the worst, not the sum";
  ASSERT_EQ(run.end.details.size(), 1u);
  EXPECT_EQ(run.end.details[0].value, 11u);
  std::vector<std::string> flows;
  reader.for_each_flow(run, [&](const RecordedFlow& row) {
    const FlowCounters& n = row.flow.counters;
    EXPECT_EQ(n.answers, (AnswerCounters{.acks_tx = 5, .naks_tx = 6, .acks_rx = 3}));
    flows.push_back(fmt::format("{}->{} {} sent {} arrived {} retransmitted {} marks", n.source_qp, n.destination_qp,
                                n.packets, n.arrived.value_or(0), n.retransmitted, n.marks));
  });
  EXPECT_THAT(flows, ElementsAre("100->200 30 sent 29 arrived 2 retransmitted 4 marks"));
  EXPECT_THAT(reader.warnings(), ElementsAre("the port is slow", "machine 'b': a core is short"));
}

/// Of a machine with a port for each worker; where it has one, its port names none.
RecordPart part_of_workers(const std::filesystem::path& folder, const std::string& machine, std::vector<double> busy) {
  RunRecorder recorder(folder, kPart);
  const auto workers = static_cast<uint32_t>(busy.size());
  RunRecorder::Run run = recorder.begin({.ranks = 2, .shards = workers});
  RunEnd end{.per_rank = {Duration(), Duration()}};
  end.turns = {{Duration(1), Duration(2), workers}};
  for (uint32_t worker = 0; worker < workers; ++worker) {
    end.ports.push_back({.port = PortId(worker), .name = fmt::format("{}{}", machine, worker)});
    if (workers > 1) end.ports.back().worker = worker;
  }
  end.core_busy = std::move(busy);
  run.end(end);
  return {.machine = machine, .file = folder / "run.sqlite", .clock = {}, .verdict = "ok", .reason = {}};
}

// Of one whose part is not there nothing is known; turns are of all together.
TEST(RecordParts, WorkersAreCountedThroughAllMachines) {
  TemporaryFolder folder;
  RecordPart unreachable;
  unreachable.machine = "c", unreachable.verdict = "gone";
  put_together(folder / "run",
               {part_of_workers(folder / "a", "a", {0.1, 0.2}), part_of_workers(folder / "b", "b", {0.3}), unreachable,
                part_of_workers(folder / "d", "d", {0.4, 0.5})},
               MessageDetail::kNone);
  const RunReader reader(folder / "run");
  const RecordedRun& run = *reader.emulated();
  EXPECT_EQ(run.start.shards, 5u);
  EXPECT_THAT(run.end.core_busy, ElementsAre(0.1, 0.2, 0.3, 0.4, 0.5));
  ASSERT_EQ(run.end.turns.size(), 1u);
  EXPECT_EQ(run.end.turns[0].count, 5u);
  std::vector<std::string> ports;
  for (const PortCounters& port : reader.ports(run))
    ports.push_back(fmt::format("{} {}", port.name, port.worker ? fmt::to_string(*port.worker) : "-"));
  EXPECT_THAT(ports, ::testing::UnorderedElementsAre("a0 0", "a1 1", "b0 -", "d0 3", "d1 4"));
}

TEST(RecordParts, DevicesOfAllMachinesHaveTheirCountersAndSettings) {
  TemporaryFolder folder;
  put_together(folder / "run", {part_of_source(folder / "a"), part_of_destination(folder / "b", 30)},
               MessageDetail::kSampled);
  const RunReader reader(folder / "run");
  std::vector<std::string> rows;
  for (const HardwareCounterRow& row : reader.hardware_counters(*reader.emulated()))
    rows.push_back(fmt::format("{} {} {} {}", row.port.value, row.name, row.before, row.after));
  for (const PortSettingRow& row : reader.port_settings(*reader.emulated()))
    rows.push_back(fmt::format("{} {} {}", row.port.value, row.name, row.after));
  EXPECT_THAT(rows, ElementsAre("0 hw_counters.sent_pkts 1 31", "1 hw_counters.sent_pkts 2 9", "0 device mlx5_0",
                                "1 device mlx5_0"));
}

// A whole flow is 30 of 30 packets: nothing is said of it.
TEST(RecordParts, NothingIsLostWhereAllHasArrived) {
  TemporaryFolder folder;
  put_together(folder / "run", {part_of_source(folder / "a"), part_of_destination(folder / "b", 30)},
               MessageDetail::kSampled);
  const RunReader reader(folder / "run");
  EXPECT_EQ(reader.wire_packets(*reader.emulated()).packets, 30u);
  EXPECT_EQ(reader.wire_packets(*reader.emulated()).lost, 0u);
}

TEST(RecordParts, WhoHasDiedIsThereWithWhatItHadWritten) {
  TemporaryFolder folder;
  RecordPart died = part_of_destination(folder / "b", 0, false), unreachable = died;
  died.verdict = unreachable.verdict = "gone";
  unreachable.machine = "c", unreachable.file.clear();
  put_together(folder / "run", {part_of_source(folder / "a"), died, unreachable}, MessageDetail::kSampled);
  const RunReader reader(folder / "run");
  EXPECT_EQ(reader.execution_count(*reader.emulated()), 2u);
  EXPECT_EQ(reader.emulated()->latency->count, 1u);
  const std::vector<RecordPart> machines = read_machines(folder / "run", reader.emulated()->run);
  ASSERT_EQ(machines.size(), 3u);
  EXPECT_EQ(machines[1].verdict, "gone");
  EXPECT_EQ(machines[1].clock.offset, microseconds(5));
  EXPECT_EQ(machines[1].clock.error, microseconds(1));
  EXPECT_EQ(machines[2].machine, "c");
}

}  // namespace
}  // namespace rankwire
