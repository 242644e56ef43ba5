#include "emulator/traces/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/traces/inspect_page.h"
#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Inspect, SizeClassesArePowersOfFour) {
  for (const auto& [size, low] : {std::pair{0, 0}, {1, 1}, {3, 1}, {4, 4}, {15, 4}, {16, 16}, {1 << 20, 1 << 20}}) {
    EXPECT_EQ(size_class(Bytes(size)), low) << size;
  }
}

// Rank 0 has 4096 + 100 bytes, rank 1 4096: the mean is 4146, times 2 for elements of two bytes.
TEST(Inspect, CountsAndBytes) {
  const TraceSet set({{step(1), all_reduce(2, {1}), send(3, "out", 1).size(100)},
                      {step(1), all_reduce(2, {1}), receive(3, "in", 0).size(100)}});
  const CheckedSet checked = check(set);
  const Inspection inspection = inspect(checked.set, checked.matches, {.element_size = Bytes(2)});
  const nlohmann::ordered_json json = to_json(inspection);
  using Json = nlohmann::ordered_json;
  EXPECT_EQ(json["kinds"], Json::parse(R"({"all_reduce": {"nodes": 2, "bytes": 16384},
      "compute": {"nodes": 2, "bytes": 0}, "receive": {"nodes": 1, "bytes": 200}, "send": {"nodes": 1, "bytes": 200}})"));
  EXPECT_EQ(json["groups"], Json::parse(R"([{"group": "all", "kind": "all_reduce", "nodes": 2, "bytes": 16384}])"));
  EXPECT_EQ(json["sizes"][0], Json::parse(R"({"kind": "all_reduce", "from_bytes": 4096, "nodes": 2, "bytes": 16384})"));
  EXPECT_EQ(json["ranks"][0]["sent_bytes"], 200);
  EXPECT_EQ(json["ranks"][1]["received_bytes"], 200);
  EXPECT_EQ(json["dependencies"], 2);
  EXPECT_DOUBLE_EQ(inspection.imbalance, 4196.0 / 4146.0);
  EXPECT_EQ(json["critical_path"]["nodes"][0]["name"], "gemm");
}

chakra::Node with_tensors(chakra::Node message, const char* list, std::vector<std::string> values) {
  chakra::AttributeProto& attribute = *message.add_attr();
  attribute.set_name(list);
  for (std::string& value : values) *attribute.mutable_string_list()->add_values() = std::move(value);
  return message;
}

// A weight of 100 bytes lives from the start to 20 us, "a" of 50 bytes from 0 to 20 us and "b" of 30 from 10 us to the
// end.
TEST(Inspect, MemoryOfNamedTensors) {
  const Nodes nodes = {
      with_tensors(with_tensors(step(1), "inputs", {"weight", "100.0"}), "outputs", {"a", "50.0"}),
      with_tensors(with_tensors(step(2, {1}), "inputs", {"a", "50.0", "weight", "100.0"}), "outputs", {"b", "30.0"}),
      step(3, {2})};
  const TraceSet set({nodes});
  const CheckedSet checked = check(set);
  const Inspection inspection = inspect(checked.set, checked.matches, {});
  const std::optional<MemoryUse>& memory = inspection.ranks[0].memory;
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->tensors, 3u);
  EXPECT_EQ(memory->peak, Bytes(180));
  EXPECT_EQ(inspection.ranks[0].peak_node, 2u);
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (const MemoryUse::Step& step : memory->steps) steps.emplace_back(step.time.ps / 1'000'000, step.bytes.count);
  EXPECT_EQ(steps, (std::vector<std::pair<int64_t, int64_t>>{{0, 150}, {10, 180}, {20, 30}, {30, 0}}));
  EXPECT_THAT(memory_svg(inspection), HasSubstr("<polyline"));
}

// Two views of storage 8: bytes 0 to 40 and 40 to 80.
TEST(Inspect, MemoryOfPyTorchStorages) {
  const TraceSet set(
      {{step(1).values("[[7, 8, 0, 10, 4, 'cuda:0']]"), step(2, {1}).values("[[9, 8, 10, 10, 4, 'cuda:0'], 3]")}});
  const CheckedSet checked = check(set);
  const Inspection inspection = inspect(checked.set, checked.matches, {});
  ASSERT_TRUE(inspection.ranks[0].memory);
  EXPECT_EQ(inspection.ranks[0].memory->tensors, 1u);
  EXPECT_EQ(inspection.ranks[0].memory->peak, Bytes(80));
}

TEST(Inspect, PicturesAreEmptyWithoutWhatTheyShow) {
  const TraceSet set({{step(1)}});
  const CheckedSet checked = check(set);
  const Inspection inspection = inspect(checked.set, checked.matches, {});
  EXPECT_THAT(traffic_svg(inspection), IsEmpty());
  EXPECT_THAT(memory_svg(inspection), IsEmpty());
}

TEST(Inspect, APictureHasABarForEachRankAndQuantity) {
  const TraceSet set(
      {{all_reduce(1, {}), send(2, "out", 1).size(10)}, {all_reduce(1, {}), receive(2, "in", 0).size(10)}});
  const CheckedSet checked = check(set);
  const std::string svg = traffic_svg(inspect(checked.set, checked.matches, {}));
  const auto count = [&](const std::string& part) {
    size_t found = 0;
    for (size_t at = svg.find(part); at != svg.npos; at = svg.find(part, at + 1)) ++found;
    return found;
  };
  // One of each class is the key.
  EXPECT_EQ(count("class=\"communication\""), 3u);
  EXPECT_EQ(count("class=\"compute\""), 2u);
  EXPECT_EQ(count("class=\"other\""), 2u);
}

/// What a set is said to have when its ranks are looked at one by one.
Inspection by_rank(const TraceSet& set) {
  const std::vector<TraceFileSet> files = find_trace_sets(set.options.traces, set.options.groups_file);
  std::atomic<uint64_t> done = 0;
  Inspection inspection = inspect_by_rank(files.at(0), {}, {}, done);
  EXPECT_EQ(done, files[0].files.size());
  return inspection;
}

// Profilers count from 1970, in microseconds that are more picoseconds than 64 bits hold. Rank 1 begins 3 us later.
TEST(Inspect, RankByRankIsTheSameWhereTimesAreRecorded) {
  constexpr uint64_t kNow = 1'700'000'000'000'000;
  const auto rank = [](uint64_t late) {
    return Nodes{recorded(on_host(1), kNow + late, 2), recorded(kernel(2, {1}), kNow + 4 + late, 10),
                 recorded(all_reduce(3, {2}).integer("stream", 8), kNow + 14 + late, 20 - late),
                 recorded(kernel(4, {3}), kNow + 40, 5 + late)};
  };
  const TraceSet set({rank(0), rank(3)});
  const CheckedSet checked = check(set);
  nlohmann::ordered_json whole = to_json(inspect(checked.set, checked.matches, {}));
  nlohmann::ordered_json parts = to_json(by_rank(set));
  EXPECT_EQ(whole["times"], "recorded");
  EXPECT_EQ(whole["end_ps"], microseconds(48).ps);
  EXPECT_EQ(whole["ranks"][1]["lateness"]["held_up_ps"], microseconds(3).ps);
  EXPECT_EQ(whole["critical_path"]["nodes"].size(), 4u);
  EXPECT_EQ(parts["by_rank"], true);
  for (const char* key : {"by_rank", "critical_path", "remarks"}) whole.erase(key), parts.erase(key);
  EXPECT_EQ(whole.dump(1), parts.dump(1));
}

// Rank 0 has worked 1 ms longer than rank 1 when they meet, to which rank 1 comes 3 us late. Its clock is right.
TEST(Inspect, RankByRankClocksAreThoseOfTheProfilers) {
  constexpr uint64_t kNow = 1'700'000'000'000'000;
  const auto rank = [](uint64_t before, uint64_t late) {
    return Nodes{recorded(on_host(1), kNow - before, 2), recorded(kernel(2, {1}), kNow + 4, 10),
                 recorded(all_reduce(3, {2}).integer("stream", 8), kNow + 14 + late, 20 - late),
                 recorded(all_reduce(4, {3}).integer("stream", 8), kNow + 40, 9)};
  };
  const TraceSet set({rank(1000, 0), rank(0, 3)});
  const CheckedSet checked = check(set);
  const nlohmann::ordered_json whole = to_json(inspect(checked.set, checked.matches, {}));
  const nlohmann::ordered_json parts = to_json(by_rank(set));
  EXPECT_EQ(parts["stragglers"], whole["stragglers"]);
  EXPECT_EQ(parts["stragglers"]["collectives"], 2);
  EXPECT_EQ(parts["stragglers"]["clocks_set"], false);
  EXPECT_EQ(parts["ranks"][1]["lateness"]["held_up_ps"], microseconds(3).ps);
}

// Of a schedule of its own, rank 0 does not wait for rank 1.
TEST(Inspect, RankByRankNobodyWaitsInASchedule) {
  const Inspection inspection =
      by_rank(TraceSet({{step(1), all_reduce(2, {1})}, {step(1).micros(25), all_reduce(2, {1})}}));
  EXPECT_FALSE(inspection.timing.recorded);
  EXPECT_EQ(inspection.ranks[0].times->idle.sum(), Duration());
  EXPECT_EQ(inspection.stragglers.collectives, 0u);
  EXPECT_EQ(inspection.kinds.at("all_reduce").nodes, 2u);
  EXPECT_THAT(remarks(inspection), ::testing::Contains(HasSubstr("as if no other kept it waiting")));
}

// Ranks 0 and 1 have 1000 and 3000 bytes: the mean is 2000.
TEST(Inspect, ASentenceNamesWhereSizesDiffer) {
  const auto rank = [](int64_t size) {
    return Nodes{collective(1, "dispatch", CollectiveKind::kAllToAll).size(size), all_reduce(2, {1})};
  };
  const TraceSet set({rank(1000), rank(3000)});
  const CheckedSet checked = check(set);
  const Inspection inspection = inspect(checked.set, checked.matches, {});
  EXPECT_THAT(remarks(inspection)[0], HasSubstr("sizes differ most in all_to_all of group all (2 ranks): rank 1 has "
                                                "2.93 KiB, 1.500 times the mean of 2 ranks"));
}

TEST(Inspect, ThePageEscapesNames) {
  const TraceSet set({{compute(1, "<script>").micros(1), all_reduce(2, {1})}});
  const CheckedSet checked = check(set);
  const std::string page = inspection_html(inspect(checked.set, checked.matches, {}), std::nullopt);
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("<td><script>")));
  EXPECT_THAT(page, HasSubstr("nothing is known of memory"));
}

}  // namespace
}  // namespace rankwire
