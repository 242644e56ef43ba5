#include "emulator/traces/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Planting : public ::testing::TestWithParam<Planted> {};

TEST_P(Planting, IsFoundAndNothingElse) {
  TraceSet set;
  GetParam().write(set);
  const CheckedSet checked = check(set, GetParam().options);
  EXPECT_EQ(summaries(checked), GetParam().findings);
  ASSERT_FALSE(checked.findings.list().empty());
  EXPECT_THAT(checked.findings.list().front().what, HasSubstr(GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(All, Planting, ::testing::ValuesIn(planted()),
                         [](const auto& given) { return std::string(given.param.name); });

TEST(Check, SoundTracesHaveNoFindings) {
  EXPECT_THAT(summaries(check(TraceSet(sound()))), IsEmpty());
}

// A service's prefixes of prompts: rank 0 sends what it keeps whenever a request arrives, and rank 1 takes it without
// waiting for what it computes.
TEST(Check, MessagesWhoseDataIsThereNeedNoKernelBeforeOrBehindThem) {
  const auto out = [](uint64_t id, Ids after) { return send(id, "kv", 1).after(after).size(64); };
  const auto in = [](uint64_t id, Ids after) { return receive(id, "kv", 0).after(after).size(64); };
  const Nodes keeps = {on_host(1), out(2, {1}).integer("comm_tag", 1), on_host(3, {1}),
                       out(4, {3}).integer("comm_tag", 2)};
  const Nodes computes = {on_host(1),      in(2, {1}).integer("comm_tag", 1), kernel(3, {2}),
                          on_host(4, {1}), in(5, {4}).integer("comm_tag", 2), kernel(6, {3, 5})};
  EXPECT_THAT(summaries(check(TraceSet({keeps, computes}))), IsEmpty());
}

// Three of four kernels are what no node depends on, but who sends to many has more SENDs than kernels that compute.
TEST(Check, SendsAreNoSignOfALostOrder) {
  Nodes computes = {on_host(1), kernel(2, {1})};
  for (int64_t peer = 1; peer <= 3; ++peer)
    computes.push_back(send(static_cast<uint64_t>(2 + peer), "kv", peer).after({2}).size(64));
  const Nodes takes = {receive(1, "kv", 0).size(64)};
  EXPECT_THAT(summaries(check(TraceSet({computes, takes, takes, takes}))), IsEmpty());
}

TEST(Check, ASendBeforeItsInputsIsFound) {
  const Nodes sends = {on_host(1), kernel(2, {1}), on_host(3, {1}), send(4, "kv", 1).after({3}).size(64),
                       kernel(5, {2})};
  EXPECT_THAT(summaries(check(TraceSet({sends, {receive(1, "kv", 0).size(64)}}))),
              ElementsAre("collective-before-inputs 0: 4"));
}

TEST(Check, TheSameMistakeOnManyNodesIsOneFinding) {
  Nodes nodes;
  for (uint64_t id = 0; id < 100; ++id) nodes.push_back(step(id, {id}));
  const TraceSet set({nodes});
  const CheckedSet checked = check(set);
  ASSERT_EQ(checked.findings.list().size(), 1u);
  EXPECT_EQ(checked.findings.list().front().count, 100u);
  EXPECT_EQ(checked.findings.list().front().nodes.size(), Finding::kMostNodes);
}

TEST(Check, SeveralMistakesAreAllFound) {
  const TraceSet set({{step(1, {1, 9}), all_reduce(2, {1}, -5)}, {step(1), all_reduce(2, {1}, -5), step(1)}});
  EXPECT_THAT(summaries(check(set)), ElementsAre("dangling-dependency 0: 1", "absurd-size 0: 2", "duplicate-id 1: 1",
                                                 "absurd-size 1: 2", "self-dependency 0: 1"));
}

TEST(Check, ControlDependenciesCarryTheGraphWhereThereAreNoOthers) {
  const Nodes nodes = {step(1).after_control({7}), step(2).after_control({1})};
  EXPECT_THAT(summaries(check(TraceSet({nodes}))), ElementsAre("dangling-dependency 0: 1"));
}

// Both ranks are in the same all-reduce, so neither can end it before the other begins: rank 1's clock shows 5,000 us
// more.
TEST(Check, ClocksThatContradictEachOther) {
  const auto rank = [](uint64_t offset) {
    chakra::Node first = all_reduce(1, {}).micros(100), second = all_reduce(2, {1}).micros(100);
    first.set_start_time_micros(1000 + offset);
    second.set_start_time_micros(2000 + offset);
    return Nodes{first, second};
  };
  const TraceSet set({rank(0), rank(5000)});
  const CheckedSet checked = check(set);
  EXPECT_THAT(summaries(checked), ElementsAre("clock-skew 1"));
  EXPECT_THAT(checked.clock_offsets, ElementsAre(Duration(), milliseconds(5)));
  EXPECT_THAT(summaries(check(TraceSet({rank(0), rank(50)}))), IsEmpty());  // they overlap
}

TEST(Check, RecordedTimesThatContradictDependencies) {
  chakra::Node first = step(1), second = step(2, {1});
  first.set_start_time_micros(100);  // until 110
  second.set_start_time_micros(109);
  EXPECT_THAT(summaries(check(TraceSet({{first, second}}))), ElementsAre("starts-before-dependency 0: 2"));
  second.set_start_time_micros(110);
  EXPECT_THAT(summaries(check(TraceSet({{first, second}}))), IsEmpty());
}

// The order of each file is impossible for both groups together, which the loader solves.
TEST(Check, AnOrderOfFilesThatCannotBeRunIsANote) {
  TraceSet set({{all_reduce(1, {2}).group("a"), all_reduce(2, {}).group("a")},
                {all_reduce(1, {2}).group("a"), all_reduce(2, {}).group("a")}});
  set.groups(R"({"a": [0, 1]})");
  EXPECT_THAT(summaries(check(set)), ElementsAre("forward-dependency 0: 1", "forward-dependency 1: 1", "file-order"));
}

TEST(Check, OneFileOfASetIsCheckedByItself) {
  const TraceSet set({sound()[0], {step(1), step(1)}});
  EXPECT_THAT(summaries(check({set.file(0)})), IsEmpty());
  EXPECT_THAT(summaries(check({set.file(1)})), ElementsAre("duplicate-id 1: 1"));
}

TEST(Check, TwoFilesOfOneRank) {
  const TraceSet set(sound());
  TraceSet::write(set.file(1) + ".gz", sound()[1]);
  EXPECT_THAT(summaries(check(set)), ElementsAre("two-files 1"));
}

TEST(Check, FilesOfOtherKindsSayWhatTheyAre) {
  TemporaryFolder folder;
  const std::pair<const char*, const char*> files[] = {
      {"host.json", R"({"schema": "1.0.3", "nodes": []})"},
      {"kineto.json", R"({"schemaVersion": 1, "traceEvents": []})"},
  };
  for (const auto& [name, text] : files) {
    std::ofstream(folder / name) << text;
    const CheckedSet checked = check({folder / name});
    EXPECT_THAT(summaries(checked), ElementsAre("unreadable 0")) << name;
    EXPECT_THAT(checked.findings.list().front().what, HasSubstr("must be converted")) << name;
  }
}

TEST(Check, EveryKindOfMistakeIsPlantedSomewhere) {
  std::set<std::string> covered = {"clock-skew", "starts-before-dependency", "file-order", "two-files"};
  for (const Planted& plant : planted()) {
    for (const std::string& finding : plant.findings) covered.insert(finding.substr(0, finding.find_first_of(" :")));
  }
  for (const Symptom& kind : symptoms()) EXPECT_TRUE(covered.contains(kind.code)) << kind.code;
}

TEST(Check, TheDocumentNamesEveryKindOfMistakeWithItsSeverity) {
  std::ifstream file(RANKWIRE_SOURCE "/docs/traces.md");
  std::set<std::string> documented, known;
  const std::regex row("^\\| `([a-z-]+)` \\| (error|warning|note) \\|.*");
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, match, row)) documented.insert(match[1].str() + " " + match[2].str());
  }
  for (const Symptom& kind : symptoms()) known.insert(std::string(kind.code) + " " + to_string(kind.severity));
  EXPECT_EQ(documented, known);
}

TEST(Check, Json) {
  const TraceSet set({{step(1, {1})}});
  std::vector<CheckedSet> sets;
  sets.push_back(check(set));
  const nlohmann::ordered_json json = to_json(sets);
  EXPECT_EQ(json["warnings"], 1);
  const auto& finding = json["sets"][0]["findings"][0];
  EXPECT_EQ(finding["code"], "self-dependency");
  EXPECT_EQ(finding["severity"], "warning");
  EXPECT_EQ(finding["rank"], 0);
  EXPECT_EQ(finding["nodes"], nlohmann::ordered_json({1}));
  EXPECT_EQ(finding["file"], set.file(0));
}

}  // namespace
}  // namespace rankwire
