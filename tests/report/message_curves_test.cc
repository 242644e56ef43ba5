// How long messages took, as curves of few points.
#include "emulator/report/message_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "emulator/report/html_times.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::TemporaryFolder;

class Curves : public ::testing::Test {
 protected:
  /// A run whose messages of the sample's all-reduce took so many microseconds each; `send` of SENDs.
  static void record(RunRecorder& recorder, Fidelity fidelity, const std::vector<int64_t>& reduce,
                     const std::vector<int64_t>& send = {}) {
    RunRecorder::Run run = recorder.begin({.fidelity = fidelity, .clock = "virtual", .ranks = 2});
    uint32_t slice = 0;
    const auto add = [&](uint64_t group, int64_t microsecond) {
      MessageId id;
      id.group = group, id.slice = slice % MessageId::kMaxSlices, id.step = slice / MessageId::kMaxSlices;
      id.destination = 1;
      ++slice;
      const Time sent = testing::at_microsecond(3), arrived = sent + microseconds(microsecond);
      run.sink().messages(std::vector<MessageRecord>{{.id = id, .at_source = true, .first = sent, .last = arrived},
                                                     {.id = id, .first = arrived, .last = arrived}});
    };
    for (const int64_t microsecond : reduce) add(0, microsecond);
    for (const int64_t microsecond : send) add(MessageId::kPointToPoint, microsecond);
    RunEnd end = testing::sample_end(microseconds(50));
    end.flows = {{.connection = {.id = ConnectionId(0),
                                 .job = JobId(0),
                                 .group = GroupId(0),
                                 .source = RankId(0),
                                 .destination = RankId(1)},
                  .group = "dp",
                  .counters = {.connection = ConnectionId(0)}}};
    run.end(end);
  }
  static std::vector<int64_t> up_to(int64_t last) {
    std::vector<int64_t> times(static_cast<size_t>(last));
    std::iota(times.begin(), times.end(), 1);
    return times;
  }
  std::vector<MessageCurves> curves() const { return message_curves(RunReader(folder_.path())); }
  std::string html() const { return html_message_times(RunReader(folder_.path())); }

  TemporaryFolder folder_;
};

TEST(CurvePlaces, AreAllOfFew) {
  EXPECT_THAT(curve_places(3), ElementsAre(1, 2, 3));
  EXPECT_EQ(curve_places(200).size(), 200u);
}

// Each half per cent, the first, and of P99.9 and P99.99 what is none of these: of 1000 the 999th; of a million two.
TEST(CurvePlaces, AreAFewOfMany) {
  const std::vector<uint64_t> thousand = curve_places(1000);
  EXPECT_EQ(thousand.size(), 202u);
  EXPECT_EQ(thousand[0], 1u);
  EXPECT_EQ(thousand[1], 5u);
  EXPECT_EQ(thousand[200], 999u);
  EXPECT_EQ(thousand[201], 1000u);
  EXPECT_EQ(curve_places(1'000'000).size(), 203u);
  EXPECT_EQ(curve_places(uint64_t{1} << 62).back(), uint64_t{1} << 62);
}

// Of 1 .. 1000 us the message of place ceil(q 1000) takes that many microseconds.
TEST_F(Curves, AreExactWhereTheRecordHasEveryMessage) {
  {
    RunRecorder recorder(folder_.path(), {.messages = MessageDetail::kAll});
    testing::begin_sample(recorder);
    record(recorder, Fidelity::kEmulated, up_to(1000));
  }
  const auto all = curves();
  ASSERT_EQ(all.size(), 1u) << "messages of one kind are all";
  const MessageCurve& curve = all[0].runs.at(0);
  EXPECT_EQ(curve.source, MessageCurve::Source::kMessages);
  EXPECT_EQ(curve.count, 1000u);
  EXPECT_EQ(curve.points.size(), 202u);
  EXPECT_EQ(curve.points.front().time, microseconds(1));
  EXPECT_EQ(curve.quantile(0.5), microseconds(500));
  EXPECT_EQ(curve.quantile(0.99), microseconds(990));
  EXPECT_EQ(curve.quantile(0.999), microseconds(999));
  EXPECT_EQ(curve.points.back().time, microseconds(1000));
  EXPECT_EQ(curve.points.back().part, 1.0);
}

TEST_F(Curves, AreOfTheHistogramWhereMessagesWereSampled) {
  {
    RunRecorder recorder(folder_.path(), {.slowest = 10});
    testing::begin_sample(recorder);
    record(recorder, Fidelity::kEmulated, up_to(1000));
  }
  const auto all = curves();
  ASSERT_EQ(all.size(), 1u);
  const MessageCurve& curve = all[0].runs.at(0);
  EXPECT_EQ(curve.source, MessageCurve::Source::kHistogram);
  EXPECT_EQ(curve.count, 1000u);
  EXPECT_LE(curve.points.size(), 203u);
  for (const auto& [part, exact] : {std::pair{0.5, microseconds(500)}, std::pair{0.99, microseconds(990)}}) {
    EXPECT_GE(curve.quantile(part), exact);
    EXPECT_LE(curve.quantile(part).ps, exact.ps * 33 / 32);
  }
  EXPECT_EQ(curve.points.back().time, microseconds(1000)) << "the longest is exact";
  EXPECT_THAT(html(), HasSubstr("By kind of operation with record.messages: all."));
}

TEST_F(Curves, AreOfEachRunAndKind) {
  {
    RunRecorder recorder(folder_.path());
    testing::begin_sample(recorder);
    record(recorder, Fidelity::kEmulated, {10, 20, 20, 30}, {7});
    record(recorder, Fidelity::kReference, {10}, {6});
  }
  const auto all = curves();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].kind, "");
  EXPECT_EQ(all[1].kind, "all_reduce");
  EXPECT_EQ(all[2].kind, "send");
  ASSERT_EQ(all[1].runs.size(), 2u);
  EXPECT_EQ(all[1].runs[0].run, "emulated");
  EXPECT_EQ(all[1].runs[1].run, "reference");
  // Two of the same time are one point.
  const auto& points = all[1].runs[0].points;
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].part, 0.25);
  EXPECT_EQ(points[1].time, microseconds(20));
  EXPECT_EQ(points[1].part, 0.75);
  EXPECT_EQ(all[2].runs[1].points.at(0).time, microseconds(6));
  EXPECT_THAT(html(), Not(HasSubstr("record.messages")));
}

TEST_F(Curves, OfNothingAreNone) {
  {
    RunRecorder recorder(folder_.path(), {.messages = MessageDetail::kNone});
    testing::begin_sample(recorder);
    record(recorder, Fidelity::kEmulated, {10});
  }
  EXPECT_THAT(curves(), IsEmpty());
  EXPECT_THAT(html(), IsEmpty());
}

// From 10 to 20 us, both of which are ticks: the plot is 800 wide from 50 on, and 220 high from 10 on.
TEST_F(Curves, ArePicturedAsSteps) {
  MessageCurve curve{.run = "emulated", .count = 2};
  curve.points = {{0.5, microseconds(10)}, {1, microseconds(20)}};
  const std::string svg = message_curves_figure({.kind = "send", .runs = {curve}});
  EXPECT_THAT(svg, HasSubstr("<path class=\"curve emulated\" d=\"M50.0 230.0H50.0V120.0H850.0V10.0H850\"/>"));
  EXPECT_THAT(svg, HasSubstr("<title>emulated P50 10 us</title>"));
  EXPECT_THAT(svg, HasSubstr("cx=\"850.0\" cy=\"12.2\" r=\"4\"><title>emulated P99 20 us</title>"));
  EXPECT_THAT(svg, HasSubstr(">10 us</text>"));
  EXPECT_THAT(svg, HasSubstr(">20 us</text>"));
}

TEST_F(Curves, ThatTookNoTimeHaveNoPicture) {
  MessageCurve curve{.run = "reference", .count = 1};
  curve.points = {{1, Duration(0)}};
  EXPECT_THAT(message_curves_figure({.runs = {curve}}), IsEmpty());
}

// Nine orders of magnitude have 28 ticks of 1, 2 and 5: powers of ten alone are few enough.
TEST_F(Curves, HaveFewTicks) {
  MessageCurve curve{.run = "reference", .count = 2};
  curve.points = {{0.5, nanoseconds(1)}, {1, microseconds(1'000'000)}};
  const std::string svg = message_curves_figure({.runs = {curve}});
  EXPECT_THAT(svg, HasSubstr(">10 ns</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">20 ns</text>")));
  EXPECT_THAT(svg, HasSubstr(">1 s</text>"));
}

TEST_F(Curves, ThePageHasPictureAndTable) {
  {
    RunRecorder recorder(folder_.path());
    testing::begin_sample(recorder);
    record(recorder, Fidelity::kEmulated, {10, 20}, {7});
  }
  write_report(folder_.path());
  const std::string page = testing::file_text(folder_ / "report.html");
  EXPECT_THAT(page, HasSubstr("<h2>Times of messages</h2>"));
  EXPECT_THAT(page, HasSubstr("data-kind=\"all messages\""));
  EXPECT_THAT(page, HasSubstr("data-kind=\"all_reduce\""));
  EXPECT_THAT(page, HasSubstr("<td>all_reduce</td><td>emulated</td><td class=\"n\">2</td><td class=\"n\" "
                              "data-value=\"10000000\">10 us</td><td class=\"n\" data-value=\"10000000\">10 us</td>"));
}

}  // namespace
}  // namespace rankwire
