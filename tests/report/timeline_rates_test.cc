#include "emulator/report/timeline_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "emulator/report/output_file.h"
#include "tests/report/sample_record.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Name, microseconds and bits a second.
using Point = std::tuple<std::string, int64_t, uint64_t>;

/// From rank 0 behind port `left` to rank 1 behind `right` a message of 1000 bytes from 0 to 10 us, and one of 2000
/// from 5 to 10 us; and one within the host of rank 0.
class TimelineRatesTest : public ::testing::Test {
 protected:
  void record(MessageDetail detail) {
    RunRecorder recorder(folder_.path(), {.messages = detail});
    recorder.configuration("{}", "0.1.0");
    RunEnd end = testing::sample_end(microseconds(10));
    end.ports = {{.port = PortId(0), .name = "left"}, {.port = PortId(1), .name = "right"}};
    for (uint32_t r = 0; r < 3; ++r)
      end.rank_nics.push_back({.nic = NicId(r), .port = PortId(r % 2), .mac = {}, .ip = {}, .host = r % 2});
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "virtual", .ranks = 3});
    std::vector<MessageRecord> halves;
    add(halves, 1, 0, 1000, 0);
    add(halves, 1, 1, 2000, 5);
    add(halves, 2, 2, 4000, 0);
    run.sink().messages(halves);
    run.end(end);
  }

  std::vector<Point> points(size_t most_intervals, size_t most, DrawnRates& drawn) const {
    {
      OutputFile out(folder_ / "rates.json");
      out << "[";
      {
        TraceEvents events(out);
        drawn = write_rate_counters(events, RunReader(folder_.path()), most_intervals, most);
      }
      out << "]";
      out.commit();
    }
    std::vector<Point> points;
    for (const auto& event : nlohmann::json::parse(testing::file_text(folder_ / "rates.json")))
      if (event["ph"] == "C")
        points.emplace_back(event["name"], std::llround(event["ts"].get<double>()), event["args"]["bit/s"]);
    return points;
  }

  const testing::TemporaryFolder folder_;

 private:
  static void add(std::vector<MessageRecord>& halves, uint32_t to, uint32_t sequence, int64_t bytes, int64_t from) {
    MessageRecord half{.id = {},
                       .bytes = Bytes(bytes),
                       .at_source = true,
                       .first = testing::at_microsecond(from),
                       .last = testing::at_microsecond(10)};
    half.id.destination = to, half.id.sequence = sequence;
    halves.push_back(half);
    half.at_source = false;
    halves.push_back(half);
  }
};

// 500 bytes in the first 5 us, 500 and 2000 in the others.
TEST_F(TimelineRatesTest, MessagesGoEvenlyFromPostToDelivery) {
  record(MessageDetail::kAll);
  DrawnRates drawn;
  EXPECT_THAT(points(2, 100, drawn),
              ElementsAre(Point("left sent", 0, 800'000'000), Point("left sent", 5, 4'000'000'000),
                          Point("left sent", 10, 0), Point("right received", 0, 800'000'000),
                          Point("right received", 5, 4'000'000'000), Point("right received", 10, 0)));
  EXPECT_EQ(drawn.interval, microseconds(5));
  EXPECT_EQ(drawn.points, 6u);
}

// Of two counters each has a point in the beginning and one at the end: 3000 bytes in 10 us.
TEST_F(TimelineRatesTest, ManyCountersHaveLongIntervals) {
  record(MessageDetail::kAll);
  DrawnRates drawn;
  EXPECT_THAT(points(2'000, 4, drawn),
              ElementsAre(Point("left sent", 0, 2'400'000'000), Point("left sent", 10, 0),
                          Point("right received", 0, 2'400'000'000), Point("right received", 10, 0)));
  EXPECT_EQ(drawn.interval, microseconds(10));
}

TEST_F(TimelineRatesTest, WithoutMessagesThereAreNone) {
  record(MessageDetail::kNone);
  DrawnRates drawn;
  EXPECT_THAT(points(2'000, 100, drawn), IsEmpty());
  EXPECT_EQ(drawn.points, 0u);
}

}  // namespace
}  // namespace rankwire
