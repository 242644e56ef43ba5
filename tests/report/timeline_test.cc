// timeline.json beside the executions: arrows, the critical path, queues, and what is left out.
#include "emulator/report/timeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/report/timeline_tracks.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using testing::at_microsecond;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryFolder;
using Json = nlohmann::json;
using Thread = std::pair<int64_t, int64_t>;

/// Exact, for `ts` has six decimals, and the times of these tests less than 15 digits.
int64_t ps_of(const Json& microseconds) {
  return std::llround(microseconds.get<double>() * 1e6);
}

Thread thread_of(const Json& event) {
  return {event["pid"], event["tid"]};
}

NodeInfo point_to_point(uint32_t rank, uint32_t peer, uint32_t place, uint32_t sequence, const std::string& name) {
  NodeInfo node = testing::sample_node(rank, place, name, rank == 0 ? "send" : "receive");
  node.group.clear();
  node.peer = RankId(peer), node.sequence = sequence;
  return node;
}

/// Rank 0 sends three times to rank 1, from 60 us on, 10 us each; the RECVs were posted at 50 us. Before that the
/// sample's all-reduce from 10 to 50 us with messages either way.
class TimelineTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kSends = 3;

  TimelineTest() {
    RunRecorder recorder(folder_.path());
    testing::begin_sample(recorder);
    std::vector<NodeInfo> nodes;
    for (uint32_t i = 0; i < kSends; ++i) {
      nodes.push_back(point_to_point(0, 1, 2 + i, i, i == 0 ? "\"<script>\u202e\xff" : fmt::format("act {}", i)));
      nodes.push_back(point_to_point(1, 0, 2 + i, i, fmt::format("act {}", i)));
    }
    recorder.nodes(nodes);
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "virtual", .ranks = 2});
    std::vector<OperationRecord> rows = testing::sample_operations(50);
    for (uint32_t i = 0; i < kSends; ++i) {
      rows.push_back(testing::sample_operation(0, 2 + i, at_microsecond(60 + 10 * i), at_microsecond(70 + 10 * i)));
      rows.push_back(testing::sample_operation(1, 2 + i, at_microsecond(50), at_microsecond(70 + 10 * i)));
    }
    run.sink().operations(rows);
    // From rank 0 to 1 within the all-reduce; from 1 to 0 a message that, as if clocks differed, was there before it
    // began.
    message(run, 0, 1, at_microsecond(12), at_microsecond(50));
    message(run, 1, 0, at_microsecond(20), at_microsecond(5));
    RunEnd end = testing::sample_end(microseconds(90));
    end.flows = {{.connection = {.id = ConnectionId(0),
                                 .job = JobId(0),
                                 .group = GroupId(0),
                                 .source = RankId(0),
                                 .destination = RankId(1)},
                  .group = "dp",
                  .counters = {.connection = ConnectionId(0)}}};
    end.queue_samples = QueueSampling{
        .interval = microseconds(10),
        .ports = {"leaf0.\"p0\""},
        .rows = {{.time = at_microsecond(-10), .port = 0, .priority = 3},
                 {.time = at_microsecond(10), .port = 0, .priority = 3, .length = Bytes(1000), .marks = 2},
                 {.time = at_microsecond(20), .port = 0, .priority = 3, .length = Bytes(500), .marks = 3, .drops = 1},
                 {.time = at_microsecond(30), .port = 0, .priority = 3}}};
    run.end(end);
  }

  static void message(RunRecorder::Run& run, uint64_t source, uint64_t destination, Time posted, Time delivered) {
    MessageId id;
    id.group = 0, id.source = source, id.destination = destination;
    run.sink().messages(
        std::vector<MessageRecord>{{.id = id, .bytes = Bytes(4096), .at_source = true, .first = posted, .last = posted},
                                   {.id = id, .bytes = Bytes(4096), .first = delivered, .last = delivered}});
  }

  Json timeline(TimelineOptions options = {}) const {
    const RunReader record(folder_.path());
    const Diagnosis diagnosis = diagnose(record);
    options.diagnosis = &diagnosis;
    OutputFile out(folder_ / "timeline.json");
    write_timeline(record, out, options);
    out.commit();
    return Json::parse(testing::file_text(folder_ / "timeline.json"));
  }

  static std::vector<Json> events_of(const Json& timeline, const std::string& phase) {
    std::vector<Json> events;
    for (const Json& event : timeline["traceEvents"])
      if (event["ph"] == phase) events.push_back(event);
    return events;
  }

  TemporaryFolder folder_;
};

/// What viewers ask of a file: slices of a thread follow each other, counters and flows go forward, and every flow
/// begins and ends once, within a slice.
void expect_consistent(const Json& timeline) {
  std::map<Thread, std::vector<std::pair<int64_t, int64_t>>> slices;
  std::map<std::pair<int64_t, std::string>, int64_t> counted;
  std::map<int64_t, int64_t> started;
  std::set<int64_t> ended;
  for (const Json& event : timeline["traceEvents"]) {
    if (event["ph"] == "X") {
      auto& of_thread = slices[thread_of(event)];
      const int64_t from = ps_of(event["ts"]);
      EXPECT_GE(from, of_thread.empty() ? 0 : of_thread.back().second) << event;
      of_thread.emplace_back(from, from + ps_of(event["dur"]));
    }
    if (event["ph"] == "C") {
      int64_t& last = counted[{event["pid"], event["name"]}];
      EXPECT_GE(ps_of(event["ts"]), last) << event;
      last = ps_of(event["ts"]);
    }
  }
  const auto is_within = [&](const Json& event) {
    const int64_t at = ps_of(event["ts"]);
    for (const auto& [from, to] : slices[thread_of(event)])
      if (from <= at && at < to) return true;
    return false;
  };
  for (const Json& event : timeline["traceEvents"]) {
    if (event["ph"] != "s" && event["ph"] != "f") continue;
    const int64_t id = event["id"];
    EXPECT_TRUE(is_within(event)) << event;
    if (event["ph"] == "s") {
      EXPECT_TRUE(started.emplace(id, ps_of(event["ts"])).second) << event;
    } else {
      EXPECT_EQ(event["bp"], "e") << "bound to the slice around it";
      ASSERT_TRUE(started.contains(id)) << event;
      EXPECT_TRUE(ended.insert(id).second) << event;
      EXPECT_GE(ps_of(event["ts"]), started[id]) << event;
    }
  }
  EXPECT_EQ(started.size(), ended.size());
  EXPECT_EQ(timeline["otherData"]["flows"], started.size());
}

TEST_F(TimelineTest, IsConsistent) {
  const Json json = timeline();
  expect_consistent(json);
  EXPECT_EQ(json["otherData"]["flows"], kSends + 1);
}

// Rank 0 emulated is process 1, rank 1 process 3. The three RECVs overlap, so that they stand in three threads. An
// arrow ends 2 ns before its RECV, so that a viewer that rounds finds it within.
TEST_F(TimelineTest, ArrowsLeadFromSendsToTheirReceives) {
  const Json json = timeline();
  std::vector<std::tuple<int64_t, int64_t, int64_t>> begins;
  std::set<Thread> ends;
  for (const Json& event : events_of(json, "s"))
    if (event["args"]["bytes"] == 1'000'000) begins.emplace_back(event["pid"], event["id"], ps_of(event["ts"]));
  EXPECT_THAT(begins,
              ElementsAre(std::tuple(1, 1, 60'000'000), std::tuple(1, 2, 70'000'000), std::tuple(1, 3, 80'000'000)));
  for (const Json& event : events_of(json, "f")) {
    if (event["id"] > kSends) continue;
    EXPECT_EQ(event["pid"], 3);
    EXPECT_EQ(ps_of(event["ts"]), 70'000'000 + 10'000'000 * (event["id"].get<int64_t>() - 1) - 2000);
    ends.insert(thread_of(event));
  }
  EXPECT_EQ(ends.size(), kSends);
}

// The message from rank 1 was there before it was sent, which no arrow can be: it is left out.
TEST_F(TimelineTest, ArrowsLeadFromCollectiveToCollective) {
  const Json json = timeline();
  std::vector<std::pair<int64_t, int64_t>> begins, ends;
  for (const Json& event : events_of(json, "s"))
    if (event["args"]["bytes"] == 4096) begins.emplace_back(event["pid"], ps_of(event["ts"]));
  for (const Json& event : events_of(json, "f"))
    if (event["id"] > kSends) ends.emplace_back(event["pid"], ps_of(event["ts"]));
  EXPECT_THAT(begins, ElementsAre(std::pair(1, 12'000'000)));
  EXPECT_THAT(ends, ElementsAre(std::pair(3, 50'000'000 - 2000)));
  EXPECT_EQ(json["otherData"]["flows_left_out"], 1);
}

// Those that took longest stay: of the RECVs' arrows, 10 us each, the first.
TEST_F(TimelineTest, TooManyArrowsAreThinnedWithAWord) {
  const Json json = timeline({.most_flows = 1});
  expect_consistent(json);
  EXPECT_EQ(json["otherData"]["flows"], 2);
  EXPECT_EQ(json["otherData"]["flows_left_out"], 3);
  const std::vector<Json> notes = events_of(json, "i");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0]["name"], "not drawn: 3 arrows");
}

// Two executions are drawn, the all-reduces of 40 us: the SENDs' arrows have no ends, and are none.
TEST_F(TimelineTest, WhatIsNotDrawnHasNoArrows) {
  const Json json = timeline({.most = 2});
  expect_consistent(json);
  EXPECT_EQ(json["otherData"]["left_out"], 8);
  ASSERT_EQ(events_of(json, "i").size(), 1u);
  EXPECT_THAT(events_of(json, "i")[0]["name"].get<std::string>(), HasSubstr("not drawn: 8 operations"));
}

// Compute until 10 us, all-reduce until 50, and at rank 0 SENDs from 60 to 90 us, whose RECVs end with them.
TEST_F(TimelineTest, TheCriticalPathIsATrackOfItsOwn) {
  const Json json = timeline();
  std::vector<std::pair<int64_t, int64_t>> steps;
  std::vector<std::string> kinds;
  for (const Json& event : events_of(json, "X")) {
    if (event["pid"] != kPathProcess) continue;
    steps.emplace_back(ps_of(event["ts"]), ps_of(event["ts"]) + ps_of(event["dur"]));
    kinds.push_back(event["args"]["kind"]);
    EXPECT_TRUE(event["args"]["rank"].get<std::string>().starts_with("rank ")) << event;
  }
  const Diagnosis diagnosis = diagnose(RunReader(folder_.path()));
  ASSERT_TRUE(diagnosis.path);
  ASSERT_EQ(steps.size(), diagnosis.path->steps.size());
  EXPECT_EQ(json["otherData"]["path_steps"], steps.size());
  EXPECT_EQ(steps.front(), std::pair(int64_t{0}, int64_t{10'000'000}));
  EXPECT_EQ(steps.back().second, 90'000'000);
  EXPECT_EQ(kinds[0], "compute");
  EXPECT_EQ(kinds[1], "all_reduce");
  std::vector<std::string> names;
  for (const Json& event : events_of(json, "M"))
    if (event["pid"] == kPathProcess && event["args"].contains("name")) names.push_back(event["args"]["name"]);
  EXPECT_THAT(names, ElementsAre("critical path", "emulated"));
}

// Steps of 1, 3, 3, 2 and 3 us, of which three stay.
TEST_F(TimelineTest, ALongPathKeepsItsLongestSteps) {
  Diagnosis diagnosis;
  diagnosis.path.emplace();
  Time now;
  for (const int64_t length : {1, 3, 3, 2, 3}) {
    CriticalStep step{.node =
                          testing::sample_node(0, 0, fmt::format("step {}", diagnosis.path->steps.size()), "compute")};
    step.from = now, step.to = now = now + microseconds(length);
    diagnosis.path->steps.push_back(step);
  }
  for (const auto& [most, kept] : {std::pair{size_t{3}, "1 2 4"}, std::pair{size_t{2}, "1 2"},
                                   std::pair{size_t{4}, "1 2 3 4"}, std::pair{size_t{5}, "0 1 2 3 4"}}) {
    DrawnOf drawn;
    {
      OutputFile out(folder_ / "path.json");
      out << "[";
      {
        TraceEvents events(out);
        drawn = write_path_tracks(events, RunReader(folder_.path()), diagnosis, most);
      }
      out << "]";
      out.commit();
    }
    std::string names;
    for (const Json& event : Json::parse(testing::file_text(folder_ / "path.json")))
      if (event["ph"] == "X") names += (names.empty() ? "" : " ") + event["name"].get<std::string>().substr(5);
    EXPECT_EQ(names, kept);
    EXPECT_EQ(drawn.drawn, most);
    EXPECT_EQ(drawn.left_out, 5 - most);
  }
}

std::vector<std::string> counters_of(const Json& events) {
  std::vector<std::string> values;
  for (const Json& event : events) {
    if (event["ph"] == "C")
      values.push_back(fmt::format("{} us {}: {}", ps_of(event["ts"]) / 1'000'000, event["name"].get<std::string>(),
                                   event["args"]["value"].get<int64_t>()));
  }
  return values;
}

TEST_F(TimelineTest, QueuesAreCounters) {
  EXPECT_THAT(counters_of(timeline()["traceEvents"]),
              ElementsAre("0 us leaf0.\"p0\" priority 3 bytes: 0", "10 us leaf0.\"p0\" priority 3 bytes: 1000",
                          "10 us leaf0.\"p0\" priority 3 marked so far: 2", "20 us leaf0.\"p0\" priority 3 bytes: 500",
                          "20 us leaf0.\"p0\" priority 3 marked so far: 5",
                          "20 us leaf0.\"p0\" priority 3 dropped so far: 1", "30 us leaf0.\"p0\" priority 3 bytes: 0"));
}

// Of four samples two stay: of each two the longer one, with the counts of both.
TEST_F(TimelineTest, ManySamplesAreThinned) {
  {
    OutputFile out(folder_ / "queues.json");
    out << "[";
    {
      TraceEvents events(out);
      const DrawnOf drawn = write_queue_counters(events, RunReader(folder_.path()), 2);
      EXPECT_EQ(drawn.drawn, 2u);
      EXPECT_EQ(drawn.left_out, 2u);
    }
    out << "]";
    out.commit();
  }
  EXPECT_THAT(counters_of(Json::parse(testing::file_text(folder_ / "queues.json"))),
              ElementsAre("10 us leaf0.\"p0\" priority 3 bytes: 1000", "10 us leaf0.\"p0\" priority 3 marked so far: 2",
                          "20 us leaf0.\"p0\" priority 3 bytes: 500", "20 us leaf0.\"p0\" priority 3 marked so far: 5",
                          "20 us leaf0.\"p0\" priority 3 dropped so far: 1"));
}

TEST_F(TimelineTest, OfARunOfWhichAllIsDrawnNothingIsNoted) {
  TemporaryFolder folder;
  testing::write_sample(folder.path());
  write_report(folder.path(), {ReportFormat::kPerfetto});
  const Json json = Json::parse(testing::file_text(folder / "timeline.json"));
  expect_consistent(json);
  EXPECT_THAT(events_of(json, "i"), IsEmpty());
  // Both sides have a path.
  std::set<Thread> threads;
  for (const Json& event : events_of(json, "X"))
    if (event["pid"] == kPathProcess) threads.insert(thread_of(event));
  EXPECT_EQ(threads.size(), 2u);
}

}  // namespace
}  // namespace rankwire
