// The catalogue finds nothing wrong with the emulated NIC, and each planted fault by the case that is there for it.
#include "emulator/nic_check/catalogue.h"

#include <gmock/gmock.h>

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

// 1, 4, 16, ... 1024 and 1500 queue pairs, of which there are no more than 1024, which then serve again; 1 and 8 MiB.
TEST(NicCatalogue, GoesAsFarAsTheNicDoes) {
  const testing::TemporaryFolder folder;
  EmulatedBench bench(NicMutant::kNone, IpVersion::kIpv4, {.largest = 8 << 20, .queue_pairs = 1500});
  const SuiteResult suite =
      run_suite(select_cases(nic_catalogue(&bench.bench()),
                             std::vector<std::string>{"robustness.queue_pairs", "robustness.size.*"}),
                {.name = "nic-check", .version = "test", .folder = folder.path()}, kNotInterrupted);
  ASSERT_EQ(suite.cases.size(), 3u);
  for (const CaseResult& result : suite.cases)
    EXPECT_EQ(result.outcome.verdict, CaseVerdict::kPass) << result.id << ": " << result.outcome.reason;
  const CaseOutcome& many = suite.cases[0].outcome;
  EXPECT_EQ(many.curves.front().points.back().x, 1024);
  ASSERT_EQ(many.anomalies.size(), 1u);
  EXPECT_THAT(many.anomalies.front(), HasSubstr("no more than 1024 queue pairs"));
  EXPECT_EQ(suite.cases[1].outcome.curves.front().points.back().x, 8 << 20);
}

TEST(NicCatalogue, NamesEachCaseOnceAndSaysWhoAsksForIt) {
  std::set<std::string> ids;
  for (const TestCase& test : nic_catalogue(nullptr)) {
    EXPECT_TRUE(ids.insert(test.id).second) << test.id;
    EXPECT_FALSE(test.title.empty() || test.stimulus.empty() || test.expectation.empty() || test.source.empty())
        << test.id;
  }
}

TEST(NicCatalogue, StandsInTheDocument) {
  std::ifstream stream(RANKWIRE_SOURCE "/docs/nic-check.md");
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  for (const TestCase& test : nic_catalogue(nullptr)) {
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

INSTANTIATE_TEST_SUITE_P(All, NicMutants, ::testing::ValuesIn(nic_mutants().begin(), nic_mutants().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace rankwire
