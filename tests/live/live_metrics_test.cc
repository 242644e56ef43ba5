#include "emulator/live/live_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "emulator/live/live_state.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LiveMetrics, SaysThatNoRunHasBegun) {
  const LiveState state("first");
  const std::string text = metrics_text(state);
  EXPECT_THAT(text, HasSubstr("rankwire_run_info{name=\"first\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_run_ended 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("rankwire_operations_total")));
}

TEST(LiveMetrics, HasWhatWorkersPublished) {
  LiveState state("it's \"so\"\\");
  const auto feed = std::make_shared<LiveFeed>(
      "emulated", std::vector<std::string>{"p0", "p\"1"}, std::vector<LiveFeed::Job>{{"train", 5}}, 70, 1,
      std::vector<LiveFeed::Rank>(2, {.name = "r", .operations = 35}), std::vector<std::string>());
  LiveFigures figures{.now = Time() + milliseconds(1500),
                      .jobs = {{4096, 2}},
                      .ports = {{1, 20, 300, 4000}, {5, 6, 7, 18446744073709551615u}},
                      .ranks = {{20, Time() + milliseconds(1250), 0}, {15, Time() + milliseconds(500), 0}}};
  figures[LiveCount::kOperations] = 35;
  figures[LiveCount::kRetransmitted] = 8;
  std::vector<uint64_t> words(feed->words());
  feed->pack(figures, words);
  feed->snapshot(0).publish(words);
  state.begin(feed);
  const std::string text = metrics_text(state);
  EXPECT_THAT(text, HasSubstr("rankwire_run_info{name=\"it's \\\"so\\\"\\\\\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE rankwire_run_seconds gauge\nrankwire_run_seconds 1.5\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_operations_planned 70\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE rankwire_operations_total counter\nrankwire_operations_total 35\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE rankwire_operations_in_flight gauge\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_retransmitted_packets_total 8\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_job_delivered_bytes_total{job=\"train\"} 4096\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_job_iterations_total{job=\"train\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_job_iterations_planned{job=\"train\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_job_late_rank{job=\"train\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_job_late_rank_behind_operations{job=\"train\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_job_late_rank_behind_seconds{job=\"train\"} 0.75\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_job_late_rank_silent_seconds{job=\"train\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_port_sent_packets_total{port=\"p0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_port_received_packets_total{port=\"p0\"} 300\n"));
  EXPECT_THAT(text, HasSubstr("rankwire_port_sent_bytes_total{port=\"p\\\"1\"} 6\n"));
}

// The table names counts by their place.
TEST(LiveMetrics, NamesEachCountOnce) {
  for (size_t i = 0; i < live_count_names().size(); ++i)
    EXPECT_EQ(static_cast<size_t>(live_count_names()[i].count), i) << live_count_names()[i].metric;
}

}  // namespace
}  // namespace rankwire
