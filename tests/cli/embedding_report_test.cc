#include "emulator/cli/embedding_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/assembly/tiny_run.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// So many Gbit/s, of frames with 1250 bytes, in a second.
EmbeddedRate rate_of(int64_t gbps, SwitchCore core = SwitchCore::kShared) {
  EmbeddedTraffic traffic{.time = seconds(1), .data_packets = static_cast<uint64_t>(gbps) * 100'000};
  traffic.wire = Bytes(gbps * 125'000'000);
  return {.core = core, .traffic = traffic, .failure = ""};
}

/// Four ports of 10 Gbit/s.
RunConfig four_ports(SwitchCore core = SwitchCore::kShared) {
  RunConfig config = tiny_run(1, 4);
  config.embedded_switch.core = core;
  return config;
}

TEST(EmbeddingReport, SaysWhatWasMeasured) {
  const EmbeddingReport report = embedding_report(four_ports(), {.ports = 4, .mtu = 1024, .rates = {rate_of(40)}}, 2);
  EXPECT_THAT(report.lines, ElementsAre("this machine embeds about 40 Gbit/s on one core: 4 M data packets/s of MTU "
                                        "1024, 4 ports"));
  EXPECT_THAT(report.warnings, IsEmpty());
  const auto expected = nlohmann::ordered_json::parse(R"({
    "processors": 2, "ports_gbps": 40.0, "ports": 4, "mtu": 1024,
    "measured": [{"switch_core": "shared", "time_ps": 1000000000000, "data_packets": 4000000, "retransmitted": 0,
                  "timeouts": 0, "second_half": 1.0, "data_packets_per_second": 4000000.0, "wire_gbps": 40.0, "reason": null}],
    "reason": null, "ports_at_once": 4, "limited": false, "quicker": null, "warnings": []})");
  EXPECT_EQ(report.json.dump(1), expected.dump(1));
}

TEST(EmbeddingReport, WarnsWhereThePortsAskForMore) {
  RunConfig config = four_ports();
  const Embedding embedding{.ports = 4, .mtu = 4096, .rates = {rate_of(39)}};
  const EmbeddingReport report = embedding_report(config, embedding, 2);
  EXPECT_EQ(report.json["limited"], true);
  EXPECT_EQ(report.json["ports_at_once"], 3u);
  EXPECT_THAT(report.warnings, ElementsAre(AllOf(HasSubstr("the ports' rates together are 40 Gbit/s"),
                                                 HasSubstr("this machine embeds about 39"),
                                                 HasSubstr("when more than 3 of 4 send at once"))));
  EXPECT_EQ(report.json["warnings"], nlohmann::json(report.warnings));
  for (PortConfig& port : config.ports) port.rate = Bandwidth(100'000'000'000);
  EXPECT_THAT(embedding_report(config, embedding, 2).warnings,
              ElementsAre(HasSubstr("as soon as one of them sends at its rate")));
}

// Four ports of 2.56 Tbit/s, which a machine would embed 1230 Gbit/s of.
TEST(EmbeddingReport, LargeRatesAreWrittenOut) {
  RunConfig config = four_ports();
  for (PortConfig& port : config.ports) port.rate = Bandwidth(2'560'000'000'000);
  const EmbeddingReport report = embedding_report(config, {.ports = 4, .mtu = 4096, .rates = {rate_of(1'230)}}, 2);
  EXPECT_THAT(report.warnings,
              ElementsAre(HasSubstr("together are 10240 Gbit/s, and this machine embeds about 1230:")));
  EXPECT_THAT(report.lines, ElementsAre(HasSubstr("about 1230 Gbit/s on one core: 123 M data packets/s")));
}

TEST(EmbeddingReport, SaysHowManyPortsWereMeasured) {
  const Embedding embedding{.ports = 2, .mtu = 4096, .rates = {rate_of(80)}};
  EXPECT_THAT(embedding_report(four_ports(), embedding, 2).lines, ElementsAre(HasSubstr(", 2 of 4 ports")));
}

TEST(EmbeddingReport, ComparesAnOwnCoreWithASharedOne) {
  const Embedding slower{.ports = 4, .mtu = 4096, .rates = {rate_of(50, SwitchCore::kOwn), rate_of(60)}};
  const EmbeddingReport does_not_pay = embedding_report(four_ports(SwitchCore::kOwn), slower, 3);
  EXPECT_EQ(does_not_pay.json["quicker"], "shared");
  EXPECT_THAT(does_not_pay.warnings, ElementsAre(AllOf(HasSubstr("switch.core: own does not pay here"),
                                                       HasSubstr("it embeds 50 Gbit/s"), HasSubstr("60"))));
  EXPECT_THAT(does_not_pay.lines, ElementsAre(HasSubstr("50 Gbit/s on two cores"), HasSubstr("60 Gbit/s on one core")));
  const Embedding quicker{.ports = 4, .mtu = 4096, .rates = {rate_of(60, SwitchCore::kOwn), rate_of(50)}};
  const EmbeddingReport pays = embedding_report(four_ports(SwitchCore::kOwn), quicker, 3);
  EXPECT_EQ(pays.json["quicker"], "own");
  EXPECT_THAT(pays.warnings, IsEmpty());
}

TEST(EmbeddingReport, ComparesShardsWithAWholeSwitch) {
  const Embedding slower{.ports = 4, .mtu = 4096, .rates = {rate_of(50, SwitchCore::kSharded), rate_of(60)}};
  const EmbeddingReport report = embedding_report(four_ports(SwitchCore::kSharded), slower, 2);
  EXPECT_EQ(report.json["quicker"], "shared");
  EXPECT_EQ(report.json["measured"][0]["switch_core"], "sharded");
  EXPECT_THAT(report.warnings,
              ElementsAre("switch.core: sharded does not pay here: it embeds 50 Gbit/s, and shared 60"));
  EXPECT_THAT(report.lines.front(), HasSubstr("50 Gbit/s with the switch on all workers' cores"));
}

TEST(EmbeddingReport, AnOwnCoreWantsThreeProcessors) {
  const Embedding embedding{.ports = 4, .mtu = 4096, .rates = {rate_of(60, SwitchCore::kOwn), rate_of(50)}};
  EXPECT_THAT(embedding_report(four_ports(SwitchCore::kOwn), embedding, 2).warnings,
              ElementsAre(HasSubstr("switch.core: own keeps two processors busy, and only 2 may be used")));
  EXPECT_THAT(embedding_report(four_ports(SwitchCore::kOwn), embedding, 1).warnings,
              ElementsAre(HasSubstr("only one may be used")));
  EXPECT_THAT(embedding_report(four_ports(), {.ports = 4, .rates = {rate_of(60)}}, 1).warnings, IsEmpty());
}

TEST(EmbeddingReport, SaysThatPacketsWereRepeated) {
  EmbeddedRate rate = rate_of(60);
  rate.traffic.timeouts = 3, rate.traffic.retransmitted = 96;
  EXPECT_THAT(embedding_report(four_ports(), {.ports = 4, .mtu = 4096, .rates = {rate}}, 2).lines,
              ElementsAre(HasSubstr("96 packets were repeated, after 3 time-outs")));
}

TEST(EmbeddingReport, WhatIsNotKnownIsNull) {
  EmbeddedRate failed = rate_of(60, SwitchCore::kOwn);
  failed.failure = "not done";
  const EmbeddingReport report =
      embedding_report(four_ports(SwitchCore::kOwn), {.ports = 4, .mtu = 4096, .rates = {failed, rate_of(1)}}, 3);
  EXPECT_TRUE(report.json["measured"][0]["wire_gbps"].is_null());
  EXPECT_EQ(report.json["measured"][0]["reason"], "not done");
  for (const char* key : {"ports_at_once", "limited", "quicker"}) EXPECT_TRUE(report.json[key].is_null()) << key;
  EXPECT_THAT(report.warnings, IsEmpty());
  EXPECT_THAT(report.lines, ElementsAre(HasSubstr("is not known: not done"), HasSubstr("1 Gbit/s")));

  const EmbeddingReport nothing = embedding_report(four_ports(), {.failure = "too large"}, 3);
  EXPECT_EQ(nothing.json["reason"], "too large");
  EXPECT_TRUE(nothing.json["measured"].empty());
  EXPECT_TRUE(nothing.json["ports"].is_null());
  EXPECT_THAT(nothing.lines, ElementsAre("what this machine embeds is not known: too large"));
}

TEST(EmbeddingReport, NothingIsMeasuredWithoutEmbeddedPortsOrWish) {
  const testing::TemporaryFolder folder;
  RunConfig config = four_ports();
  const EmbeddingReport left_out = report_embedding(config, folder / "embedding", false);
  EXPECT_TRUE(left_out.json["measured"].empty());
  EXPECT_EQ(left_out.json["reason"], "left out by --no-measure");
  EXPECT_THAT(left_out.lines, IsEmpty());
  for (PortConfig& port : config.ports) port.device = "net_null" + port.name.substr(1);
  EXPECT_TRUE(report_embedding(config, folder / "embedding", true).json.is_null());
  config.ports.clear();
  EXPECT_TRUE(report_embedding(config, folder / "embedding", true).json.is_null());
  EXPECT_FALSE(std::filesystem::exists(folder / "embedding"));
}

}  // namespace
}  // namespace rankwire
