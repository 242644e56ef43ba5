#include "emulator/traces/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace rankwire
