// What a run folder says of the queues of the embedded switch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "emulator/record/database.h"
#include "emulator/report/queue_statistics.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using testing::at_microsecond;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;

/// Two queues of a run of 50 us, of which the first reaches 1000 bytes and the second 4096.
QueueSampling sampling() {
  return {
      .interval = microseconds(10),
      .lost = 3,
      .ports = {"leaf0.spine1", "leaf0.p0, \"x\""},
      .rows = {{.time = at_microsecond(-10), .port = 1},
               {.time = at_microsecond(10), .port = 0, .priority = 3, .length = Bytes(1000), .marks = 2, .xoff_tx = 1},
               {.time = at_microsecond(20), .port = 0, .priority = 3, .drops = 1},
               {.time = at_microsecond(20), .port = 1, .paused = true, .length = Bytes(4096), .xoff_rx = 1},
               {.time = at_microsecond(40), .port = 1, .marks = 5}}};
}

RunEnd end_with(std::optional<QueueSampling> queues) {
  RunEnd end = testing::sample_end(microseconds(50));
  end.queue_samples = std::move(queues);
  return end;
}

TEST(QueuesReport, CsvIsExact) {
  EXPECT_EQ(SampleReport(end_with(sampling())).csv("queues.csv"),
            "fidelity,time_ps,name,priority,queue_bytes,paused,marks,drops,xoff_rx,xoff_tx\n"
            "emulated,-10000000,\"leaf0.p0, \"\"x\"\"\",0,0,0,0,0,0,0\n"
            "emulated,10000000,leaf0.spine1,3,1000,0,2,0,0,1\n"
            "emulated,20000000,leaf0.spine1,3,0,0,0,1,0,0\n"
            "emulated,20000000,\"leaf0.p0, \"\"x\"\"\",0,4096,1,0,0,1,0\n"
            "emulated,40000000,\"leaf0.p0, \"\"x\"\"\",0,0,0,5,0,0,0\n");
}

TEST(QueuesReport, SummaryAndPageSayWhatThereIs) {
  const SampleReport sample(end_with(sampling()));
  const nlohmann::ordered_json expected = {{"interval_ps", 10'000'000}, {"rows", 5}, {"rows_lost", 3}};
  EXPECT_EQ(sample.summary().at("queues"), expected);
  const std::string page = sample.page();
  EXPECT_THAT(page, HasSubstr("Lengths of queues over time"));
  EXPECT_THAT(page, HasSubstr("every 10 us"));
  EXPECT_THAT(page, HasSubstr("3 samples are missing"));
  EXPECT_THAT(page, HasSubstr("leaf0.p0, &quot;x&quot;"));
}

TEST(QueuesReport, WithoutSamplesThereIsNothing) {
  const SampleReport sample;
  EXPECT_TRUE(sample.summary().at("queues").is_null());
  EXPECT_THAT(sample.page(), Not(HasSubstr("Queues")));
  const std::string csv = sample.csv("queues.csv");
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1);
}

// Records of an earlier rankwire have the same version and lack these tables.
TEST(QueuesReport, ReadsRecordsWithoutTheirTables) {
  const SampleReport sample(end_with(sampling()));
  Database(sample.folder() / "run.sqlite", Database::Access::kCreate)
      .execute("DROP TABLE queue_sampling; DROP TABLE queue_samples;");
  const RunReader reader(sample.folder());
  EXPECT_FALSE(reader.queue_samples(*reader.emulated()));
}

// Of 50 us: the first queue has 1000 bytes for 10, the second 4096 for 20 until its next sample.
TEST(QueueStatistics, EverySampleHoldsUntilTheNext) {
  const std::vector<QueueStatistics> queues = queue_statistics(sampling(), at_microsecond(50));
  ASSERT_EQ(queues.size(), 2u);
  const QueueStatistics &longest = queues[0], &other = queues[1];
  EXPECT_EQ(longest.name, "leaf0.p0, \"x\"");
  EXPECT_EQ(longest.longest, Bytes(4096));
  EXPECT_DOUBLE_EQ(longest.mean, 4096.0 * 20 / 50);
  EXPECT_EQ(longest.marks, 5u);
  EXPECT_EQ(longest.xoff_rx, 1u);
  EXPECT_EQ(longest.samples, 3u);
  EXPECT_EQ(other.priority, 3);
  EXPECT_DOUBLE_EQ(other.mean, 1000.0 * 10 / 50);
  EXPECT_EQ(other.drops, 1u);
  EXPECT_EQ(other.xoff_tx, 1u);
  // A column is 50 us / 400 = 125 ns: 20 us to 40 us are columns 160 to 319, and the sample at 40 us is in 320.
  EXPECT_EQ(longest.columns[159].longest, Bytes());
  EXPECT_EQ(longest.columns[160].longest, Bytes(4096));
  EXPECT_TRUE(longest.columns[319].paused);
  EXPECT_EQ(longest.columns[320].longest, Bytes());
  EXPECT_TRUE(longest.columns[320].marked);
  EXPECT_FALSE(longest.columns[320].paused);
}

}  // namespace
}  // namespace rankwire
