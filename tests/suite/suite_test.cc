#include "emulator/suite/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using rankwire::testing::TemporaryFolder;

TestCase ends_with(std::string id, CaseVerdict verdict) {
  TestCase test;
  test.id = std::move(id);
  test.run = [verdict](const CaseContext&) { return CaseOutcome{verdict, "as planned"}; };
  return test;
}

std::vector<std::string> ids_of(const std::vector<TestCase>& cases) {
  std::vector<std::string> ids;
  for (const TestCase& test : cases) ids.push_back(test.id);
  return ids;
}

TEST(CaseOutcome, IsTheWorstOfWhatWasMeasured) {
  Measured unclear = measured("latency", 3, "us");
  unclear.verdict = CaseVerdict::kInconclusive;
  EXPECT_EQ(CaseOutcome::of({measured("a", 1, "", 1, 1)}).verdict, CaseVerdict::kPass);
  EXPECT_EQ(CaseOutcome::of({unclear, measured("a", 1, "")}).verdict, CaseVerdict::kInconclusive);
  const CaseOutcome failed = CaseOutcome::of({unclear, measured("busbw", 9.5, "Gbit/s", 10, {}, "64 KiB")});
  EXPECT_EQ(failed.verdict, CaseVerdict::kFail);
  EXPECT_EQ(failed.reason, "busbw of 64 KiB: 9.5 Gbit/s, expected at least 10 Gbit/s");
}

TEST(Measured, PassesOnItsBoundsAndFailsAsNoNumber) {
  EXPECT_EQ(measured("x", 2, "", 2, 2).verdict, CaseVerdict::kPass);
  EXPECT_EQ(measured("x", 2.1, "", {}, 2).verdict, CaseVerdict::kFail);
  EXPECT_EQ(measured("x", std::nan(""), "", {}, 2).verdict, CaseVerdict::kFail);
  EXPECT_EQ(measured("x", std::nan(""), "").verdict, CaseVerdict::kPass);
}

TEST(Selection, TakesStarsAndQuestionMarks) {
  EXPECT_TRUE(selects("T2.*", "T2.pfc.incast_8"));
  EXPECT_TRUE(selects("*incast*8", "T2.pfc.incast_8"));
  EXPECT_TRUE(selects("T?.pfc", "T2.pfc"));
  EXPECT_TRUE(selects("a*b*c", "abbbcc"));
  EXPECT_FALSE(selects("T2", "T2.pfc"));
  EXPECT_FALSE(selects("T?", "T"));
  EXPECT_FALSE(selects("", "T"));
}

TEST(Selection, KeepsTheCataloguesOrderAndNamesWhatSelectsNothing) {
  const std::vector<TestCase> all = {ends_with("b.1", CaseVerdict::kPass), ends_with("a.1", CaseVerdict::kPass),
                                     ends_with("a.2", CaseVerdict::kPass)};
  const std::vector<std::string> patterns = {"a.2", "b.*"}, wrong = {"a.*", "c.*"};
  EXPECT_EQ(ids_of(select_cases(all, patterns)), (std::vector<std::string>{"b.1", "a.2"}));
  EXPECT_EQ(select_cases(all, {}).size(), 3u);
  EXPECT_THROW(select_cases(all, wrong), Error);
}

TEST(Suite, ExitStatusIsOneForFailuresAndThreeForNothingButDoubt) {
  const auto status = [](std::vector<CaseVerdict> verdicts) {
    SuiteResult suite;
    for (const CaseVerdict verdict : verdicts) suite.cases.push_back({.outcome = {verdict}});
    return exit_status(suite);
  };
  using enum CaseVerdict;
  EXPECT_EQ(status({kPass, kSkipped}), 0);
  // Nothing was tested.
  EXPECT_EQ(status({}), 3);
  EXPECT_EQ(status({kSkipped, kSkipped}), 3);
  EXPECT_EQ(status({kSkipped, kError}), 1);
  EXPECT_EQ(status({kPass, kInconclusive, kSkipped}), 3);
  EXPECT_EQ(status({kInconclusive, kFail}), 1);
  EXPECT_EQ(status({kInconclusive, kError}), 1);
}

TEST(Suite, GoesOnAfterATestThatThrows) {
  const TemporaryFolder folder;
  std::vector<TestCase> cases = {ends_with("first", CaseVerdict::kPass), ends_with("second", CaseVerdict::kPass),
                                 ends_with("third", CaseVerdict::kFail)};
  cases[1].run = [](const CaseContext&) -> CaseOutcome { throw std::runtime_error("port p1 is gone"); };
  const std::atomic<bool> interrupted = false;
  const SuiteResult suite = run_suite(cases, {.name = "x", .folder = folder.path()}, interrupted);
  ASSERT_EQ(suite.cases.size(), 3u);
  EXPECT_EQ(suite.cases[1].outcome.verdict, CaseVerdict::kError);
  EXPECT_EQ(suite.cases[1].outcome.reason, "port p1 is gone");
  EXPECT_EQ(suite.cases[2].outcome.verdict, CaseVerdict::kFail);
}

TEST(Suite, IsOnDiskAfterEveryTestAndReadsBackWhole) {
  const TemporaryFolder folder;
  TestCase test = ends_with("only", CaseVerdict::kPass);
  test.title = "a \"title\"";
  test.run = [](const CaseContext& context) {
    std::ofstream(context.folder / "wire.pcapng") << "frames";
    CaseOutcome outcome = CaseOutcome::of({measured("rate", 9.5, "Gbit/s", 9, {}, "p0"), measured("none", NAN, "us")});
    outcome.curves = {{"busbw", "size", "B", "busbw", "Gbit/s", {{1024, 1.5}, {2048, 3}}}};
    outcome.artefacts = {{"wire.pcapng", "both directions", {7, 9}}};
    outcome.anomalies = {"one frame was late"};
    return outcome;
  };
  const std::atomic<bool> interrupted = false;
  run_suite({test},
            {.name = "x", .version = "1", .title = "X of A", .properties = {{"dut", "a"}}, .folder = folder.path()},
            interrupted);
  const SuiteResult read = read_suite(folder.path() / "suite.json");
  EXPECT_EQ(read.properties.at("dut"), "a");
  EXPECT_EQ(read.title, "X of A");
  ASSERT_EQ(read.cases.size(), 1u);
  EXPECT_EQ(read.cases[0].title, test.title);
  EXPECT_EQ(read.cases[0].folder, "cases/only");
  const CaseOutcome& outcome = read.cases[0].outcome;
  ASSERT_EQ(outcome.measurements.size(), 2u);
  EXPECT_EQ(outcome.measurements[0].low, 9);
  EXPECT_EQ(outcome.measurements[0].high, std::nullopt);
  EXPECT_TRUE(std::isnan(outcome.measurements[1].value));
  EXPECT_EQ(outcome.curves.at(0).points.at(1).y, 3);
  EXPECT_EQ(outcome.artefacts.at(0).frames, (std::vector<uint64_t>{7, 9}));
  EXPECT_EQ(outcome.anomalies.size(), 1u);
}

TEST(Suite, ResumesWithWhatIsMissingAndWithErrors) {
  const TemporaryFolder folder;
  std::atomic<bool> interrupted = false;
  int runs = 0;
  std::vector<TestCase> cases = {ends_with("good", CaseVerdict::kFail), ends_with("bad", CaseVerdict::kError),
                                 ends_with("cut", CaseVerdict::kPass), ends_with("never", CaseVerdict::kPass)};
  cases[2].run = [&](const CaseContext&) {
    interrupted = true;
    return CaseOutcome{};
  };
  const SuiteOptions options{.name = "x", .properties = {{"dut", "a"}}, .folder = folder.path(), .resume = true};
  const SuiteResult first = run_suite(cases, options, interrupted);
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(exit_status(first), 1);
  EXPECT_EQ(first.cases.size(), 2u);

  interrupted = false;
  for (TestCase& test : cases)
    test.run = [&](const CaseContext&) {
      ++runs;
      return CaseOutcome{};
    };
  const SuiteResult second = run_suite(cases, options, interrupted);
  EXPECT_EQ(runs, 3);
  ASSERT_EQ(second.cases.size(), 4u);
  EXPECT_EQ(second.cases[0].outcome.verdict, CaseVerdict::kFail);
  EXPECT_FALSE(second.interrupted);

  SuiteOptions other = options;
  other.properties["dut"] = "b";
  EXPECT_THROW(run_suite(cases, other, interrupted), Error);
  other.properties = {{"dut", "a"}, {"planted fault", "deaf"}};
  EXPECT_THROW(run_suite(cases, other, interrupted), Error);

  // A selection leaves the others alone, and a test that is another now is run again.
  runs = 0;
  cases[1].stimulus = "twice as many frames";
  const SuiteResult third = run_suite({cases[0], cases[1]}, options, interrupted);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(third.cases.size(), 4u);
}

TEST(Suite, IsNotWholeOnDiskUntilItHasEnded) {
  const TemporaryFolder folder;
  const std::atomic<bool> interrupted = false;
  std::vector<TestCase> cases = {ends_with("first", CaseVerdict::kPass), ends_with("second", CaseVerdict::kPass)};
  int exit_meanwhile = 0;
  cases[1].run = [&](const CaseContext&) {
    exit_meanwhile = exit_status(read_suite(folder.path() / "suite.json"));
    return CaseOutcome{};
  };
  run_suite(cases, {.name = "x", .folder = folder.path()}, interrupted);
  EXPECT_EQ(exit_meanwhile, 1);
  EXPECT_EQ(exit_status(read_suite(folder.path() / "suite.json")), 0);
}

TEST(Suite, KeepsAllEarlierResultsOnDiskWhileItIsResumed) {
  const TemporaryFolder folder;
  const std::atomic<bool> interrupted = false;
  std::vector<TestCase> cases = {ends_with("first", CaseVerdict::kError), ends_with("second", CaseVerdict::kPass),
                                 ends_with("third", CaseVerdict::kPass)};
  SuiteOptions options{.name = "x", .folder = folder.path()};
  run_suite(cases, options, interrupted);

  // The first two are run again: one could not be carried out, and one is another now. "new" was never run.
  cases[1].stimulus = "twice as many frames";
  cases.insert(cases.begin(), ends_with("new", CaseVerdict::kPass));
  std::vector<std::vector<std::string>> on_disk;
  options.resume = true;
  options.begins = [&](const TestCase&, size_t, size_t) {
    on_disk.emplace_back();
    for (const CaseResult& result : read_suite(folder.path() / "suite.json").cases) on_disk.back().push_back(result.id);
  };
  const SuiteResult resumed = run_suite(cases, options, interrupted);
  const std::vector<std::string> before = {"first", "second", "third"}, after = {"new", "first", "second", "third"};
  EXPECT_EQ(on_disk, (std::vector{before, after, after}));
  EXPECT_EQ(resumed.cases.size(), 4u);
  EXPECT_EQ(resumed.cases.at(2).stimulus, "twice as many frames");
}

// As where the device could not be reached, so that less was known of it.
TEST(Suite, WhoseTestsAllEndedInErrorsIsBegunAnewWhereItHasOtherProperties) {
  const TemporaryFolder folder;
  const std::atomic<bool> interrupted = false;
  std::vector<TestCase> cases = {ends_with("first", CaseVerdict::kError), ends_with("second", CaseVerdict::kError)};
  SuiteOptions options{.name = "x", .folder = folder.path(), .resume = true};
  run_suite(cases, options, interrupted);
  options.properties = {{"dut.model", "a"}};
  cases[0] = ends_with("first", CaseVerdict::kPass);
  EXPECT_EQ(run_suite({cases[0]}, options, interrupted).cases.size(), 1u);
  // Now there is something to be continued.
  options.properties = {{"dut.model", "b"}};
  EXPECT_THROW(run_suite(cases, options, interrupted), Error);
}

std::string suite_error(const std::filesystem::path& file) {
  try {
    read_suite(file);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kInput ? error.what() : "another kind";
  }
  return "none";
}

TEST(SuiteFile, SaysWhatIsWrongWithIt) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "suite.json";
  const std::string whole = R"({"rankwire":{"version":"1"},"suite":"x","properties":{},"interrupted":false,"cases":)";
  for (const auto& [text, words] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", "suite.json:1: is not the result of a suite: it ends too early, being empty"},
           {"{}", "suite.json: is not the result of a suite: the key 'suite' is missing"},
           {"null", "suite.json: is not the result of a suite: an object is expected, not null"},
           {"{\"suite\":\n\"caf\xE9\"}", "suite.json:2: is not the result of a suite: a text is not in UTF-8"},
           {"{\"suite\":null}", "suite.json: is not the result of a suite: 'suite' is of the wrong kind: null"},
           {whole + "null}", "suite.json: is not the result of a suite: 'cases': a list is expected, not null"},
           {whole + "[null]}", "suite.json: is not the result of a suite: cases[0]: an object is expected, not null"},
           {"[1]", "suite.json: is not the result of a suite: an object is expected, not array"},
           {"{\"suite\":\n7,}", "suite.json:2: is not the result of a suite: syntax error"},
           {"{\"suite\":\n", "suite.json:2: is not the result of a suite: it ends too early"},
           {whole + "[{\"id\":7}]}", "suite.json: is not the result of a suite: cases[0]: 'id' is of the wrong kind"},
           {whole + "[{\"id\":\"a\"}]}",
            "suite.json: is not the result of a suite: cases[0]: the key 'title' is missing"}}) {
    std::ofstream(file) << text;
    EXPECT_THAT(suite_error(file), ::testing::HasSubstr(words)) << text;
    EXPECT_THAT(suite_error(file), ::testing::Not(::testing::HasSubstr("exception"))) << text;
  }
  EXPECT_THAT(suite_error(folder.path() / "absent"), ::testing::HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace rankwire
