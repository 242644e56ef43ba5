#include "emulator/report/certification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "emulator/report/assessment.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

/// Of two runs, 1 % and 3 % too long: their mean is 2 %, their deviation root 2 %, and with t(0.975, 1) = 12.7062 and
/// root of 1 + 1/2 another run is within 2 % +- 12.7062 x 1.41421 x 1.22474 % = 2 % +- 22.008 %.
Certificate of_two_runs() {
  return {.time = milliseconds(40),
          .operations = 12,
          .errors = {0.01, 0.03},
          .slipped = microseconds(3),
          .worst_stall = microseconds(4),
          .worst_turn = microseconds(5),
          .jitter = nanoseconds(600),
          .clock_time = seconds(1),
          .clock_slew_ppm = 20,
          .clock_residual = nanoseconds(50)};
}
constexpr double kPart = 0.02 + 0.12706205 * 1.41421356 * 1.22474487;

/// Alike: nothing but the mean counts.
Certificate of_alike_runs(double error) {
  Certificate certificate = of_two_runs();
  certificate.errors = {error, error, error};
  return certificate;
}

TEST(Certification, ResolvesWhatAnotherRunWouldNotAddByItself) {
  EXPECT_NEAR(*resolvable_part(of_two_runs()), kPart, 1e-7);
  EXPECT_NEAR(*resolvable_part(of_alike_runs(-0.02)), 0.02, 1e-12);
  EXPECT_FALSE(resolvable_part({}));
}

TEST(Certification, IsToldInFiguresAndWords) {
  const auto json = certification_json(of_two_runs(), milliseconds(100));
  EXPECT_NEAR(json["resolvable_ps"].get<double>(), kPart * 1e11, 1e4);
  EXPECT_EQ(json["errors"], nlohmann::ordered_json::parse("[0.01, 0.03]"));
  EXPECT_EQ(json["compared_ps"], 40'000'000'000);
  EXPECT_EQ(json["jitter_ps"], 600'000);
  EXPECT_EQ(json["clock"],
            nlohmann::ordered_json::parse(R"({"time_ps": 1000000000000, "slew_ppm": 20.0, "residual_ps": 50000})"));
  EXPECT_TRUE(json["reason"].is_null());
  EXPECT_THAT(certification_text(of_two_runs(), milliseconds(100)),
              HasSubstr("gaps below 24 % (24.01 ms) may be the generator's own: against the embedded switch it took +1 "
                        ".. +3 % longer than the twin for 12 operations in 40 ms; worst turn 5 us, worst stall 4 us, 3 "
                        "us lost, jitter 600 ns, clock +20 ppm"));
  Certificate caught_up = of_two_runs();
  caught_up.worst_stall = Duration();
  EXPECT_THAT(certification_text(caught_up, {}),
              HasSubstr("worst turn 5 us, no stall beyond transport.catch_up, 3 us"));
  const Certificate none{.failure = "no processor"};
  EXPECT_TRUE(certification_json(none, {})["resolvable"].is_null());
  EXPECT_EQ(certification_json(none, {})["reason"], "no processor");
  EXPECT_THAT(certification_text(none, {}), HasSubstr("is not known: no processor"));
}

/// Of two ports one takes 4 % longer than its line each time, which comes on top.
TEST(Certification, APortThatIsSlowerThanItsLineAddsToIt) {
  Certificate certificate = of_two_runs();
  certificate.ports = {
      {.port = "p0", .frames = 9, .errors = {0, 0, 0}},
      {.port = "p1", .frames = 8, .returned = 2, .errors = {0.04, 0.04, 0.04}, .worst_stall = microseconds(7)}};
  EXPECT_NEAR(*resolvable_part(certificate), kPart + 0.04, 1e-7);
  const auto json = certification_json(certificate, milliseconds(100))["ports"];
  ASSERT_EQ(json.size(), 2u);
  EXPECT_NEAR(json[1]["resolvable"].get<double>(), 0.04, 1e-12);
  EXPECT_EQ(json[1]["returned"], 2);
  EXPECT_THAT(
      certification_text(certificate, milliseconds(100)),
      HasSubstr("; of its ports p1 is furthest from its rate: 8 frames took +4 .. +4 % longer than on the line, "
                "worst stall 7 us"));
  certificate.errors.clear();
  EXPECT_FALSE(resolvable_part(certificate)) << "of the rest of the generator nothing is known";
}

/// No figure stands for it, and the others have theirs.
TEST(Certification, APortWithoutALinkIsNamed) {
  Certificate certificate = of_two_runs();
  certificate.ports = {{.port = "p0", .frames = 9, .errors = {0.04, 0.04}},
                       {.port = "p1", .link_trouble = "device b: its link is down"}};
  EXPECT_NEAR(*resolvable_part(certificate), kPart + 0.04, 1e-7);
  const auto json = certification_json(certificate, {})["ports"];
  EXPECT_EQ(json[0]["link_up"], true);
  EXPECT_TRUE(json[0]["reason"].is_null());
  EXPECT_EQ(json[1]["link_up"], false);
  EXPECT_EQ(json[1]["reason"], "device b: its link is down");
  EXPECT_TRUE(json[1]["resolvable"].is_null());
  EXPECT_THAT(certification_text(certificate, {}),
              HasSubstr("; port p1 has no link, and was not measured: device b: its link is down; of its ports p0 is "
                        "furthest from its rate"));
}

/// Nothing could be compared, but its ports were measured.
TEST(Certification, PortsAreToldWithoutTheRest) {
  Certificate certificate{.failure = "no communication came to its end"};
  certificate.ports = {{.port = "p0", .frames = 9, .errors = {0.04, 0.04}}};
  EXPECT_FALSE(resolvable_part(certificate));
  EXPECT_NEAR(certification_json(certificate, {})["ports"][0]["resolvable"].get<double>(), 0.04, 1e-12);
  EXPECT_THAT(certification_text(certificate, {}),
              HasSubstr("is not known: no communication came to its end; of its ports p0 is furthest from its rate"));
}

/// The sample, 50 us emulated and 30 us in the reference: a ratio of 1.667.
class CertifiedRecord : public ::testing::Test {
 protected:
  RunReader record(const std::optional<Certificate>& certificate, const std::vector<LimitInfo>& limits) {
    {
      RunRecorder recorder(folder_.path());
      testing::begin_sample(recorder);
      if (certificate) recorder.certificate(*certificate);
      if (!limits.empty()) recorder.limits(limits);
      testing::record_emulated(recorder, testing::sample_end(microseconds(50)));
      testing::record_reference(recorder);
    }
    return RunReader(folder_.path());
  }

  TemporaryFolder folder_;
};

TEST_F(CertifiedRecord, KeepsTheCertificate) {
  Certificate given = of_two_runs();
  given.ports = {{.port = "p0", .frames = 9, .errors = {0, 0}},
                 {.port = "p1",
                  .frames = 8,
                  .returned = 2,
                  .errors = {-0.25, -0.25},
                  .slipped = microseconds(6),
                  .worst_stall = microseconds(7)},
                 {.port = "p2", .link_trouble = "it is down"}};
  const RunReader reader = record(given, {});
  ASSERT_TRUE(reader.certificate());
  const Certificate kept = *reader.certificate();
  EXPECT_EQ(kept.errors, given.errors);
  EXPECT_EQ(kept.time, given.time);
  EXPECT_EQ(kept.operations, given.operations);
  EXPECT_EQ(kept.slipped, given.slipped);
  EXPECT_EQ(kept.worst_stall, given.worst_stall);
  EXPECT_EQ(kept.worst_turn, given.worst_turn);
  EXPECT_EQ(kept.jitter, given.jitter);
  EXPECT_EQ(kept.clock_time, given.clock_time);
  EXPECT_EQ(kept.clock_slew_ppm, given.clock_slew_ppm);
  EXPECT_EQ(kept.clock_residual, given.clock_residual);
  ASSERT_EQ(kept.ports.size(), 3u);
  EXPECT_EQ(kept.ports[1].link_trouble, "");
  EXPECT_EQ(kept.ports[2].link_trouble, "it is down");
  EXPECT_EQ(kept.ports[1].port, "p1");
  EXPECT_EQ(kept.ports[1].frames, 8u);
  EXPECT_EQ(kept.ports[1].returned, 2u);
  EXPECT_EQ(kept.ports[1].errors, given.ports[1].errors);
  EXPECT_EQ(kept.ports[1].slipped, given.ports[1].slipped);
  EXPECT_EQ(kept.ports[1].worst_stall, given.ports[1].worst_stall);
  EXPECT_THAT(kept.ports[0].errors, ::testing::ElementsAre(0, 0));
  // 24 % of the reference's 30 us, and a quarter of them.
  EXPECT_NEAR(summary(reader)["certification"]["resolvable_ps"].get<double>(), (kPart + 0.25) * 3e7, 10);
  EXPECT_EQ(verdict_of(reader).verdict, "ok") << "nothing hangs on a gap";
  EXPECT_THAT(summary_table(reader), HasSubstr("resolution    gaps below 49 %"));
}

// A ratio of 1.667 may as well be 1.6 or 1.7 where 5 % are the generator's.
TEST_F(CertifiedRecord, AVerdictThatHangsOnLessIsInconclusive) {
  for (const double limit : {1.6, 1.7}) {
    const RunReader reader = record(of_alike_runs(0.05), {{"ratio", limit}});
    EXPECT_EQ(verdict_of(reader).verdict, "inconclusive") << limit;
    EXPECT_EQ(verdict_of(reader).code, "below_resolution");
    EXPECT_FALSE(verdict_of(reader).passes());
    EXPECT_THAT(verdict_of(reader).reason, HasSubstr("closer to the limit than the 5 % that may be the generator's"));
  }
}

TEST_F(CertifiedRecord, AVerdictThatDoesNotIsOkOrFailed) {
  EXPECT_EQ(verdict_of(record(of_alike_runs(0.05), {{"ratio", 1.5}})).verdict, "failed");
  EXPECT_EQ(verdict_of(record(of_alike_runs(0.05), {{"ratio", 1.9}})).verdict, "ok");
  EXPECT_EQ(verdict_of(record(of_alike_runs(0.001), {{"ratio", 1.7}})).verdict, "ok");
  EXPECT_EQ(verdict_of(record(std::nullopt, {{"ratio", 1.6}})).verdict, "failed") << "not certified";
  // Another limit that is broken does not hang on a gap.
  EXPECT_EQ(verdict_of(record(of_alike_runs(0.05), {{"ratio", 1.6}, {"message_p99", 1}})).verdict, "failed");
}

TEST_F(CertifiedRecord, WithoutACertificateNothingIsSaid) {
  const RunReader reader = record(std::nullopt, {});
  EXPECT_TRUE(summary(reader)["certification"].is_null());
  EXPECT_THAT(summary_table(reader), Not(HasSubstr("resolution")));
}

}  // namespace
}  // namespace rankwire
