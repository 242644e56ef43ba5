#include "emulator/traces/synthesize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/random.h"
#include "emulator/traces/likeness.h"
#include "emulator/traces/trace_learning.h"
#include "tests/traces/checked.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

/// Two pipeline stages of `replicas` data-parallel ranks each: rank = stage + 2 replica. In each of two iterations five
/// layers of a computation and a message to the next stage, then the gradients, and the parameters, of which each
/// replica has a share. Durations are those of `seed`, by a fifth up or down.
struct TrainingSet : TraceSet {
  explicit TrainingSet(uint32_t replicas, uint64_t seed = 0) {
    std::string groups_json;
    for (const uint32_t stage : {0U, 1U}) {
      std::string members;
      for (uint32_t replica = 0; replica < replicas; ++replica)
        members += fmt::format("{}{}", replica == 0 ? "" : ", ", stage + 2 * replica);
      groups_json += fmt::format("{}\"dp_{}\": [{}]", stage == 0 ? "" : ", ", stage, members);
    }
    for (uint32_t rank = 0; rank < 2 * replicas; ++rank) add(nodes_of(rank, replicas, seed));
    groups("{" + groups_json + "}");
  }

 private:
  static Nodes nodes_of(uint32_t rank, uint32_t replicas, uint64_t seed) {
    Random random(seed * 1000 + rank);
    const auto micros = [&](uint64_t mean) { return seed == 0 ? mean : mean * (80 + random.below(41)) / 100; };
    const bool first = rank % 2 == 0;
    const std::string group = fmt::format("dp_{}", rank % 2);
    Nodes nodes;
    uint64_t id = 100;
    const auto add = [&](Make node) {
      if (id > 100) node.after({id - 1});
      nodes.push_back(node);
      ++id;
    };
    for (int iteration = 0; iteration < 2; ++iteration) {
      for (int layer = 0; layer < 5; ++layer) {
        add(compute(id, fmt::format("layer{}", layer)).micros(micros(1000)));
        add((first ? send(id, "out", rank + 1) : receive(id, "in", rank - 1)).size(1 << 20));
      }
      add(collective(id, "gradients", CollectiveKind::kReduceScatter).size(1 << 24).group(group));
      add(collective(id, "parameters", CollectiveKind::kAllGather).size((1 << 24) / replicas).group(group));
    }
    return nodes;
  }
};

TraceModel learned(std::initializer_list<const TraceSet*> sets) {
  TraceLearner learner;
  for (const TraceSet* set : sets) {
    const CheckedSet checked = check(*set);
    learner.add(checked.set, checked.matches);
  }
  return learner.model();
}

struct Synthesized {
  TemporaryFolder folder;
  SynthesizedSet made;

  explicit Synthesized(const TraceModel& model, SynthesisOptions options = {}) {
    options.prefix = folder / "s";
    made = synthesize(model.families.front(), options);
  }
  CheckedSet checked() const { return check({folder / "s"}); }
  Likeness likeness_to(const TraceSet& set) const {
    const CheckedSet made_set = checked(), held = check(set);
    return likeness(made_set.set, inspect(made_set.set, made_set.matches, {}), held.set,
                    inspect(held.set, held.matches, {}));
  }
};

TEST(TraceSteps, FoldsBlocksOfBlocks) {
  // (0 1 1 1)x2 2, three times.
  std::vector<uint32_t> row;
  for (int i = 0; i < 3; ++i) row.insert(row.end(), {0, 1, 1, 1, 0, 1, 1, 1, 2});
  const std::vector<ModelStep> steps = folded(row);
  EXPECT_EQ(unfolded(steps), row);
  EXPECT_EQ(step_nodes(steps), 27U);
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_EQ(steps.front().repeat, 3U);
  ASSERT_THAT(steps.front().parts, SizeIs(2));
  EXPECT_EQ(steps.front().parts.front().repeat, 2U);
  EXPECT_EQ(written_steps(steps), 6U);  // x3, x2, 0, x3, 1, 2
}

TEST(TraceSteps, KnowsWhereOperationsStandFirstAndLast) {
  // 3, then (0 1 1)x4, then 0: 0 at 1, 4, 7, 10 and 13, 1 last at 12.
  const std::vector<ModelStep> steps = folded({3, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0});
  const StepPlaces places = places_of(steps, 4);
  EXPECT_THAT(places.first, ElementsAre(1, 2, -1, 0));
  EXPECT_THAT(places.last, ElementsAre(13, 12, -1, 0));
}

TEST(TraceSteps, LeavesWhatDoesNotRepeat) {
  const std::vector<uint32_t> row = {3, 1, 4, 0, 5, 9, 2, 6};
  EXPECT_EQ(unfolded(folded(row)), row);
  EXPECT_EQ(written_steps(folded(row)), 8U);
}

TEST(Synthesize, MakesWhatItHasLearned) {
  const TrainingSet set(2);
  const Synthesized made(learned({&set}));
  EXPECT_EQ(made.made.ranks, 4U);
  EXPECT_THAT(summaries(made.checked()), IsEmpty());
  const Likeness like = made.likeness_to(set);
  for (const double distance :
       {like.counts, like.bytes, like.sizes, like.durations, like.overlap, like.critical, like.end})
    EXPECT_DOUBLE_EQ(distance, 0);
  // Dependencies too: the eleventh node is behind the tenth.
  EXPECT_THAT(made.checked().set.ranks[1].data.of(11), ElementsAre(10));
}

TEST(Synthesize, PredictsASetThatItHasNotSeen) {
  const TrainingSet first(8, 1), second(8, 2), held(8, 3);
  const TraceModel model = learned({&first, &second});
  ASSERT_THAT(model.families, SizeIs(1));
  EXPECT_EQ(model.families.front().sets, 2U);
  const Likeness like = Synthesized(model).likeness_to(held);
  EXPECT_DOUBLE_EQ(like.counts, 0);
  EXPECT_DOUBLE_EQ(like.bytes, 0);
  // 160 durations each, of 41 values: two samples of one distribution are further apart than 1.36 (2 / 160)^0.5 = 0.152
  // in a twentieth of all cases (Smirnov).
  EXPECT_LT(like.durations, 0.152);
  EXPECT_LT(like.overlap, 0.03);
  EXPECT_LT(like.critical, 0.03);
  EXPECT_LT(like.end, 0.05);
}

TEST(Synthesize, MakesMoreAndFewerRanks) {
  const TrainingSet four(2), eight(4), sixteen(8);
  const TraceModel model = learned({&eight});
  for (const TrainingSet* expected : {&four, &sixteen}) {
    const Synthesized made(model, {.ranks = static_cast<uint32_t>(check(*expected).set.ranks.size())});
    EXPECT_THAT(summaries(made.checked()), IsEmpty());
    const Likeness like = made.likeness_to(*expected);
    EXPECT_DOUBLE_EQ(like.counts, 0);
    EXPECT_DOUBLE_EQ(like.bytes, 0);
    EXPECT_DOUBLE_EQ(like.end, 0);
  }
}

TEST(Synthesize, GrowsReplicasAndNotThePipeline) {
  ModelFamily family{.ranks = 4};
  family.roles = {{.members = {{0, 2}, {1, 3}}}, {.members = {{0, 1}, {2, 3}}}};
  family.programs = {{.ranks = {0, 1}}, {.ranks = {2, 3}}};
  EXPECT_EQ(widest_role(family), 1U);
  family.programs = {{.ranks = {0, 1, 2, 3}}};
  EXPECT_EQ(widest_role(family), 0U);
}

TEST(Synthesize, RefusesOtherNumbersOfRanks) {
  const TrainingSet set(2);
  const TraceModel model = learned({&set});
  EXPECT_THAT([&] { Synthesized(model, {.ranks = 6}); }, ThrowsMessage<Error>(HasSubstr("a multiple or a whole part")));
  EXPECT_THAT([&] { Synthesized(model, {.ranks = 1}); }, ThrowsMessage<Error>(HasSubstr("not a multiple of 4")));
}

TEST(Synthesize, RefusesARoleThatIsNotThereAlsoWhereNothingGrows) {
  const TrainingSet set(2);
  const TraceModel model = learned({&set});
  EXPECT_THAT([&] { Synthesized(model, {.role = 99}); }, ThrowsMessage<Error>(HasSubstr("--role 99: the model has")));
}

// A byte of zero is a frame of no bytes, which is a node without id and type.
TEST(Synthesize, RefusesAFileOfZeros) {
  const Nodes sums = {collective(1, "sum").size(64)};
  const TraceSet set({sums, sums});
  std::ofstream(set.file(1), std::ios::binary) << std::string(4096, '\0');
  EXPECT_THAT([&] { learned({&set}); }, ThrowsMessage<Error>(HasSubstr(set.file(1) + ": node 0 \"\" has no type")));
}

TEST(Synthesize, KeepsMessagesApartThatCross) {
  // What is sent first is taken last.
  const TraceSet set(
      {{send(1, "a", 1).size(10).integer("comm_tag", 1), send(2, "b", 1).size(20).integer("comm_tag", 2)},
       {receive(1, "b", 0).size(20).integer("comm_tag", 2), receive(2, "a", 0).size(10).integer("comm_tag", 1)}});
  EXPECT_THAT(summaries(Synthesized(learned({&set})).checked()), IsEmpty());
}

TEST(Synthesize, TellsGroupsOfOneFormApart) {
  // Rank 1 is in both, and both are neighbours.
  const auto reduce = [](uint64_t id, const char* group, int64_t size) {
    return collective(id, "r").size(size).group(group);
  };
  TraceSet set({{reduce(1, "p0", 8)}, {reduce(1, "p0", 8), reduce(2, "p1", 16)}, {reduce(1, "p1", 16)}});
  set.groups(R"({"p0": [0, 1], "p1": [1, 2]})");
  const Synthesized made(learned({&set}));
  EXPECT_THAT(summaries(made.checked()), IsEmpty());
  EXPECT_EQ(made.made.groups, 2U);
}

TEST(Synthesize, SetsOfOtherStructuresAreOtherFamilies) {
  const TrainingSet two(2), four(4), more(4, 9);
  const TraceModel model = learned({&two, &four, &more});
  ASSERT_THAT(model.families, SizeIs(2));
  EXPECT_EQ(model.families.front().ranks, 8U);  // of two sets
}

TEST(Synthesize, SaysWhatItCannotLearn) {
  const TraceSet uneven({{collective(1, "a", CollectiveKind::kAllToAll).size(3).text("comm_splits", "[3]")}});
  EXPECT_THAT([&] { learned({&uneven}); }, ThrowsMessage<Error>(HasSubstr("comm_splits")));
  const TraceSet alone({{send(1, "out", 1).size(64)}, {compute(1, "gemm")}});
  EXPECT_THAT([&] { learned({&alone}); }, ThrowsMessage<Error>(HasSubstr("has no counterpart")));
  EXPECT_THAT([] { learned({}); }, ThrowsMessage<Error>(HasSubstr("no set")));
}

struct TraceModelFile : ::testing::Test {
  TemporaryFolder folder;
  std::string path = folder / "model.json";

  std::string text() const {
    std::stringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  /// What reading says when `from` has been changed to `to`.
  std::string problem(const std::string& from, const std::string& to) const {
    std::string changed = text();
    const size_t at = changed.find(from);
    if (at == changed.npos) return "not found";
    std::ofstream(folder / "changed.json") << changed.replace(at, from.size(), to);
    try {
      read_model(folder / "changed.json");
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
};

// Whoever edits a model by hand learns which line no longer is JSON.
TEST_F(TraceModelFile, NamesTheLineThatIsNoJson) {
  const auto refuse = [&](const std::string& json, const std::string& error) {
    std::ofstream(path) << json;
    EXPECT_THAT([&] { read_model(path); }, ThrowsMessage<Error>(::testing::StartsWith(path + error))) << json;
  };
  refuse("", ":1: is no model of traces: it ends too early, being empty");
  refuse("{\"rankwire_trace_model\": 1,\n\"families\": [\n{\"ranks\": 8,",
         ":3: is no model of traces: it ends too early");
  refuse("{\"rankwire_trace_model\": 1,\n\"families\": NaN}", ":2: is no model of traces: syntax error");
  refuse("{\"rankwire_trace_model\": 1e999}", ": is no model of traces: number overflow");
}

TEST_F(TraceModelFile, ReadsAsItWasWritten) {
  const TrainingSet set(2, 5);
  const TraceModel model = learned({&set});
  write_model(model, path);
  const TraceModel read = read_model(path);
  ASSERT_THAT(read.families, SizeIs(1));
  EXPECT_EQ(read.families.front().operations, model.families.front().operations);
  const Synthesized a(model), b(read);
  for (const char* file : {"s.0.et", "s.3.et", "s.json"}) {
    std::stringstream of_a, of_b;
    of_a << std::ifstream(a.folder / file).rdbuf();
    of_b << std::ifstream(b.folder / file).rdbuf();
    EXPECT_EQ(of_a.str(), of_b.str()) << file;
  }
}

TEST_F(TraceModelFile, SaysWhatIsWrong) {
  const TrainingSet set(2);
  write_model(learned({&set}), path);
  EXPECT_THAT(problem("COMP_NODE", "COOK_NODE"), HasSubstr("families[0].operations[0]: \"type\" is no type"));
  EXPECT_THAT(problem("\"ranks\": 4", "\"ranks\": 0"), HasSubstr("\"ranks\" are 1 to"));
  EXPECT_THAT(problem("\"ranks\":[0,2]", "\"ranks\":[0,9]"), HasSubstr("rank 9 is none of the 4 ranks"));
  EXPECT_THAT(problem("\"ranks\":[0,2]", "\"ranks\":[0]"), HasSubstr("rank 2 has no program"));
  for (const char* repeat : {"0", "-1", "1.5"})
    EXPECT_THAT(problem("\"repeat\":4", fmt::format("\"repeat\":{}", repeat)),
                HasSubstr(fmt::format("\"repeat\" is {}, must be", repeat)));
  EXPECT_THAT(problem("\"role\":0", "\"role\":7"), HasSubstr("\"role\" is none of the roles"));
  EXPECT_THAT(problem("\"programs\": [", R"("programs": [{"ranks":[],"steps":[0]},)"), HasSubstr("\"ranks\" is empty"));
  EXPECT_THAT(problem("\"programs\": [", R"("programs": [{"ranks":[0],"steps":[]},)"), HasSubstr("\"steps\" is empty"));
  EXPECT_THAT(problem("\"roles\": [", R"("roles": [{"named":true,"members":[[]]},)"), HasSubstr("without ranks"));
  EXPECT_THAT(problem("\"collective\":", "\"collective\":1"), HasSubstr("needs a \"collective\""));
  EXPECT_THAT(problem("COMP_NODE", "COMM_SEND_NODE"), HasSubstr("a message needs a \"peer\""));
  EXPECT_THAT(problem("{\"rankwire", "rankwire"), HasSubstr("changed.json"));
}

TEST_F(TraceModelFile, SaysWhatTracesCannotHaveAndWhere) {
  const TrainingSet set(2);
  write_model(learned({&set}), path);
  EXPECT_THAT(problem("\"size\":16777216,", ""), HasSubstr("]: a collective needs a \"size\""));
  EXPECT_THAT(problem("\"peer\":1", "\"peer\":0"), HasSubstr("operations[1]: \"peer\" is 0, which is the rank itself"));
  EXPECT_THAT(problem("\"peer\":1", "\"peer\":1,\"ahead\":1"), HasSubstr("operations[1]: \"ahead\" is of a RECV"));
  EXPECT_THAT(problem("\"sets\"", "\"seets\""),
              HasSubstr("families[0]: key \"seets\" is unknown; the keys here are ranks"));
  EXPECT_THAT(problem("\"after\"", "\"befor\""), HasSubstr("operations[0]: key \"befor\" is unknown"));
  const std::string members = "\"named\":true,\"members\":[[0,2],[1,3]]", role = "families[0].roles[0]: ";
  EXPECT_THAT(problem(members, "\"named\":true,\"members\":[[0,2],[1,2]]"),
              HasSubstr(role + "\"members\" has rank 2 twice"));
  EXPECT_THAT(problem(members, "\"named\":true,\"members\":[[0,2],[1]]"),
              HasSubstr(role + "\"members\" has groups of 2 and of 1"));
  EXPECT_THAT(problem(members, "\"named\":false,\"members\":[[0,2],[1,3]]"), HasSubstr(role + "\"named\" is false"));
  std::string micros = "1";
  for (int value = 2; value <= 22; ++value) micros += fmt::format(",{}", value);
  EXPECT_THAT(problem("\"micros\":[1000.0]", "\"micros\":[" + micros + "]"),
              HasSubstr("\"micros\" has 22 values, the most is 21"));
  EXPECT_THAT(problem("\"steps\":[", "\"steps\":[99,"), HasSubstr("programs[0].steps[0]: is none of"));
  EXPECT_THAT(problem("\"of\":[", "\"of\":[99,"), ContainsRegex("programs.0..steps.[0-9]+..of.0.: is none of"));
  EXPECT_THAT(problem("\"repeat\":4", "\"repeat\":1099511627776"),
              HasSubstr("\"repeat\" is 1099511627776, must be a whole number from 0 to 4294967295"));
}

// The first operation is that of the first step alone, so no step stands before it.
TEST_F(TraceModelFile, SaysWhichAmountsAndDependenciesCannotBe) {
  const TrainingSet set(2);
  write_model(learned({&set}), path);
  const std::string first = "changed.json: families[0].operations[0]: ";
  for (const char* micros : {"[2.0,1.0]", "[-1.0]"})
    EXPECT_THAT(problem("\"micros\":[1000.0]", fmt::format("\"micros\":{}", micros)), HasSubstr(first + "\"micros\" "));
  for (const char* after : {"0", "1", "-1000"})
    EXPECT_THAT(problem("\"after\":[]", fmt::format("\"after\":[{}]", after)),
                HasSubstr(fmt::format("{}\"after\" has {}, ", first, after)));
  EXPECT_EQ(problem("\"after\":[]", "\"after\":[-1]"), "");  // a step behind it
  // Which depends on the first: the two wait for each other, and nothing is made of them.
  const TemporaryFolder made;
  EXPECT_THAT([&] { synthesize(read_model(folder / "changed.json").families.front(), {.prefix = made / "s"}); },
              ThrowsMessage<Error>(HasSubstr("waits for itself in the program of rank 0")));
  EXPECT_TRUE(std::filesystem::is_empty(made.path()));
  for (const char* size : {"-1", "1125899906842625"})
    EXPECT_THAT(problem("\"size\":1048576", fmt::format("\"size\":{}", size)),
                HasSubstr(fmt::format("\"size\" is {}, must be 0 to 1125899906842624", size)));
}

TEST(Likeness, KsDistanceIsThatOfTheShares) {
  EXPECT_DOUBLE_EQ(ks_distance({1, 2, 3, 4}, {4, 3, 2, 1}), 0);
  EXPECT_DOUBLE_EQ(ks_distance({1, 2}, {3, 4}), 1);
  EXPECT_DOUBLE_EQ(ks_distance({1, 2, 3, 4}, {3, 3, 4, 4}), 0.5);  // at 2: 1/2 and 0
  EXPECT_DOUBLE_EQ(ks_distance({}, {1}), 1);
}

TEST(Likeness, QuantilesAreFewAndKeepTheEnds) {
  EXPECT_THAT(quantiles({}), IsEmpty());
  EXPECT_THAT(quantiles({7, 7, 7}), ElementsAre(7));
  EXPECT_THAT(quantiles({3, 1, 2}), ElementsAre(1, 2, 3));
  std::vector<double> many;
  for (int i = 0; i <= 200; ++i) many.push_back(i);
  EXPECT_THAT(quantiles(many), SizeIs(21));
  EXPECT_DOUBLE_EQ(quantiles(many)[1], 10);
}

}  // namespace
}  // namespace rankwire
