#include "emulator/suite/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/suite/xml_text.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Xml, EscapesMarkup) {
  EXPECT_EQ(xml_escaped("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
}

TEST(Xml, KeepsLineEndsOfAttributesAsReferences) {
  // A parser makes a space of a bare line end in an attribute (XML 1.0, 3.3.3), and of "\r\n" one "\n" (2.11).
  EXPECT_EQ(xml_escaped("a\nb\tc\r"), "a&#10;b&#9;c&#13;");
  EXPECT_EQ(xml_content("a\nb\tc\r"), "a\nb\tc&#13;");
}

TEST(Xml, ShowsWhatItHasNoCharacterFor) {
  // XML 1.0, 2.2: #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].
  EXPECT_EQ(xml_escaped(std::string_view("\x1b[31m\0\x08", 7)), "\\x1b[31m\\x00\\x08");
  EXPECT_EQ(xml_escaped("\xEF\xBF\xBE"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "U+FFFE";
  EXPECT_EQ(xml_escaped("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "a surrogate, U+D800";
}

TEST(Xml, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(xml_escaped("\xC3\xBC"), "\xC3\xBC") << "U+00FC";
  EXPECT_EQ(xml_escaped("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80") << "U+1F600";
  EXPECT_EQ(xml_escaped("\xFF"
                        "a"),
            "\xEF\xBF\xBD"
            "a");
  EXPECT_EQ(xml_escaped("a\xC3"), "a\xEF\xBF\xBD") << "cut short";
  EXPECT_EQ(xml_escaped("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "'/' in two bytes";
}

CaseResult found(std::string id, CaseVerdict verdict, std::string reason = {}) {
  CaseResult result{std::move(id), "title", "stimulus", "expectation", "RFC 1"};
  result.outcome.verdict = verdict;
  result.outcome.reason = std::move(reason);
  result.took = std::chrono::milliseconds(1'005);
  result.began_unix_ms = 1'767'225'600'000;  // 2026-01-01T00:00:00Z
  return result;
}

TEST(Junit, HasAnElementForEachVerdictAndCountsThem) {
  SuiteResult suite{.name = "bmwg", .version = "1"};
  suite.cases = {found("T1.a", CaseVerdict::kPass), found("T1.b", CaseVerdict::kFail, "too <slow>"),
                 found("T1.c", CaseVerdict::kError, "gone"), found("T1.d", CaseVerdict::kSkipped, "no PFC"),
                 found("T1.e", CaseVerdict::kInconclusive, "too near")};
  const std::string xml = junit_xml(suite);
  EXPECT_THAT(xml, HasSubstr("tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"2\" time=\"5.025\""));
  EXPECT_THAT(xml, HasSubstr("timestamp=\"2026-01-01T00:00:00\""));
  EXPECT_THAT(xml, HasSubstr("<testcase name=\"a\" classname=\"bmwg.T1\" time=\"1.005\">\n    </testcase>"));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"too &lt;slow&gt;\" type=\"fail\">"));
  EXPECT_THAT(xml, HasSubstr("<error message=\"gone\" type=\"error\">"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"no PFC\">"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"inconclusive: too near\">"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"T1.e.verdict\" value=\"inconclusive\"/>"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"T1.a.source\" value=\"RFC 1\"/>"));
}

TEST(Junit, HasWhatWasMeasuredAsProperties) {
  CaseResult result = found("T1.a", CaseVerdict::kPass);
  result.folder = "cases/T1.a";
  result.outcome.measurements = {measured("busbw", 9.5, "Gbit/s", 9, {}, "64 KiB"), measured("p99", NAN, "us")};
  result.outcome.artefacts = {{"wire.pcapng", "both directions", {7, 9}}};
  SuiteResult suite{.name = "x", .version = "1", .properties = {{"dut.model", "a\nb"}}};
  suite.cases = {result};
  const std::string xml = junit_xml(suite);
  EXPECT_THAT(xml, HasSubstr("name=\"T1.a.busbw of 64 KiB\" value=\"9.5 Gbit/s, expected at least 9 Gbit/s\""));
  EXPECT_THAT(xml, HasSubstr("name=\"T1.a.p99\" value=\"none\""));
  EXPECT_THAT(xml, HasSubstr("name=\"T1.a.artefact\" value=\"cases/T1.a/wire.pcapng\""));
  EXPECT_THAT(xml, HasSubstr("name=\"dut.model\" value=\"a&#10;b\""));
  EXPECT_THAT(xml, HasSubstr("artefact: cases/T1.a/wire.pcapng: both directions, frames 7, 9"));
}

TEST(Junit, DividesIdsAtDotsOfTheirNamesAlone) {
  SuiteResult suite{.name = "run", .version = "1"};
  suite.cases = {found("ratio <= 1.10", CaseVerdict::kPass), found("losses.ppm <= 0.5", CaseVerdict::kPass),
                 found("max(ports[*].marked) == 0", CaseVerdict::kPass)};
  const std::string xml = junit_xml(suite);
  EXPECT_THAT(xml, HasSubstr("name=\"ratio &lt;= 1.10\" classname=\"run\""));
  EXPECT_THAT(xml, HasSubstr("name=\"ppm &lt;= 0.5\" classname=\"run.losses\""));
  EXPECT_THAT(xml, HasSubstr("name=\"max(ports[*].marked) == 0\" classname=\"run\""));
  EXPECT_THAT(xml, Not(HasSubstr("<failure")));
}

}  // namespace
}  // namespace rankwire
