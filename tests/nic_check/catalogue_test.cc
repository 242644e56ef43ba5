// The catalogue finds nothing wrong with the emulated NIC, and each planted fault by the case that is there for it.
#include "emulator/nic_check/catalogue.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

#include "emulator/nic_check/emulated_bench.h"
#include "emulator/suite/suite.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

const std::atomic<bool> kNotInterrupted{false};

SuiteResult check_nic(NicMutant mutant, const std::vector<std::string>& patterns, const std::filesystem::path& folder,
                      IpVersion ip_version = IpVersion::kIpv4) {
  EmulatedBench bench(mutant, ip_version);
  return run_suite(select_cases(nic_catalogue(&bench.bench()), patterns),
                   {.name = "nic-check", .version = "test", .folder = folder}, kNotInterrupted);
}

TEST(NicCatalogue, FindsNothingWrongWithTheEmulatedNic) {
  const testing::TemporaryFolder folder;
  const SuiteResult suite = check_nic(NicMutant::kNone, {}, folder.path());
  for (const CaseResult& result : suite.cases)
    EXPECT_TRUE(result.outcome.verdict == CaseVerdict::kPass || result.outcome.verdict == CaseVerdict::kSkipped)
        << result.id << ": " << name_of(result.outcome.verdict) << ": " << result.outcome.reason;
  // Atomics are all that it does not offer.
  EXPECT_LE(suite.count(CaseVerdict::kSkipped), 1u);
  EXPECT_GE(suite.cases.size(), 60u);
}

TEST(NicCatalogue, FindsNothingWrongOverIpv6) {
  const testing::TemporaryFolder folder;
  const SuiteResult suite = check_nic(NicMutant::kNone, {}, folder.path(), IpVersion::kIpv6);
  for (const CaseResult& result : suite.cases)
    EXPECT_TRUE(result.outcome.verdict == CaseVerdict::kPass || result.outcome.verdict == CaseVerdict::kSkipped)
        << result.id << ": " << name_of(result.outcome.verdict) << ": " << result.outcome.reason;
}

// 1, 4, 16, ... 256 and 400 queue pairs, of which there are no more than 300, which then serve again; 1 and 8 MiB.
TEST(NicCatalogue, GoesAsFarAsTheNicDoes) {
  const testing::TemporaryFolder folder;
  EmulatedBench bench(NicMutant::kNone, IpVersion::kIpv4, {.largest = 8 << 20, .queue_pairs = 400},
                      {.queue_pairs = 300});
  const SuiteResult suite =
      run_suite(select_cases(nic_catalogue(&bench.bench()),
                             std::vector<std::string>{"robustness.queue_pairs", "robustness.size.*"}),
                {.name = "nic-check", .version = "test", .folder = folder.path()}, kNotInterrupted);
  ASSERT_EQ(suite.cases.size(), 3u);
  for (const CaseResult& result : suite.cases)
    EXPECT_EQ(result.outcome.verdict, CaseVerdict::kPass) << result.id << ": " << result.outcome.reason;
  const CaseOutcome& many = suite.cases[0].outcome;
  EXPECT_EQ(many.curves.front().points.back().x, 256);
  ASSERT_EQ(many.anomalies.size(), 1u);
  EXPECT_THAT(many.anomalies.front(), HasSubstr("no more than 300 queue pairs"));
  EXPECT_EQ(suite.cases[1].outcome.curves.front().points.back().x, 8 << 20);
}

// A WRITE of 512 bytes is 512 + 14 + 4 of Ethernet, 20 of IPv4, 8 of UDP, 12 of BTH, 16 of RETH, 4 of ICRC and 20 of
// preamble and gap: 610 bytes, 48.8 ns at 100 Gbit/s, so that no more than 20.5 million a second leave. With 64
// contexts on the chip each of 256 queue pairs in turn takes the place of another's, and a frame takes 248.8 ns.
TEST(NicCatalogue, FindsWhereContextsNoLongerStayOnTheChip) {
  const testing::TemporaryFolder folder;
  EmulatedBench bench(NicMutant::kNone, IpVersion::kIpv4, {.queue_pairs = 2000}, {.contexts = 64});
  const SuiteResult suite =
      run_suite(select_cases(nic_catalogue(&bench.bench()), std::vector<std::string>{"robustness.queue_pairs"}),
                {.name = "nic-check", .version = "test", .folder = folder.path()}, kNotInterrupted);
  const CaseOutcome& outcome = suite.cases.at(0).outcome;
  ASSERT_EQ(outcome.verdict, CaseVerdict::kPass) << outcome.reason;
  const std::vector<MeasuredCurve::Point>& points = outcome.curves.at(0).points;
  ASSERT_EQ(points.size(), 7u);
  EXPECT_EQ(points.back().x, 2000);
  for (const MeasuredCurve::Point& point : points) {
    // Of two WRITEs the acknowledgement of the first one's is all that the clock sees.
    if (point.x > 1) {
      EXPECT_LE(point.y, 1e9 / 48.8 * 1.001) << point.x;
    }
    if (point.x >= 256) {
      EXPECT_NEAR(point.y, 1e9 / 248.8, 1e9 / 248.8 * 0.1) << point.x;
    }
  }
  const auto cliff =
      std::ranges::find(outcome.measurements, "queue pairs at which less than half of that is left", &Measured::name);
  ASSERT_NE(cliff, outcome.measurements.end());
  EXPECT_EQ(cliff->value, 256);
}

TEST(NicCatalogue, NamesEachCaseOnceAndSaysWhoAsksForIt) {
  std::set<std::string> ids;
  for (const TestCase& test : perftest_catalogue(nullptr)) {
    EXPECT_TRUE(ids.insert(test.id).second) << test.id;
    EXPECT_FALSE(test.title.empty() || test.stimulus.empty() || test.expectation.empty() || test.source.empty())
        << test.id;
  }
}

TEST(NicCatalogue, StandsInTheDocument) {
  std::ifstream stream(RANKWIRE_SOURCE "/docs/nic-check.md");
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  for (const TestCase& test : perftest_catalogue(nullptr)) {
    const size_t row = text.find("| `" + test.id + "` |");
    ASSERT_NE(row, std::string::npos) << test.id;
    EXPECT_THAT(text.substr(row, text.find('\n', row) - row), HasSubstr(test.source)) << test.id;
  }
}

TEST(NicCatalogue, KeepsTheWireOfEachCase) {
  const testing::TemporaryFolder folder;
  const SuiteResult suite = check_nic(NicMutant::kNoTimeout, {"requester.loss.write.last"}, folder.path());
  ASSERT_EQ(suite.cases.size(), 1u);
  const CaseResult& result = suite.cases.front();
  EXPECT_EQ(result.outcome.verdict, CaseVerdict::kFail);
  ASSERT_EQ(result.outcome.artefacts.size(), 1u);
  EXPECT_FALSE(result.outcome.artefacts.front().frames.empty());
  std::ifstream stream(folder.path() / result.folder / "wire.pcapng", std::ios::binary);
  const std::string capture((std::istreambuf_iterator<char>(stream)), {});
  EXPECT_EQ(capture.substr(0, 4), "\x0A\x0D\x0D\x0A");  // a section header block
  EXPECT_THAT(capture, HasSubstr("taken as lost"));
}

class NicMutants : public ::testing::TestWithParam<MutantFacts> {};

TEST_P(NicMutants, AreCaughtByTheCaseThatIsThereForThem) {
  const testing::TemporaryFolder folder;
  const MutantFacts& facts = GetParam();
  const SuiteResult suite = check_nic(facts.mutant, {std::string(facts.caught_by)}, folder.path());
  ASSERT_EQ(suite.cases.size(), 1u);
  EXPECT_EQ(suite.cases.front().outcome.verdict, CaseVerdict::kFail) << facts.fault;
  EXPECT_FALSE(suite.cases.front().outcome.reason.empty());
}

// One queue pair's trouble that becomes another's is seen by the case of that trouble, and of all these by no other.
TEST(NicNeighbours, TellWhoseTroubleItIs) {
  size_t tried = 0;
  for (const MutantFacts& facts : nic_mutants()) {
    if (!facts.caught_by.starts_with("neighbour.") && !facts.caught_by.starts_with("robustness.slow_receiver."))
      continue;
    ++tried;
    const testing::TemporaryFolder folder;
    const SuiteResult suite = check_nic(facts.mutant, {"neighbour.*", "robustness.slow_receiver.*"}, folder.path());
    for (const CaseResult& result : suite.cases)
      EXPECT_EQ(result.outcome.verdict, result.id == facts.caught_by ? CaseVerdict::kFail : CaseVerdict::kPass)
          << facts.name << ", " << result.id << ": " << result.outcome.reason;
  }
  EXPECT_EQ(tried, 13u);
}

INSTANTIATE_TEST_SUITE_P(All, NicMutants, ::testing::ValuesIn(nic_mutants().begin(), nic_mutants().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace rankwire
