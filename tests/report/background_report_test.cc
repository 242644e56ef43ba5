// What reports say of traffic without a trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/report/assessment.h"
#include "emulator/report/background.h"
#include "tests/report/sample_record.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

/// A window of 64 packets of 4096 bytes, 256 KiB.
constexpr const char* kWindow = R"({"transport":{"window":64,"mtu":"4096B","queue_pairs":1}})";

/// Beside the sample's jobs so many messages of 10 KB of each of three flows are under way, and an open loop is on from
/// 5 to 20 us; in the reference, where the first delivers 1 MB, and with `emulated` in packets as well, where it
/// delivers so much.
std::filesystem::path record(const std::filesystem::path& folder, const std::string& config,
                             std::optional<Bytes> emulated, uint32_t outstanding = 16) {
  RunRecorder recorder(folder);
  testing::begin_sample(recorder, config);
  const BackgroundInfo entries[] = {
      {.job = JobId(1), .name = "small", .pattern = "incast", .flows = 3, .mean = Bytes(10'000), .limit = outstanding},
      {.job = JobId(2),
       .name = "open",
       .pattern = "pairs",
       .flows = 1,
       .mean = Bytes(100),
       .rate = Bandwidth(1'000'000'000),
       .limit = 64,
       .start = testing::at_microsecond(5),
       .stop = testing::at_microsecond(20)}};
  recorder.background(entries, RankId(2), std::vector<std::string>{"host 2"});
  RunEnd end = testing::sample_end(microseconds(50));
  end.background = {{.offered = 3, .posted = 3, .delivered = 3}, {.offered = 1, .posted = 1, .delivered = 1}};
  if (emulated) {
    end.background[0].bytes_delivered = *emulated;
    recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 2}).end(end);
  }
  end.background[0].bytes_delivered = Bytes(1'000'000);
  recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = "flow"}).end(end);
  return folder;
}

TEST(BackgroundReport, PageSaysWhenEachIsOn) {
  const TemporaryFolder folder;
  const std::string page = html_background(RunReader(record(folder.path(), kWindow, Bytes(1'000'000))));
  EXPECT_THAT(page, AllOf(HasSubstr("<td>16 outstanding</td><td>from 0 ps</td><td>twin</td>"),
                          HasSubstr("<td>5 us to 20 us</td><td>reference</td>")));
}

// 160 KB are under way of a flow, in a network where others may have 262144 bytes each. With packets beside it the
// reference must be seen to be more than a twentieth too high.
TEST(BackgroundReport, SaysWhereTheReferenceFavoursSmallMessages) {
  const std::string note =
      "a flow of small has 156.2 KiB under way, and one of a job up to 256 KiB: where they queue in a switch small "
      "gets "
      "less than in the reference, which shares lines evenly";
  for (const std::optional<Bytes> emulated : {std::optional<Bytes>(), std::optional(Bytes(940'000))}) {
    const TemporaryFolder folder;
    const RunReader reader(record(folder.path(), kWindow, emulated));
    EXPECT_THAT(background_text(reader), HasSubstr("  " + note + "\n"));
    EXPECT_THAT(html_background(reader), HasSubstr("<p>a flow of small has "));
    EXPECT_THAT(background_text(reader), Not(HasSubstr("a flow of open")));
  }
  const TemporaryFolder folder;
  EXPECT_THAT(background_text(RunReader(record(folder.path(), kWindow, Bytes(960'000)))), Not(HasSubstr("a flow of")));
}

// 27 messages are 270000 bytes. Of a record without a configuration nobody knows windows.
TEST(BackgroundReport, SaysNothingOfLoopsAsLargeAsAWindow) {
  const TemporaryFolder folder;
  EXPECT_THAT(background_text(RunReader(record(folder / "large", kWindow, {}, 27))), Not(HasSubstr("a flow of")));
  EXPECT_THAT(background_text(RunReader(record(folder / "unknown", "", {}))), Not(HasSubstr("a flow of")));
}

// A signal that ends one run keeps those behind it from their turn: zeros would be taken for what they measured.
TEST(BackgroundReport, SaysNothingOfARunThatDidNothing) {
  const TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder, kWindow);
    const BackgroundInfo entry{.job = JobId(1), .name = "probe", .pattern = "pairs", .flows = 1, .mean = Bytes(64)};
    recorder.background(std::span(&entry, 1), RankId(2), std::vector<std::string>{"host 2"});
    RunEnd end = testing::sample_end(microseconds(50));
    end.verdict = "interrupted";
    end.background = {{.offered = 3, .posted = 3}};
    recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 2}).end(end);
    recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = "flow"})
        .end({.verdict = "interrupted", .background = {{}}});
  }
  const RunReader reader(folder.path());
  EXPECT_EQ(describe_completion(reader), "interrupted after 50 us twin, reference not run");
  EXPECT_EQ(completion_of(reader, reader.reference()), std::nullopt);
  EXPECT_TRUE(background_json(reader)[0]["reference"].is_null());
  EXPECT_EQ(background_json(reader)[0]["emulated"]["messages_posted"], 3);
  EXPECT_THAT(background_csv(reader), AllOf(HasSubstr("\ntwin,,1,probe,"), Not(HasSubstr("\nreference,"))));
}

TEST(ReportWithoutBackground, SaysNothingOfIt) {
  const testing::SampleReport report;
  const RunReader reader(report.folder());
  EXPECT_EQ(background_text(reader), "");
  EXPECT_EQ(html_background(reader), "");
}

}  // namespace
}  // namespace rankwire
