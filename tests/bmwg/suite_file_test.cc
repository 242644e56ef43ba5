#include "emulator/bmwg/suite_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/kpis.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using rankwire::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

BmwgSuite read_text(const TemporaryFolder& folder, const std::string& text) {
  std::ofstream(folder / "suite.yaml") << text;
  return read_bmwg_suite(folder / "suite.yaml");
}

TEST(BmwgSuite, ReadsWhatALabWrites) {
  const TemporaryFolder folder;
  const BmwgSuite suite = read_text(folder, R"(
name: lab
base: ../lab.yaml
dut: {vendor: Acme, model: S9}
topology: two leaves below one spine
set: {transport.mtu: 1024B}
hooks: {link_down: "ssh sw1 'shutdown port 3'", counters: "./counters.sh"}
hook_patience: 3s
tests:
  - {select: 'T1.*', sizes: [64B, 1KiB], duration: 2s}
  - {select: T5.all_reduce, tolerance: 5%, set: {collectives.channels: 2}}
)");
  EXPECT_EQ(suite.name, "lab");
  EXPECT_EQ(suite.base, (folder.path().parent_path() / "lab.yaml").lexically_normal());
  EXPECT_EQ(suite.dut.at("model"), "S9");
  EXPECT_EQ(suite.topology.at("name"), "two leaves below one spine");
  EXPECT_THAT(suite.settings, ElementsAre("transport.mtu=1024B"));
  EXPECT_EQ(suite.hook_patience, std::chrono::seconds(3));
  ASSERT_EQ(suite.overrides.size(), 2u);
  EXPECT_THAT(suite.overrides[1].settings, ElementsAre("collectives.channels=2"));
}

TEST(BmwgSuite, TakesTheLongestMessagesAndWhatIsNone) {
  const TemporaryFolder folder;
  std::ofstream(folder / "b.yaml") << "workload: {generate: {layers: 1}}\nports: {count: 4}\n";
  const BmwgSuite suite = read_text(folder, R"(
name: x
base: b.yaml
tests:
  - {select: I.kv_transfer, sizes: 2147483647B}
  - {select: I.contention, size: 7B}
  - {select: T1.burst, size: 8GiB}
)");
  EXPECT_EQ(suite.overrides.size(), 3u);
}

TEST(BmwgSuite, SaysWhereSomethingIsWrong) {
  const TemporaryFolder folder;
  const std::string good = "name: x\nbase: b.yaml\n";
  std::ofstream(folder / "b.yaml") << "workload: {generate: {layers: 1}}\nports: {count: 4}\n";
  const std::pair<std::string, const char*> wrong[] = {
      {"base: b.yaml\n", "needs the key 'name'"},
      {"name: x\n", "needs the key 'base'"},
      {good + "nme: y\n", "suite.yaml:3: key 'nme' is unknown"},
      {"name: ../x\nbase: b\n", "suite.yaml:1: name: '../x' is not the name of a folder"},
      {"name: [x]\nbase: b\n", "suite.yaml:1: name: a text is expected"},
      {"name: x\nbase: {}\n", "suite.yaml:2: base: a text is expected"},
      {good + "dut: [Acme]\n", "suite.yaml:3: dut: a text or 'key: value' lines are expected"},
      {good + "host:\n", "suite.yaml:3: host: a text or 'key: value' lines are expected"},
      {good + "host: {cpu: x, rankwire: 9.9}\n", "suite.yaml:3: host.rankwire: is the version that measures"},
      {good + "dut: {model: [1]}\n", "model: a text is expected"},
      {good + "set: [a]\n", "set: 'key: value' lines are expected"},
      {good + "set: {ports.count: -4}\n", "suite.yaml:3: set: ports.count: '-4' is negative"},
      {good + "tests:\n  - {select: 'T1.*', set: {switch.nosuch: 1}}\n",
       "suite.yaml:4: set: key 'switch.nosuch' is unknown"},
      {good + "hooks: {link_dwn: x}\n", "suite.yaml:3: key 'hooks.link_dwn' is unknown; did you mean"},
      {good + "hooks: {link_down: \"ssh 'x\"}\n", "has no other end"},
      {good + "hooks: {link_down: \" \"}\n", "names no program"},
      {good + "hook_patience: 3\n", "hook_patience"},
      {good + "hook_patience: 1us\n", "1ms or more is expected"},
      {good + "tests: T1\n", "suite.yaml:3: tests: a list is expected"},
      {good + "tests:\n  - {sizes: [64B]}\n", "suite.yaml:4: an entry of tests needs the key 'select'"},
      {good + "tests:\n  - {select: T1.throughputs}\n", "did you mean 'T1.throughput'?"},
      {good + "tests:\n  - {select: 'T99.*'}\n", "no test is called 'T99.*'"},
      {good + "tests:\n  - {select: T1.throughput, size: 64B}\n", "key 'size' is unknown; did you mean 'sizes'"},
      {good + "tests:\n  - {select: T1.throughput, sizes: 64}\n", "suite.yaml:4: sizes:"},
      {good + "tests:\n  - {select: T1.throughput, sizes: []}\n", "sizes: one value at least is expected"},
      {good + "tests:\n  - {select: T1.throughput, sizes: [0B]}\n", "a size is above 0"},
      {good + "tests:\n  - {select: T1.throughput, sizes: {a: 1}}\n", "sizes: a value is expected"},
      {good + "tests:\n  - {select: T1.throughput, queue_pairs: 0}\n", "0 is not 1 .. 256"},
      // What `transport.queue_pairs` takes.
      {good + "tests:\n  - {select: T1.throughput, queue_pairs: 257}\n",
       "suite.yaml:4: queue_pairs: 257 is not 1 .. 256"},
      // What `background[].size` takes.
      {good + "tests:\n  - {select: T1.throughput, sizes: [1MiB, 2147483648B]}\n",
       "suite.yaml:4: sizes: 2GiB of T1.throughput is more than a message may have, 2147483647 B"},
      {good + "tests:\n  - {select: I.bursts, size: 4GiB}\n", "suite.yaml:4: size: 4GiB of I.bursts is more than"},
      // One is of dispatches, whose elements are floats, the other of transfers.
      {good + "tests:\n  - {select: I.contention, sizes: 7B}\n",
       "suite.yaml:4: sizes: 7 B of I.contention is not a whole number of elements of 4 B (float)"},
      {good + "tests:\n  - {select: I.contention, size: 8GiB}\n", "size: 8GiB of I.contention is more than"},
      {good + "tests:\n  - {select: T1.throughput, duration: [1s, 2s]}\n", "duration: one value is expected"},
      {good + "tests:\n  - {select: T1.throughput, duration: 0s}\n", "a duration is above 0"},
      {good + "tests:\n  - {select: T1.throughput, resolution: 2}\n", "resolution:"},
      {good + "tests:\n  - {select: T1.throughput, ratios: 2}\n", "key 'ratios' is unknown"},
      {good + "tests:\n  - {select: T1.throughput, set: x}\n", "set: 'key: value' lines are expected"},
  };
  for (const auto& [text, error] : wrong)
    EXPECT_THAT([&] { read_text(folder, text); }, ThrowsMessage<Error>(HasSubstr(error))) << text;
  EXPECT_THROW(read_bmwg_suite(folder / "absent.yaml"), Error);
}

TEST(BmwgCatalogue, HasUniqueIdsAndParametersThatItKnows) {
  std::vector<std::string> ids;
  for (const BmwgTest& test : bmwg_catalogue()) {
    EXPECT_THAT(ids, ::testing::Not(::testing::Contains(test.id)));
    ids.emplace_back(test.id);
    EXPECT_STRNE(test.source, "") << test.id;
    for (const bool quick : {false, true}) {
      BmwgParameters parameters(test.parameters, quick);
      // What is declared can be written in a suite: defaults are values of their kind.
      for (const ParameterDefault& parameter : test.parameters) {
        const std::string list = quick ? parameter.quick : parameter.draft;
        if (list.empty()) continue;
        const bool is_list = list.find(',') != std::string::npos;
        const Tree tree = read_yaml_text(is_list ? "[" + list + "]" : list, {});
        EXPECT_NO_THROW(EXPECT_TRUE(parameters.set(parameter.name, tree))) << test.id << " " << parameter.name;
      }
    }
  }
  EXPECT_GE(ids.size(), 20u);
}

TEST(BmwgKpis, AreMeasuredByTestsThatThereAre) {
  const auto tests = bmwg_catalogue();
  for (const BmwgKpi& kpi : bmwg_kpis()) {
    EXPECT_STRNE(kpi.tests, "") << kpi.name;
    if (*kpi.measured == 0) continue;
    EXPECT_TRUE(std::ranges::any_of(tests, [&](const BmwgTest& test) {
      return std::ranges::count(kpis_of(test.id), &kpi) == 1;
    })) << kpi.name;
  }
  EXPECT_TRUE(kpis_of("T9.unheard_of").empty());
}

TEST(BmwgParameters, AreReadAsTheirKind) {
  const ParameterDefault defaults[] = {
      {"sizes", "64B,1KiB", "4KiB"}, {"duration", "60s", "50ms"}, {"load", "50%", "20%"}, {"tolerance", "", ""}};
  const BmwgParameters draft(defaults, false), quick(defaults, true);
  EXPECT_THAT(draft.sizes("sizes"), ElementsAre(Bytes(64), Bytes(1024)));
  EXPECT_EQ(quick.duration("duration"), Duration(50'000'000'000));
  EXPECT_DOUBLE_EQ(draft.share("load"), 0.5);
  EXPECT_FALSE(draft.has("tolerance"));
  EXPECT_EQ(quick.text(), "duration=50ms; load=20%; sizes=4KiB");
  EXPECT_THROW(draft.count("ratios"), Error);
}

}  // namespace
}  // namespace rankwire
