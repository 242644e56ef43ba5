#include "emulator/report/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// The model `flow` takes 30 us, and with one thing free what `rows` say.
RunReader record_of(const std::filesystem::path& folder, const std::vector<WhatIfRow>& rows) {
  {
    RunRecorder recorder(folder);
    testing::begin_sample(recorder);
    testing::record_emulated(recorder, testing::sample_end(microseconds(50)));
    recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = "flow"})
        .end(testing::sample_end(microseconds(30)));
    recorder.what_if(rows);
  }
  return RunReader(folder);
}

const std::vector<WhatIfRow> kRows = {{"compute", "", microseconds(22)},
                                      {"wires", "", microseconds(10)},
                                      {"group", "tp<#>", microseconds(31)},
                                      {"point_to_point", "", microseconds(30)},
                                      {"port", "p1", microseconds(25)}};

TEST(WhatIfReport, WhatSavesMostComesFirst) {
  const TemporaryFolder folder;
  EXPECT_EQ(what_if_text(record_of(folder.path(), kRows)),
            "all wires 10 us (-20 us), computation 22 us (-8 us), port p1 25 us (-5 us), and 2 more in summary.json");
}

// `flow` loses no packets, so that it has no word on a cable that does.
TEST(WhatIfReport, SaysNothingOfWhatSavesNothing) {
  const TemporaryFolder folder;
  const std::vector<WhatIfRow> rows = {{"failures", "", microseconds(30)}};
  EXPECT_EQ(what_if_text(record_of(folder.path(), rows)), "");
}

TEST(WhatIfReport, JsonHasThemAll) {
  const TemporaryFolder folder;
  const auto json = what_if_json(record_of(folder.path(), kRows));
  ASSERT_EQ(json.size(), 5u);
  EXPECT_EQ(json[0]["free"], "wires");
  EXPECT_EQ(json[0]["name"], nullptr);
  EXPECT_EQ(json[0]["completion_time_ps"], 10'000'000);
  EXPECT_EQ(json[0]["saved_ps"], 20'000'000);
  EXPECT_EQ(json[4]["name"], "tp<#>");
  EXPECT_EQ(json[4]["saved_ps"], -1'000'000) << "longer than before";
}

TEST(WhatIfReport, PageEscapesNames) {
  const TemporaryFolder folder;
  const std::string page = html_what_if(record_of(folder.path(), kRows));
  EXPECT_THAT(page, HasSubstr("groups tp&lt;#&gt;"));
  EXPECT_THAT(page, HasSubstr("+1 us"));
}

TEST(WhatIfReport, HasNothingToSayWithoutSuchRuns) {
  const TemporaryFolder folder;
  testing::write_sample(folder.path());
  const RunReader record(folder.path());
  EXPECT_EQ(what_if_text(record), "");
  EXPECT_EQ(html_what_if(record), "");
  EXPECT_TRUE(what_if_json(record).is_null());
}

}  // namespace
}  // namespace rankwire
