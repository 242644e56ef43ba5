#include "emulator/traces/obfuscate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/traces/checked.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

/// A copy of a set in a folder of its own.
struct Obfuscated {
  TemporaryFolder folder;
  ObfuscatedSet made;

  explicit Obfuscated(const TraceSet& set, ObfuscateOptions options = {.key = "secret"}) {
    options.prefix = folder / "o";
    if (!options.mapping.empty()) options.mapping = folder / options.mapping;
    std::atomic<uint64_t> done = 0;
    made = obfuscate(find_trace_sets(set.options.traces, set.options.groups_file).front(), options, done);
  }
  RankFacts facts(uint32_t rank) const { return read_facts(folder / fmt::format("o.{}.et", rank), rank); }
  std::string bytes(const std::string& file) const {
    std::ifstream stream(folder / file, std::ios::binary);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
  }
  std::string all_bytes() const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(folder / ".")) all += bytes(entry.path().filename());
    return all;
  }
};

/// Two ranks with everything that might tell whose they are.
struct Telling : TraceSet {
  Telling() {
    for (const int rank : {0, 1}) {
      const Make setup = Make(chakra::METADATA_NODE, 900, "process_group:init of acme")
                             .values(R"([{"pg_name": "secretgroup", "ranks": [1, 0], "group_size": 2}])");
      chakra::Node gemm = compute(1000, "/home/alice/model.py: gemm").micros(1234).types("['Tensor(c10::BFloat16)']");
      gemm.mutable_inputs()->set_shapes("[[5120, 13824]]");
      gemm.set_start_time_micros(1'700'000'000'000'123);
      chakra::AttributeProto& comment = *gemm.add_attr();
      comment.set_name("vendorstring");
      comment.set_string_val("host17.acme.example");
      comment.set_doc_string("documentation of acme");
      const Make reduce = collective(5000, "gradients of layer7").after({1000}).size(123'456).group("secretgroup");
      const Make message = (rank == 0 ? send(5001, "activations", 1) : receive(5001, "activations", 0))
                               .after({5000})
                               .size(777)
                               .integer("comm_tag", 424'242)
                               .integer("tid", 31'337);
      add({setup, gemm, reduce, message});
    }
    groups(R"({"secretgroup": [1, 0]})");
  }
};

TEST(Obfuscate, LeavesNoOriginalTextInAnyByte) {
  const Obfuscated copy{Telling()};
  const std::string bytes = copy.all_bytes();
  for (const char* text :
       {"acme", "process_group", "secretgroup", "alice", "model", "gemm", "5120", "13824", "Float16", "vendorstring",
        "host17", "documentation", "gradients", "layer7", "activations", "31337", "424242"}) {
    EXPECT_THAT(bytes, Not(HasSubstr(text)));
  }
  EXPECT_THAT(copy.made.dropped, ElementsAre(Pair("vendorstring", 2)));
  EXPECT_FALSE(std::filesystem::exists(copy.folder / "mapping"));
}

TEST(Obfuscate, KeepsWhatRunsNeed) {
  const Obfuscated copy{Telling()};
  EXPECT_THAT(summaries(check({copy.folder / "o"})), IsEmpty());
  const RankFacts facts = copy.facts(0), other = copy.facts(1);
  ASSERT_EQ(facts.nodes.size(), 4U);
  // Ids by their order: 900, 1000, 5000, 5001.
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(facts.nodes[i].id, i);
  EXPECT_THAT(facts.data.of(2), ElementsAre(1));
  EXPECT_EQ(facts.nodes[1].duration, 1234U);
  EXPECT_EQ(facts.nodes[1].start, 1U);  // the first of the set
  EXPECT_EQ(facts.nodes[2].size, 123'456);
  EXPECT_EQ(facts.nodes[3].tag, 1);  // 0 is no tag, and the only other one
  EXPECT_EQ(facts.nodes[3].stream, 0);
  EXPECT_EQ(facts.nodes[2].name, other.nodes[2].name);
  EXPECT_THAT(facts.group_names, ElementsAre("10"));
  ASSERT_EQ(facts.groups.size(), 1U);
  EXPECT_THAT(facts.groups.front().ranks, ElementsAre(1, 0));
  EXPECT_EQ(facts.groups.front().size, 2);
  EXPECT_EQ(copy.bytes("o.json"), "{\"10\":[1,0]}\n");
}

TEST(Obfuscate, RepeatsWithAKeyAlone) {
  const Telling set;
  EXPECT_EQ(Obfuscated(set).all_bytes(), Obfuscated(set).all_bytes());
  EXPECT_NE(Obfuscated(set).all_bytes(), Obfuscated(set, {.key = "other"}).all_bytes());
  EXPECT_NE(Obfuscated(set, {}).all_bytes(), Obfuscated(set, {}).all_bytes());
}

TEST(Obfuscate, WritesTheMappingForItsOwner) {
  const Obfuscated copy(Telling(), {.key = "secret", .mapping = "map.json"});
  const nlohmann::json map = nlohmann::json::parse(copy.bytes("map.json"));
  EXPECT_EQ(map["names"][copy.facts(0).nodes[2].name], "gradients of layer7");
  EXPECT_EQ(map["groups"]["10"], "secretgroup");
  EXPECT_EQ(map["tags"]["1"], 424'242);
  EXPECT_EQ(std::filesystem::status(copy.folder / "map.json").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

// Who asked for the mapping has no use for copies without one.
TEST(Obfuscate, WritesNoCopyWhereTheMappingCannotBeMade) {
  const Telling set;
  const TemporaryFolder folder;
  std::ofstream(folder / "there") << "older";
  for (const char* mapping : {"there", "there/map.json"}) {
    const ObfuscateOptions options{.key = "secret", .prefix = folder / "o", .mapping = folder / mapping};
    std::atomic<uint64_t> done = 0;
    EXPECT_THROW(obfuscate(find_trace_sets(set.options.traces, set.options.groups_file).front(), options, done), Error);
  }
  for (const char* copy : {"o.0.et", "o.json"}) EXPECT_FALSE(std::filesystem::exists(folder / copy)) << copy;
  EXPECT_EQ(std::filesystem::file_size(folder / "there"), 5U);
}

TEST(Obfuscate, LeavesNoMappingOfCopiesThatCannotBeWritten) {
  const Telling set;
  const TemporaryFolder folder;
  std::ofstream(folder / "o.1.et") << "older";
  const ObfuscateOptions options{.key = "secret", .prefix = folder / "o", .mapping = folder / "map.json"};
  std::atomic<uint64_t> done = 0;
  EXPECT_THROW(obfuscate(find_trace_sets(set.options.traces, set.options.groups_file).front(), options, done), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "map.json"));
}

TEST(Obfuscate, CoarseTimesHaveNoStarts) {
  const Obfuscated copy(Telling(), {.key = "secret", .times = Coarseness::kRounded});
  EXPECT_EQ(copy.facts(0).nodes[1].duration, 1200U);
  EXPECT_EQ(copy.facts(0).nodes[1].start, 0U);
}

TEST(Obfuscate, AllowedAttributesComeAlong) {
  const Obfuscated copy(Telling(), {.key = "secret", .allowed = {"vendorstring"}});
  EXPECT_THAT(copy.bytes("o.0.et"), HasSubstr("host17.acme.example"));
  EXPECT_THAT(copy.made.dropped, IsEmpty());
}

TEST(Obfuscate, SplitsStayPartsOfTheirSizes) {
  const auto uneven = [](const std::string& splits, int64_t size) {
    return Nodes{collective(1, "tokens", CollectiveKind::kAllToAll).size(size).text("comm_splits", splits)};
  };
  const TraceSet set({uneven("[100, 2000]", 2100), uneven("[30000, 4]", 30004)});
  for (const Coarseness sizes : {Coarseness::kRounded, Coarseness::kBucketed, Coarseness::kShifted}) {
    EXPECT_THAT(summaries(check({Obfuscated(set, {.key = "secret", .sizes = sizes}).folder / "o"})), IsEmpty());
  }
}

/// A training step of four layers of this width: activations in each, then gradients and parameters.
Nodes step_of(int64_t width) {
  Nodes nodes;
  uint64_t id = 0;
  for (int layer = 0; layer < 4; ++layer) {
    nodes.push_back(compute(++id, "layer").micros(10));
    nodes.push_back(collective(++id, "activations").size(2048 * width * 2));
  }
  for (int layer = 0; layer < 4; ++layer) {
    nodes.push_back(collective(++id, "gradients", CollectiveKind::kReduceScatter).size(12 * width * width * 2));
    nodes.push_back(collective(++id, "parameters", CollectiveKind::kAllGather).size(3 * width * width));
  }
  return nodes;
}

using SizeHistogram = std::map<std::pair<int64_t, int64_t>, int>;  ///< by kind of collective and size

SizeHistogram size_histogram(const RankFacts& facts) {
  SizeHistogram histogram;
  for (const NodeFacts& node : facts.nodes) {
    if (node.kind == NodeKind::kCollective) ++histogram[{*node.collective, *node.size}];
  }
  return histogram;
}

int distance(const SizeHistogram& a, const SizeHistogram& b) {
  int sum = 0;
  for (const auto& [key, count] : a) sum += std::abs(count - (b.contains(key) ? b.at(key) : 0));
  for (const auto& [key, count] : b) sum += a.contains(key) ? 0 : count;
  return sum;
}

/// How many of 20 sets are linked back by the histogram of their sizes, when the attacker has the originals and does
/// with them what their owner did; of several that are nearest, one is guessed.
double linked(Coarseness sizes) {
  constexpr int kSets = 20;
  std::vector<SizeHistogram> shared, candidates;
  for (int i = 0; i < kSets; ++i) {
    const Nodes step = step_of(1024 + 256 * i);
    const TraceSet set({step, step});
    shared.push_back(size_histogram(Obfuscated(set, {.key = "owner", .sizes = sizes}).facts(0)));
    candidates.push_back(size_histogram(Obfuscated(set, {.key = "attacker", .sizes = sizes}).facts(0)));
  }
  double hits = 0;
  for (int i = 0; i < kSets; ++i) {
    std::vector<int> distances;
    for (const SizeHistogram& candidate : candidates) distances.push_back(distance(shared[i], candidate));
    const int nearest = *std::ranges::min_element(distances);
    if (distances[i] == nearest) hits += 1.0 / static_cast<double>(std::ranges::count(distances, nearest));
  }
  return hits;
}

TEST(Obfuscate, BucketedSizesAreLinkedByChanceAlone) {
  EXPECT_DOUBLE_EQ(linked(Coarseness::kKeep), 20);
  // Of 20 guesses among 20, one is right; more than three are in 1.6 % of all cases (binomial).
  EXPECT_LE(linked(Coarseness::kBucketed), 3);
}

TEST(CoarseAmounts, RoundsToTwoDigits) {
  const CoarseAmounts amounts(Coarseness::kRounded, 1);
  EXPECT_EQ(amounts.of(0, 0), 0);
  EXPECT_EQ(amounts.of(0, 99), 99);
  EXPECT_EQ(amounts.of(0, 12'345), 12'000);
  EXPECT_EQ(amounts.of(0, 12'512), 12'992);          // 32 divides it: of 13000, the nearest multiple
  EXPECT_EQ(amounts.of(0, 16'777'216), 16'999'936);  // 17 million, 256 x 66406
  EXPECT_EQ(coarse_duration(Coarseness::kRounded, 1'995), 2'000U);
  EXPECT_EQ(coarse_duration(Coarseness::kBucketed, 17), 64U);
}

TEST(CoarseAmounts, BucketsByQuarterOfTheClass) {
  CoarseAmounts amounts(Coarseness::kBucketed, 1);
  for (const int64_t size : {10, 20, 30, 40}) amounts.survey(0, size);
  amounts.survey(1, 30);
  amounts.settle();
  EXPECT_EQ(amounts.of(0, 10), 4 << 10);
  EXPECT_EQ(amounts.of(0, 20), 64 << 10);
  EXPECT_EQ(amounts.of(0, 30), 1 << 20);
  EXPECT_EQ(amounts.of(0, 40), 16 << 20);
  EXPECT_EQ(amounts.of(1, 30), 1 << 20);  // the middle of all is in the third quarter
}

TEST(CoarseAmounts, ShiftsByOneFactor) {
  const CoarseAmounts amounts(Coarseness::kShifted, 1.5);
  EXPECT_EQ(amounts.of(0, 1'000'000), 1'500'032);  // 1500000 is 23437.5 times 64, which divides the original
  EXPECT_EQ(amounts.of(0, 2'000'000), 3'000'064);  // 23437.5 times 128
}

TEST(Exposure, FindsPublicModelsByOddParts) {
  Exposure exposure;
  chakra::Node node;
  node.set_type(chakra::COMM_COLL_NODE);
  chakra::AttributeProto& size = *node.add_attr();
  size.set_name("comm_size");
  size.set_int64_val(50257 * 1600 * 2);  // GPT-2 XL's embedding; the odd part of 1600 is 25
  exposure.add(node);
  size.set_int64_val(4096);
  exposure.add(node);
  const std::vector<ModelMatch> matches = exposure.matches();
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches.front().model, "GPT-2 XL");
  EXPECT_EQ(matches.front().operations, 1U);
}

}  // namespace
}  // namespace rankwire
