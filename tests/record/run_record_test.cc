// Round trips through a record on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/transport_counters.h"
#include "emulator/record/database.h"
#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "emulator/record/schema.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

// No more than the run writes, and in virtual time, where it waits for the writer, no more than it makes meanwhile.
TEST(RowsOfSink, AreThoseThatARunMayNeed) {
  EXPECT_EQ(rows_of_sink({}, {.clock = "real"}), 1u << 18);
  EXPECT_EQ(rows_of_sink({}, {.clock = "virtual"}), 1u << 16);
  EXPECT_EQ(rows_of_sink({}, {.clock = "real", .rows = 100}), 128u);
  EXPECT_EQ(rows_of_sink({}, {.clock = "virtual", .rows = 0}), 1u);
  EXPECT_EQ(rows_of_sink({.ring = 1024}, {.clock = "virtual"}), 1024u);
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

NodeInfo node(uint32_t rank, uint32_t index, const std::string& kind) {
  return {.rank = RankId(rank),
          .node = index,
          .id = 100 + index,
          .name = kind + " of " + std::to_string(rank),
          .kind = kind,
          .group = "dp",
          .group_size = 2,
          .bytes = Bytes(4096),
          .recorded = microseconds(7),
          .job = JobId(0)};
}

OperationRecord operation(uint32_t rank, uint32_t node, uint32_t iteration, int64_t start, int64_t end) {
  return {.rank = RankId(rank), .node = node, .iteration = iteration, .start = Time(start), .end = Time(end)};
}

/// What reading the record fails with.
Error failure(const std::filesystem::path& folder) {
  try {
    RunReader reader(folder);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "the record was read";
  return Error(ErrorKind::kRun, "");
}

std::string first_line(const std::filesystem::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

TEST(RunRecord, KeepsConfigurationDutAndWarnings) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder / "run");
    recorder.configuration(R"({"seed":1})", "0.1.0", {{"vendor", "Acme"}, {"model", "it's \"9000\""}});
    recorder.warning("first");
    recorder.warning("second");
  }
  const RunReader reader(folder / "run");
  EXPECT_EQ(reader.config(), R"({"seed":1})");
  EXPECT_EQ(reader.version(), "0.1.0");
  EXPECT_EQ(reader.dut().at("model"), "it's \"9000\"");
  EXPECT_THAT(reader.warnings(), ElementsAre("first", "second"));
  EXPECT_EQ(reader.emulated(), nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run/run.sqlite-wal")) << "a finished record is one file";
}

TEST(RunRecord, KeepsTheEndOfARunExactly) {
  TemporaryFolder folder;
  RunEnd end{.verdict = "stalled",
             .reason = "rank 1 waits",
             .completion = Duration(12'345),
             .per_rank = {Duration(12'000), Duration(12'345)},
             .messages = 6,
             .bytes = Bytes(60),
             .bytes_wire = Bytes(40),
             .bytes_local = Bytes(20),
             .messages_lost = 2,
             .messages_duplicated = 1,
             .core_busy = {0.25, 1.0},
             .turns = {{Duration(1000), Duration(1100), 7}, {Duration(5000), Duration(5100), 1}}};
  uint64_t value = 1;
  for (const CounterField& counter : transport_counters()) end.counters.*counter.field = value++;
  end.counters.worst_stall = Duration(77);
  end.counters.slipped = Duration(78);
  end.counters.pacing_slipped = Duration(79);
  end.ports = {{.port = PortId(0),
                .name = "p0",
                .tx_frames = 1,
                .tx_bytes = 2,
                .rx_frames = 3,
                .rx_bytes = 4,
                .tx_refused = 5,
                .rx_missed = 6}};
  {
    RunRecorder recorder(folder.path());
    RunRecorder::Run run =
        recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = 2, .seed = UINT64_MAX});
    run.end(end);
  }
  const RunReader reader(folder.path());
  ASSERT_NE(reader.emulated(), nullptr);
  const RecordedRun& run = *reader.emulated();
  EXPECT_EQ(run.start.seed, UINT64_MAX);
  EXPECT_EQ(run.start.ranks, 2u);
  EXPECT_TRUE(run.ended);
  EXPECT_EQ(run.end.verdict, "stalled");
  EXPECT_EQ(run.end.reason, "rank 1 waits");
  EXPECT_EQ(run.end.per_rank, end.per_rank);
  EXPECT_EQ(run.end.bytes_local, Bytes(20));
  EXPECT_EQ(run.end.messages_lost, 2u);
  EXPECT_THAT(run.end.core_busy, ElementsAre(0.25, 1.0));
  EXPECT_EQ(run.end.turns, end.turns);
  value = 1;
  for (const CounterField& counter : transport_counters()) {
    EXPECT_EQ(run.end.counters.*counter.field, value++) << counter.name;
  }
  EXPECT_EQ(run.end.counters.worst_stall, Duration(77));
  EXPECT_EQ(run.end.counters.slipped, Duration(78));
  EXPECT_EQ(run.end.counters.pacing_slipped, Duration(79));
  ASSERT_EQ(reader.ports(run).size(), 1u);
  EXPECT_EQ(reader.ports(run)[0].rx_missed, 6u);
}

TEST(RunRecord, JoinsOperationsOfBothSidesByIterationRankAndNode) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    recorder.nodes(std::vector{node(0, 0, "compute"), node(0, 1, "all_reduce"), node(1, 0, "none")});
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = 2});
    RecordSink& emulated = run.sink();
    // Out of order, as ranks finish; (iteration 1, rank 0, node 0) is on this side only.
    emulated.operations(std::vector{operation(0, 0, 1, 50, 60), operation(0, 1, 0, 10, 30), operation(1, 0, 0, 0, 0),
                                    operation(0, 0, 0, 0, 10)});
    run.end({});
    RunRecorder::Run second_run = recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2});
    RecordSink& reference = second_run.sink();
    reference.operations(std::vector{operation(0, 0, 0, 0, 9), operation(0, 1, 0, 9, 19), operation(0, 1, 1, 70, 80)});
    second_run.end({});
  }
  const RunReader reader(folder.path());
  std::vector<std::string> rows;
  reader.for_each_operation([&](const OperationRow& row) {
    const auto side = [](const std::optional<OperationTimes>& t) {
      return t ? fmt::format("{}-{}", t->start.ps, t->end.ps) : std::string("-");
    };
    rows.push_back(fmt::format("i{} r{} n{} {}: {} {}", row.iteration, row.node.rank.value, row.node.id, row.node.kind,
                               side(row.emulated), side(row.reference)));
  });
  // Rank 1's node is of kind "none" and is left out.
  EXPECT_THAT(rows, ElementsAre("i0 r0 n100 compute: 0-10 0-9", "i0 r0 n101 all_reduce: 10-30 9-19",
                                "i1 r0 n100 compute: 50-60 -", "i1 r0 n101 all_reduce: - 70-80"));
}

CauseRecord cause(uint32_t rank, uint32_t node, uint32_t iteration, uint32_t connection, int64_t paused) {
  CauseRecord row{
      .rank = RankId(rank), .node = node, .iteration = iteration, .connection = ConnectionId(connection), .causes = {}};
  for (size_t i = 0; i < kCauses; ++i) row.causes.spent[i] = Duration(static_cast<int64_t>(i));
  row.causes[Cause::kPaused] = Duration(paused);
  return row;
}

/// Rank 0 sends by the connections 0 and 1, rank 1 by 2 and 3, of which nothing else is known.
RunEnd end_with_two_connections() {
  RunEnd end;
  for (uint32_t c : {0u, 1u, 2u}) {
    FlowRow flow;
    flow.connection.id = ConnectionId(c), flow.connection.job = JobId(0);
    flow.connection.source = RankId(c / 2), flow.connection.destination = RankId(1 - c / 2);
    flow.connection.channel = static_cast<uint8_t>(c), flow.connection.control = c == 1;
    end.flows.push_back(flow);
  }
  return end;
}

// Two collectives of a group; the ranks have them in different order, as `sequence` tells.
TEST(RunRecord, TimesByCauseOfOperationsAndOfAllWhoTakePartInThem) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path(), {.causes = true});
    std::vector<NodeInfo> nodes = {node(0, 0, "all_reduce"), node(0, 1, "all_reduce"), node(1, 0, "all_reduce"),
                                   node(1, 1, "all_reduce"), node(1, 2, "send")};
    nodes[1].sequence = nodes[2].sequence = 7;
    nodes[4].group.clear();
    recorder.nodes(nodes);
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 2});
    RecordSink& sink = run.sink();
    ASSERT_TRUE(sink.wants_causes());
    for (const uint32_t rank : {1u, 0u})
      sink.operations(
          std::vector{operation(rank, 1, 0, 1, 2), operation(rank, 0, 0, 0, 1), operation(rank, 0, 1, 3, 4)});
    sink.operations(std::vector{operation(1, 2, 0, 0, 9)});
    sink.causes(std::vector{cause(1, 0, 0, 2, 50), cause(0, 1, 0, 0, 20), cause(0, 1, 0, 1, 1), cause(0, 1, 1, 0, 99),
                            cause(1, 2, 0, 2, 30), cause(1, 2, 0, 3, 1)});
    run.end(end_with_two_connections());
  }
  const RunReader reader(folder.path());
  std::vector<std::string> sums;
  std::vector<OperationRow> rows;
  reader.for_each_operation([&](const OperationRow& row) {
    rows.push_back(row);
    const int64_t paused = row.causes ? (*row.causes)[Cause::kPaused].ps : -1;
    sums.push_back(fmt::format("i{} r{} n{}: {}", row.iteration, row.node.rank.value, row.node.node, paused));
    // 0 + 1 + 2 + 4 + 5 + 6 + 7 beside the pause, once a connection.
    if (paused > 0) {
      EXPECT_EQ((row.causes->total().ps - paused) % 25, 0);
    }
  });
  EXPECT_THAT(sums, ElementsAre("i0 r0 n0: -1", "i0 r0 n1: 21", "i0 r1 n0: 50", "i0 r1 n1: -1", "i0 r1 n2: 31",
                                "i1 r0 n0: -1", "i1 r1 n0: -1"));
  const auto flows = reader.flows_of(*reader.emulated(), rows);
  std::vector<std::string> told;
  for (const std::vector<OperationFlow>& of_operation : flows) {
    std::string& text = told.emplace_back();
    for (const OperationFlow& flow : of_operation)
      text += fmt::format("{}:{}->{}{} {}; ", flow.connection.id.value, flow.connection.source.value,
                          flow.connection.destination.value, flow.connection.control ? "c" : "",
                          flow.causes[Cause::kPaused].ps);
  }
  // Rank 0's node 1 and rank 1's node 0 are one collective. Of an operation that ended in iteration 1 nothing is known.
  const std::string both = "0:0->1 20; 1:0->1c 1; 2:1->0 50; ";
  EXPECT_THAT(told, ElementsAre("", both, both, "", "2:1->0 30; ", "", "0:0->1 99; "));
}

TEST(RunRecord, WithoutCausesNobodyIsAskedForThem) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
    RecordSink& sink = run.sink();
    EXPECT_FALSE(sink.wants_causes());
    sink.causes(std::vector{cause(0, 0, 0, 0, 1)});
    sink.operations(std::vector{operation(0, 0, 0, 0, 1)});
    run.end({});
  }
  const RunReader reader(folder.path());
  EXPECT_EQ(reader.emulated()->loss.operations, 0u);
  reader.for_each_operation([&](const OperationRow& row) {
    EXPECT_FALSE(row.causes);
    EXPECT_THAT(reader.flows_of(*reader.emulated(), {&row, 1}).front(), IsEmpty());
  });
}

TEST(RunRecord, VisitsARunByRankAndStart) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2});
    RecordSink& sink = run.sink();
    sink.operations(std::vector{operation(1, 0, 0, 5, 6), operation(0, 1, 0, 9, 10), operation(0, 0, 0, 2, 9)});
    run.end({});
  }
  const RunReader reader(folder.path());
  std::vector<int64_t> starts;
  reader.for_each_by_start(*reader.emulated(), Duration(0), [&](const NodeInfo& info, uint32_t, OperationTimes times) {
    starts.push_back(times.start.ps);
    EXPECT_EQ(info.kind, "unknown") << "no table of nodes was recorded";
  });
  EXPECT_THAT(starts, ElementsAre(2, 9, 5));
}

// Durations 4, 1, 9 emulated and 9, 2 in the reference.
TEST(RunRecord, RanksDurationsOverBothSides) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
    run.sink().operations(std::vector{operation(0, 0, 0, 0, 4), operation(0, 1, 0, 4, 5), operation(0, 2, 0, 5, 14)});
    run.end({});
    RunRecorder::Run second_run = recorder.begin({.fidelity = Fidelity::kReference, .ranks = 1});
    second_run.sink().operations(std::vector{operation(0, 0, 0, 0, 9), operation(0, 1, 0, 9, 11)});
    second_run.end({});
  }
  const RunReader reader(folder.path());
  EXPECT_EQ(reader.operation_count(), 5u);
  EXPECT_EQ(reader.nth_longest(1), Duration(9));
  EXPECT_EQ(reader.nth_longest(2), Duration(9));
  EXPECT_EQ(reader.nth_longest(3), Duration(4));
  EXPECT_EQ(reader.nth_longest(6), std::nullopt);
  EXPECT_EQ(reader.longer_than(Duration(4)), 2u);
  std::vector<uint32_t> nodes;
  reader.for_each_by_start(*reader.emulated(), Duration(4),
                           [&](const NodeInfo& info, uint32_t, OperationTimes) { nodes.push_back(info.node); });
  EXPECT_THAT(nodes, ElementsAre(0, 2));
}

TEST(RunRecord, VisitsTheIntervalsOfEachKindAndLeavesOutNodesOfNone) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    recorder.nodes(std::vector{node(0, 0, "compute"), node(0, 1, "none"), node(1, 0, "send")});
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2});
    run.sink().operations(std::vector{operation(1, 0, 0, 3, 8), operation(0, 1, 0, 7, 7), operation(0, 0, 1, 7, 9),
                                      operation(0, 0, 0, 0, 2), operation(1, 5, 0, 1, 2)});
    run.end({});
  }
  const RunReader reader(folder.path());
  std::vector<std::string> rows;
  reader.for_each_interval(*reader.emulated(), [&](RankId rank, std::string_view kind, OperationTimes times) {
    rows.push_back(fmt::format("{} {} {}-{}", rank.value, kind, times.start.ps, times.end.ps));
  });
  EXPECT_THAT(rows, ElementsAre("0 compute 0-2", "0 compute 7-9", "1 unknown 1-2", "1 send 3-8"));
}

TEST(RunRecord, TheTwinFillsTheEmulatedSideUnlessThereIsAnEmulatedRun) {
  TemporaryFolder folder;
  RunRecorder recorder(folder.path());
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 1});
  run.end({.completion = Duration(1)});
  EXPECT_EQ(RunReader(folder.path()).emulated()->end.completion, Duration(1));
  RunRecorder::Run second_run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = 1});
  second_run.end({.completion = Duration(2)});
  EXPECT_EQ(RunReader(folder.path()).emulated()->end.completion, Duration(2));
  EXPECT_EQ(RunReader(folder.path()).runs().size(), 2u);
}

TEST(RunRecord, EveryShardHasItsOwnSink) {
  TemporaryFolder folder;
  RunRecorder recorder(folder.path());
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2, .shards = 2});
  run.sink(0).operations(std::vector{operation(0, 0, 0, 1, 2)});
  run.sink(1).operations(std::vector{operation(1, 0, 0, 3, 4)});
  EXPECT_THROW(run.sink(2), Error);
  run.end({});
  std::vector<uint32_t> ranks;
  RunReader(folder.path()).for_each_operation([&](const OperationRow& row) { ranks.push_back(row.node.rank.value); });
  EXPECT_THAT(ranks, ElementsAre(0, 1));
}

TEST(RunRecord, ARunBeginsOnceAndVerdictsAreKnownWords) {
  TemporaryFolder folder;
  RunRecorder recorder(folder.path());
  RunRecorder::Run run = recorder.next_run();
  EXPECT_FALSE(recorder.has_begun());
  EXPECT_THROW(run.end({}), Error) << "it has not begun";
  EXPECT_THROW(run.sink(), Error);
  run.begin({.fidelity = Fidelity::kReference, .clock = "virtual"});
  EXPECT_TRUE(recorder.has_begun());
  EXPECT_THROW(run.begin({}), Error);
  EXPECT_THROW(run.end({.verdict = "fine"}), Error);
  run.end({});
  EXPECT_THROW(run.end({}), Error) << "it has ended";
  EXPECT_THROW(run.begin({}), Error);
  EXPECT_THROW(recorder.begin({.clock = "sundial"}), Error);
}

/// Operations 0 to 4999 of rank 0, one at a time, each as long as `length`, and both halves of a message with each.
void push_rows(RecordSink& sink, int64_t length) {
  for (uint32_t i = 0; i < 5000; ++i) {
    sink.operations(std::vector{operation(0, i, 0, i, i + length)});
    const MessageId id{.sequence = i};
    const MessageRecord sent{
        .id = id, .bytes = Bytes(8), .at_source = true, .first = Time(i), .last = Time(i + length)};
    MessageRecord received = sent;
    received.at_source = false;
    sink.messages(std::vector{sent, received});
  }
}

// Through rings of 64 rows, so that the writer goes from one run to the other many times.
TEST(RunRecord, RunsAtATimeKeepTheirOwnRows) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path(), {.messages = MessageDetail::kAll, .ring = 64});
    std::vector<RunRecorder::Run> runs;
    for (int i = 0; i < 3; ++i) runs.push_back(recorder.next_run());
    std::vector<std::thread> threads;
    for (const int64_t length : {1, 2, 3}) {
      threads.emplace_back([run = runs[static_cast<size_t>(length - 1)], length]() mutable {
        const Fidelity fidelity = length == 1 ? Fidelity::kTwin : Fidelity::kReference;
        push_rows(run.begin({.fidelity = fidelity, .clock = "virtual", .ranks = 1}), length);
        run.warning(std::to_string(length));
        run.end({.completion = Duration(length)});
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const RunReader reader(folder.path());
  ASSERT_EQ(reader.runs().size(), 3u);
  EXPECT_THAT(reader.warnings(), ElementsAre("1", "2", "3"));
  for (int64_t length = 1; length <= 3; ++length) {
    const RecordedRun& run = reader.runs()[static_cast<size_t>(length - 1)];
    EXPECT_EQ(run.end.completion, Duration(length));
    EXPECT_EQ(run.loss.operations + run.loss.messages + run.loss.unjoined, 0u);
    EXPECT_EQ(run.latency->count, 5000u);
    EXPECT_EQ(run.latency->max, Duration(length));
    int64_t next = 0;
    reader.for_each_by_start(run, Duration(0), [&](const NodeInfo&, uint32_t, OperationTimes times) {
      EXPECT_EQ(times.start, Time(next++));
      EXPECT_EQ(times.end - times.start, Duration(length));
    });
    EXPECT_EQ(next, 5000);
  }
}

// What comes first in the record is what was configured first, not what began or ended first.
TEST(RunRecord, RunsStandInTheOrderInWhichTheyWereMade) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunRecorder::Run first = recorder.next_run(), unused = recorder.next_run(), last = recorder.next_run();
    last.warning("of the last");
    last.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .model = "flow"});
    first.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .model = "alpha_beta"});
    last.end({});
    first.warning("of the first");
    first.end({});
    first.warning("of the first once more");
    unused.warning("of one that never begins");
    recorder.warning("of none");
  }
  const RunReader reader(folder.path());
  std::vector<std::string> models;
  for (const RecordedRun& run : reader.runs()) models.push_back(run.start.model);
  EXPECT_THAT(models, ElementsAre("alpha_beta", "flow"));
  EXPECT_THAT(reader.warnings(), ElementsAre("of none", "of the first", "of the first once more",
                                             "of one that never begins", "of the last"));
}

// The writer is never without work meanwhile, and yet nobody waits until it is.
TEST(RunRecord, ARunBeginsAndEndsWhileAnotherPushesWithoutABreak) {
  TemporaryFolder folder;
  RunRecorder recorder(folder.path(), {.ring = 64});
  RunRecorder::Run busy = recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 1});
  std::atomic<bool> over{false};
  std::thread pushing([&, &sink = busy.sink()] {
    while (!over.load()) sink.operations(std::vector{operation(0, 0, 0, 1, 2)});
  });
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 1});
  run.sink().operations(std::vector{operation(0, 0, 0, 1, 3)});
  run.end({.completion = Duration(3)});
  EXPECT_EQ(RunReader(folder.path()).reference()->end.completion, Duration(3));
  EXPECT_FALSE(RunReader(folder.path()).emulated()->ended);
  over = true;
  pushing.join();
  busy.end({});
}

TEST(RunRecord, AMissingRecordIsAnInputError) {
  TemporaryFolder folder;
  const Error error = failure(folder.path());
  EXPECT_EQ(error.kind(), ErrorKind::kInput);
  EXPECT_THAT(error.what(), HasSubstr("run.sqlite"));
}

TEST(RunRecord, AForeignFileIsAnInputErrorAndIsNeverReplaced) {
  TemporaryFolder folder;
  const std::string list = "a shopping list that is longer than the first bytes that SQLite looks at";
  std::ofstream(folder / "run.sqlite") << list << "\n";
  EXPECT_EQ(failure(folder.path()).kind(), ErrorKind::kInput);
  EXPECT_THROW(RunRecorder recorder(folder.path()), Error);
  EXPECT_EQ(first_line(folder / "run.sqlite"), list);
}

TEST(RunRecord, ADatabaseOfAnotherProgramIsAnInputError) {
  TemporaryFolder folder;
  Database(folder / "run.sqlite", Database::Access::kCreate).execute("CREATE TABLE t(x)");
  const Error error = failure(folder.path());
  EXPECT_EQ(error.kind(), ErrorKind::kInput);
  EXPECT_THAT(error.what(), HasSubstr("not a run record"));
}

TEST(RunRecord, ARecordOfAnotherVersionNamesBothVersions) {
  TemporaryFolder folder;
  { RunRecorder recorder(folder.path()); }
  Database(folder / "run.sqlite", Database::Access::kCreate).execute("PRAGMA user_version=99");
  const Error error = failure(folder.path());
  EXPECT_EQ(error.kind(), ErrorKind::kInput);
  EXPECT_THAT(error.what(), HasSubstr("version 99"));
  EXPECT_THAT(error.what(), HasSubstr(": take a newer one"));
  EXPECT_THAT(error.what(), HasSubstr(fmt::format("version {}", kRecordVersion)));
}

TEST(RunRecord, ANewRecorderReplacesAnOldRecord) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    recorder.warning("old");
  }
  { RunRecorder recorder(folder.path()); }
  EXPECT_TRUE(RunReader(folder.path()).warnings().empty());
}

TEST(RunRecord, AFolderThatCannotBeMadeIsAnError) {
  TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  EXPECT_THROW(RunRecorder recorder(folder.path() / "file" / "run"), Error);
}

}  // namespace
}  // namespace rankwire
