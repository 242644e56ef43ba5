#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "emulator/suite/curve_chart.h"
#include "emulator/suite/suite_report.h"
#include "emulator/suite/suite_sections.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MeasuredCurve drawn_curve(std::vector<MeasuredCurve::Point> points, std::string name = "run") {
  return {std::move(name), "size", "B", "busbw", "Gbit/s", std::move(points)};
}

SuiteResult reported_suite() {
  SuiteResult suite{.name = "bench", .version = "1"};
  suite.properties = {
      {"commit", "abc"}, {"dut.model", "X <1>"}, {"host.cpu", "a\nb"}, {"lab.row", "3"}, {"topology.kind", "ring"}};
  CaseResult result{"T1.a", "title | one", "stimulus", "expectation", "RFC 1"};
  result.folder = "cases/T1.a";
  result.took = std::chrono::milliseconds(125'000);
  result.outcome = CaseOutcome::of({measured("busbw", 9.5, "Gbit/s", 10, {}, "64 KiB"), measured("p99", 3, "us")});
  result.outcome.measurements[1].repetitions = 4;
  result.outcome.measurements[1].variation = 0.025;
  result.outcome.curves = {drawn_curve({{1, 1}, {2, 2}})};
  result.outcome.artefacts = {{"wire (1).pcapng", "both directions", {7, 9}}};
  result.outcome.anomalies = {"one frame was late"};
  suite.cases = {result};
  return suite;
}

TEST(SuiteSections, GroupPropertiesByWhatStandsBeforeTheFirstDot) {
  std::vector<std::string> titles;
  for (const PropertySection& section : property_sections(reported_suite())) titles.push_back(section.title);
  EXPECT_EQ(titles,
            (std::vector<std::string>{"Device under test", "Topology", "Host configuration", "lab", "Properties"}));
}

TEST(SuiteSections, TellOneVerdictOfAll) {
  SuiteResult suite;
  const auto add = [&](CaseVerdict verdict) { suite.cases.push_back({.outcome = {verdict}}); };
  EXPECT_EQ(suite_verdict(suite), "nothing tested");
  add(CaseVerdict::kSkipped);
  EXPECT_EQ(suite_verdict(suite), "nothing tested");
  EXPECT_THAT(suite_markdown(suite, "x"), HasSubstr("**nothing tested**: 0 pass, 0 fail, 0 inconclusive, 1 skipped"));
  EXPECT_THAT(suite_html(suite, "x"), HasSubstr("nothing tested"));
  add(CaseVerdict::kPass);
  EXPECT_EQ(suite_verdict(suite), "pass");
  add(CaseVerdict::kInconclusive);
  EXPECT_EQ(suite_verdict(suite), "inconclusive");
  suite.interrupted = true;
  EXPECT_EQ(suite_verdict(suite), "interrupted");
  add(CaseVerdict::kError);
  EXPECT_EQ(suite_verdict(suite), "fail");
}

TEST(SuiteFiles, OneThatCannotBeWrittenTakesNoOtherWithIt) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "junit.xml");
  EXPECT_THAT([&] { write_suite_reports(reported_suite(), folder.path()); },
              ::testing::ThrowsMessage<Error>(HasSubstr("junit.xml: is there, and no file that can be replaced")));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder.path() / "suite.md"));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder.path() / "suite.html"));
}

TEST(SuiteReports, ShowNothingOfAnInconclusiveTestAsAPass) {
  SuiteResult suite = reported_suite();
  // The first of its rows fails; the other one passes, of which nothing may be said.
  EXPECT_THAT(suite_markdown(suite, "x"), HasSubstr("| pass |"));
  suite.cases.front().outcome.verdict = CaseVerdict::kInconclusive;
  for (const std::string& text : {suite_markdown(suite, "x"), suite_html(suite, "x")}) {
    EXPECT_THAT(text, HasSubstr("inconclusive"));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("| pass |")));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("\"verdict-good\">pass")));
  }
}

TEST(SuiteMarkdown, HasTheTestWithItsMeasurements) {
  const std::string text = suite_markdown(reported_suite(), "Bench of X");
  EXPECT_THAT(text, HasSubstr("# Bench of X\n\n**fail**: 0 pass, 1 fail,"));
  EXPECT_THAT(text, HasSubstr("| model | X &lt;1> |"));
  EXPECT_THAT(text, HasSubstr("| cpu | a<br>b |"));
  EXPECT_THAT(text, HasSubstr("| [T1.a](#test-T1-a) | title \\| one | fail |"));
  EXPECT_THAT(text, HasSubstr("| 2 min 5 s |"));
  EXPECT_THAT(text, HasSubstr("| busbw | 64 KiB | 9.5 Gbit/s | at least 10 Gbit/s | fail |"));
  EXPECT_THAT(text, HasSubstr("| T1.a | p99 |  | 3 us | 4 | 2.5 % |"));
  EXPECT_THAT(text, HasSubstr("(cases/T1.a/wire%20%281%29.pcapng): both directions, frames 7, 9"));
  EXPECT_THAT(text, HasSubstr("- T1.a: one frame was late"));
}

TEST(SuiteHtml, HasTheTestWithItsGraphAndLoadsNothing) {
  const std::string html = suite_html(reported_suite(), "Bench");
  EXPECT_THAT(html, HasSubstr("<strong>fail</strong>"));
  EXPECT_THAT(html, HasSubstr("X &lt;1&gt;"));
  EXPECT_THAT(html, HasSubstr("<polyline"));
  EXPECT_THAT(html, HasSubstr("<a href=\"cases/T1.a/wire (1).pcapng\">"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">2.5 %</td>"));
  EXPECT_THAT(html, Not(HasSubstr("http")));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
}

// A hook's counters and a lab's texts may hold what moves the cursor of who looks at the file.
TEST(SuiteReports, ShowControlCharacters) {
  const rankwire::testing::TemporaryFolder folder;
  SuiteResult suite = reported_suite();
  suite.properties["host.rack"] = "\x1b red";
  suite.cases[0].outcome.measurements.push_back(measured("frames\x1b new", 1, ""));
  write_suite_reports(suite, folder.path());
  for (const char* const file : {"suite.md", "suite.html"}) {
    std::ifstream in(folder.path() / file);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_THAT(text, HasSubstr("\\x1b red")) << file;
    EXPECT_THAT(text, HasSubstr("frames\\x1b new")) << file;
    EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << file;
  }
}

TEST(SuiteReports, AreWrittenAsChosen) {
  const rankwire::testing::TemporaryFolder folder;
  write_suite_reports(reported_suite(), folder.path(), {.markdown = false});
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "junit.xml"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "suite.html"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "suite.md"));
}

TEST(CurveChart, DrawsLinearAxesFromZero) {
  // x from 0 to 4 between 70 and 760, y from 0 to 2 between 290 and 30.
  const std::string svg = curve_chart_svg(std::vector{drawn_curve({{0, 1}, {4, 2}})});
  EXPECT_THAT(svg, HasSubstr("points=\"70.0,160.0 760.0,30.0 \""));
}

TEST(CurveChart, DrawsDecadesWhereValuesSpanThem) {
  // x: 10^0 to 10^2, so that 10 is in the middle; y: 0 to 3.
  const std::string svg = curve_chart_svg(std::vector{drawn_curve({{1, 3}, {10, 3}, {100, 3}})});
  EXPECT_THAT(svg, HasSubstr("points=\"70.0,30.0 415.0,30.0 760.0,30.0 \""));
}

TEST(CurveChart, LeavesOutWhatIsNoNumber) {
  const std::string svg = curve_chart_svg(std::vector{drawn_curve({{0, 1}, {1, NAN}, {2, 1}})});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  // Two runs of one point each, since nothing connects them.
  EXPECT_THAT(svg, HasSubstr("points=\"70.0,30.0 \""));
  EXPECT_THAT(svg, HasSubstr("points=\"760.0,30.0 \""));
  EXPECT_EQ(curve_chart_svg(std::vector{drawn_curve({{NAN, 1}})}), "");
  EXPECT_EQ(curve_chart_svg({}), "");
}

TEST(CurveChart, TakesValuesThatAreAllAlike) {
  const std::string svg = curve_chart_svg(std::vector{drawn_curve({{5, 0}, {5, 0}})});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace rankwire
