// What the numbers of the page are: said once, of every one, and in the words of the documents.
#include "emulator/report/metric_texts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(MetricTexts, AreInTheDocumentsWordForWord) {
  const std::string document = testing::file_text(RANKWIRE_SOURCE "/docs/metrics.md");
  for (const MetricText& entry : metric_texts())
    EXPECT_THAT(document, HasSubstr(fmt::format("\n| {} | {} | {} |\n", entry.where, entry.heading, entry.text)));
}

TEST(MetricTexts, SayEachThingOnce) {
  std::set<std::pair<std::string, std::string>> known;
  for (const MetricText& entry : metric_texts())
    EXPECT_TRUE(known.emplace(entry.where, entry.heading).second) << entry.where << ' ' << entry.heading;
}

TEST(MetricTexts, OfATableGoBeforeThoseOfAny) {
  EXPECT_EQ(metric_text("deviations", "Extra time"), "emulated - reference duration of the execution");
  EXPECT_EQ(metric_text("no table", "Extra time"), "emulated - reference");
  EXPECT_THAT(metric_text("ranks", "no heading"), IsEmpty());
  EXPECT_EQ(html_title("latency", "Mean us"), " title=\"sum / count, microseconds\"");
  EXPECT_THAT(html_title("ranks", "no heading"), IsEmpty());
}

/// Table and heading of all tables in the sources of pages.
std::vector<std::pair<std::string, std::string>> headings() {
  static const std::regex kTable(R"re(HtmlTable \w+\("([^"]+)",\s*\{([^;]*)\}\);)re"), kHeading(R"re(\{"([^"]+)")re");
  std::vector<std::pair<std::string, std::string>> list;
  std::vector<std::filesystem::path> files;
  for (const char* room : {"report", "traces"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(RANKWIRE_SOURCE "/emulator/") + room))
      if (entry.path().extension() == ".cc") files.push_back(entry.path());
  }
  for (const std::filesystem::path& file : files) {
    const std::string text = testing::file_text(file);
    for (std::sregex_iterator table(text.begin(), text.end(), kTable), end; table != end; ++table) {
      const std::string where = (*table)[1], body = (*table)[2];
      for (std::sregex_iterator heading(body.begin(), body.end(), kHeading); heading != end; ++heading)
        list.emplace_back(where, (*heading)[1]);
    }
  }
  return list;
}

TEST(MetricTexts, AreThereForEveryHeading) {
  const auto all = headings();
  EXPECT_GT(all.size(), 150u);
  for (const auto& [where, heading] : all)
    EXPECT_THAT(metric_text(where, heading), Not(IsEmpty())) << where << ": " << heading;
}

TEST(MetricTexts, StandOnHeadingsAndFigures) {
  const std::string page = testing::SampleReport().page();
  EXPECT_THAT(page, HasSubstr("<th scope=\"col\" class=\"n\" title=\"completion time of the rank: end of its last "
                              "operation, from 0\">Emulated</th>"));
  EXPECT_THAT(page, HasSubstr("title=\"emulated / reference completion time; 1 is a network as good as the "
                              "model&#39;s\"><span>Emulated / reference</span>"));
}

}  // namespace
}  // namespace rankwire
