#include "emulator/report/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/report/assessment.h"
#include "emulator/report/comparison.h"
#include "emulator/report/limits.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::HasSubstr;

RequestMarkInfo arrival_mark(uint32_t node, int64_t request, int64_t input) {
  return {.rank = RankId(0),
          .node = node,
          .request = request,
          .arrives = true,
          .job = JobId(0),
          .input_tokens = input,
          .held_batches = request == 0 ? 4 : 0};
}
RequestMarkInfo token_mark(uint32_t node, int64_t request) {
  return {.rank = RankId(0), .node = node, .request = request, .job = JobId(0)};
}

/// Two requests on one rank. Emulated, in microseconds:
///
///   request 0 arrives at 10, has its first token at 100, the second at 150, the third at 250:
///     TTFT 90, TPOT (250 - 100) / 2 = 75, latency 240
///   request 1 arrives at 30, has its first token at 100, the second at 150:
///     TTFT 70, TPOT 50, latency 120
///
/// From the first arrival to the last token are 240 us. The reference ends before the third token.
class Requests : public ::testing::Test {
 protected:
  RunReader record(const ServiceObjectives& objectives = {}, const std::vector<LimitInfo>& limits = {},
                   int64_t last = 250) {
    write(folder_.path(), objectives, limits, last);
    return RunReader(folder_.path());
  }
  static void write(const std::filesystem::path& folder, const ServiceObjectives& objectives,
                    const std::vector<LimitInfo>& limits, int64_t last,
                    const std::vector<Fidelity>& runs = {Fidelity::kEmulated, Fidelity::kReference},
                    int64_t second_arrives = 30) {
    RunRecorder recorder(folder);
    recorder.configuration(R"({"name":"requests"})", "0.1.0");
    if (!limits.empty()) recorder.limits(limits);
    std::vector<NodeInfo> nodes;
    for (uint32_t node = 0; node < 5; ++node)
      nodes.push_back(sample_node(0, node, node < 2 ? "arrival" : "batch", node < 2 ? "host" : "compute"));
    recorder.nodes(nodes);
    recorder.request_marks(std::vector{arrival_mark(0, 0, 500), arrival_mark(1, 1, 20), token_mark(2, 0),
                                       token_mark(2, 1), token_mark(3, 0), token_mark(3, 1), token_mark(4, 0)});
    recorder.objectives(objectives);
    const std::vector<int64_t> ends = {10, second_arrives, 100, 150, last};
    for (const Fidelity fidelity : runs) {
      RunRecorder::Run run = recorder.begin({.fidelity = fidelity, .clock = "virtual", .ranks = 2, .seed = 1});
      const uint32_t carried_out = fidelity == Fidelity::kEmulated ? 5 : 4;
      for (uint32_t node = 0; node < carried_out; ++node) {
        const OperationRecord row = sample_operation(0, node, Time(), at_microsecond(ends[node]));
        run.sink().operations({&row, 1});
      }
      run.end(sample_end(microseconds(last)));
    }
  }

  TemporaryFolder folder_;
};

constexpr ServiceObjectives kObjectives{.ttft = microseconds(80), .tpot = microseconds(60)};

TEST_F(Requests, HaveTheTimesOfTheirTokens) {
  const RequestTable table = read_requests(record());
  ASSERT_EQ(table.rows.size(), 2u);
  ASSERT_EQ(table.sides.size(), 2u);
  EXPECT_EQ(table.rows[0].info.output_tokens, 3u);
  EXPECT_EQ(table.rows[0].info.input_tokens, 500);
  EXPECT_EQ(table.rows[0].info.held_batches, 4);
  EXPECT_EQ(requests_json(table)["held"].dump(), R"({"requests":1,"batches":4})");
  EXPECT_THAT(requests_text(table), HasSubstr("1 of 2 waited for memory while 4 batches began"));
  const RequestTimes& first = *table.rows[0].times[0];
  EXPECT_EQ(first.ttft(), microseconds(90));
  EXPECT_EQ(first.tpot(), microseconds(75));
  EXPECT_EQ(first.latency(), microseconds(240));
  const RequestTimes& second = *table.rows[1].times[0];
  EXPECT_EQ(second.ttft(), microseconds(70));
  EXPECT_EQ(second.tpot(), microseconds(50));
  EXPECT_EQ(second.latency(), microseconds(120));
}

// Nearest rank: of two the first is P50, the second everything above.
TEST_F(Requests, BeforeWhichATokenIsKnownHaveNoTimes) {
  write(folder_.path(), {}, {}, 250, {Fidelity::kEmulated}, 120);
  const RequestTable table = read_requests(RunReader(folder_.path()));
  EXPECT_EQ(table.sides[0].figures.requests, 2u);
  EXPECT_EQ(table.sides[0].figures.complete, 1u);
  EXPECT_EQ(table.sides[0].figures.ttft->max, microseconds(90)) << "that of the other";
}

TEST_F(Requests, HaveQuantilesAndRates) {
  const RunReader reader = record(kObjectives);
  const RequestFigures figures = *request_figures(reader, *reader.emulated());
  EXPECT_EQ(figures.complete, 2u);
  EXPECT_EQ(figures.tokens, 5u);
  EXPECT_EQ(figures.ttft->p50, microseconds(70));
  EXPECT_EQ(figures.ttft->p99, microseconds(90));
  EXPECT_EQ(figures.tpot->mean, nanoseconds(62'500));
  EXPECT_EQ(figures.latency->max, microseconds(240));
  EXPECT_EQ(figures.span, microseconds(240));
  EXPECT_EQ(figures.within, 1u);  // request 0 is late with its first token
  EXPECT_DOUBLE_EQ(*figures.attainment(), 0.5);
  EXPECT_NEAR(*figures.rate(figures.within), 1e6 / 240, 1e-6);
}

TEST_F(Requests, WithoutTheirLastTokenAreNotComplete) {
  const RunReader reader = record(kObjectives);
  const RequestFigures figures = *request_figures(reader, *reader.reference());
  EXPECT_EQ(figures.requests, 2u);
  EXPECT_EQ(figures.complete, 1u);
  EXPECT_EQ(figures.ttft->max, microseconds(90));  // known of both
  EXPECT_EQ(figures.latency->max, microseconds(120));
}

TEST_F(Requests, AreInFilesAndTexts) {
  const RequestTable table = read_requests(record(kObjectives));
  EXPECT_THAT(requests_csv(table),
              HasSubstr("\n0,0,0,500,3,4,10000000,100000000,250000000,90000000,75000000,240000000,0,10000000,100000000,"
                        "150000000,90000000,,,0\n"));
  const auto json = requests_json(table);
  EXPECT_EQ(json["objectives"]["ttft_ps"], 80'000'000);
  EXPECT_EQ(json["emulated"]["ttft"]["p99_ps"], 90'000'000);
  EXPECT_EQ(json["reference"]["complete"], 1);
  EXPECT_TRUE(json["twin"].is_null());
  EXPECT_THAT(requests_text(table), HasSubstr("2 of 2 complete"));
  EXPECT_THAT(requests_text(table), HasSubstr("50.0 % keep ttft 80 us, tpot 60 us: goodput 4167 requests/s"));
  EXPECT_THAT(html_requests(table), HasSubstr("Part of the requests that took so long at most: time to first token"));
}

TEST_F(Requests, CanBeLimited) {
  const auto results = limit_results(
      record(kObjectives, {{"ttft_p99", 90e6}, {"request_p99", 239e6}, {"attainment", 0.5}, {"goodput", 4200}}));
  ASSERT_EQ(results.size(), 4u);
  EXPECT_TRUE(results[0].is_kept);
  EXPECT_EQ(results[0].text, "limits.ttft_p99: 90 us, at most 90 us");
  EXPECT_FALSE(results[1].is_kept);
  EXPECT_TRUE(results[2].is_kept);
  EXPECT_FALSE(results[3].is_kept);
  EXPECT_THAT(results[3].text, HasSubstr("is below 4200"));
}

// In the reference, of the two requests the second alone is complete, and it keeps both objectives.
TEST_F(Requests, OfAReferenceAloneAreLimited) {
  write(folder_.path(), kObjectives, {{"ttft_p99", 89e6}, {"attainment", 0.5}, {"timeouts", 0}}, 250,
        {Fidelity::kReference});
  const RunReader record(folder_.path());
  const auto results = limit_results(record);
  ASSERT_EQ(results.size(), 2u) << "it knows nothing of time-outs";
  EXPECT_EQ(results[0].text, "limits.ttft_p99: 90 us is above 89 us");
  EXPECT_EQ(results[1].text, "limits.attainment: 0.5, at least 0.5");
  EXPECT_EQ(verdict_of(record).code, "limit_exceeded");
}

TEST_F(Requests, AreCompared) {
  TemporaryFolder other;
  write(other.path(), kObjectives, {}, 350);
  record(kObjectives);
  const Comparison comparison = compare(read_records({folder_.path()}), read_records({other.path()}));
  EXPECT_THAT(comparison_table(comparison), HasSubstr("time to first token of requests: P50 70 us -> 70 us"));
  EXPECT_THAT(comparison_table(comparison),
              HasSubstr("latency of requests: P50 120 us -> 120 us P95 240 us -> 340 us"));
  EXPECT_EQ(comparison_json(comparison)["requests"]["other"]["latency"]["p99_ps"], 340'000'000);
}

TEST_F(Requests, OfOtherRunsAreNone) {
  const SampleReport sample;
  EXPECT_TRUE(sample.summary()["requests"].is_null());
  EXPECT_TRUE(requests_text(read_requests(RunReader(sample.folder()))).empty());
}

}  // namespace
}  // namespace rankwire
