#include "converters/expert_routing.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "tests/converters/written_trace.h"

namespace rankwire {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Popularity = RoutingModel::Popularity;

constexpr RoutedTokens kRouted = {.ranks = 4, .experts = 8, .per_token = 2, .tokens = 1'000};

int64_t sum(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

RoutingModel zipf(double exponent) {
  return {.popularity = Popularity::kZipf, .exponent = exponent};
}

TEST(InclusionChances, AreProportionalUntilOneIsCertain) {
  EXPECT_THAT(inclusion_chances({1, 2, 3, 4}, 1), ElementsAre(DoubleNear(0.1, 1e-12), DoubleNear(0.2, 1e-12),
                                                              DoubleNear(0.3, 1e-12), DoubleNear(0.4, 1e-12)));
  // 2 x 6 / 10 is above 1: the first is certain, and the other one is shared out as 1 : 1 : 2.
  EXPECT_THAT(inclusion_chances({6, 1, 1, 2}, 2),
              ElementsAre(1, DoubleNear(0.25, 1e-12), DoubleNear(0.25, 1e-12), DoubleNear(0.5, 1e-12)));
  EXPECT_THAT(inclusion_chances({5, 0, 5}, 2), ElementsAre(1, 0, 1));
}

TEST(SampleCounts, GiveEachTokenItsExpertsAndNoneTwice) {
  Random random(7);
  const std::vector<double> chances = inclusion_chances({16, 8, 4, 2, 1, 1}, 3);
  const std::vector<int64_t> counts = sample_counts(chances, 10'000, random);
  EXPECT_EQ(sum(counts), 30'000);
  EXPECT_THAT(counts, Each(::testing::Le(10'000)));
  // Each is binomial: 5 deviations are 5 sqrt(10,000 / 4) = 250 at most.
  for (size_t e = 0; e < counts.size(); ++e) EXPECT_NEAR(static_cast<double>(counts[e]), 10'000 * chances[e], 250) << e;
  EXPECT_THAT(sample_counts({1, 1, 0}, 5, random), ElementsAre(5, 5, 0));
  EXPECT_THAT(sample_counts({0.5, 0.5}, 0, random), ElementsAre(0, 0));
}

TEST(ExpertRouting, SendsAllTokensOfARankAndTheSameInEveryCall) {
  const ExpertRouting routing(zipf(1), kRouted);
  EXPECT_FALSE(routing.even());
  const TokenMatrix matrix = routing.tokens(3, 5, 8, 1);
  int64_t sent = 0, received = 0;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(sum(matrix.sent(rank)), 2'000);
    EXPECT_EQ(matrix.sent(rank), ExpertRouting(zipf(1), kRouted).tokens(3, 5, 8, 1).sent(rank));
    sent += sum(matrix.sent(rank)), received += sum(matrix.received(rank));
    for (uint32_t to = 0; to < 4; ++to) EXPECT_EQ(matrix.sent(rank)[to], matrix.received(to)[rank]);
  }
  EXPECT_EQ(sent, received);
  // Other layers, micro-batches, sources and seeds have tokens of their own.
  EXPECT_NE(matrix.sent(0), routing.tokens(4, 5, 8, 1).sent(0));
  EXPECT_NE(matrix.sent(0), routing.tokens(3, 6, 8, 1).sent(0));
  EXPECT_NE(matrix.sent(0), matrix.sent(1));
  RoutingModel other = zipf(1);
  other.seed = 2;
  EXPECT_NE(matrix.sent(0), ExpertRouting(other, kRouted).tokens(3, 5, 8, 1).sent(0));
}

// With exponent 1 the expert in place i of 8 has 1 / i / H of the choices, H = 1 + 1/2 + ... + 1/8 = 2.7179: twice
// 0.368, 0.184, 0.123 ... of the tokens.
TEST(ExpertRouting, FollowsZipfsLaw) {
  RoutedTokens routed = kRouted;
  routed.ranks = 8, routed.tokens = 100'000;
  std::vector<int64_t> load(8);
  const TokenMatrix matrix = ExpertRouting(zipf(1), routed).tokens(0, 0, 0, 1);
  for (uint32_t to = 0; to < 8; ++to) load[to] = sum(matrix.received(to));
  std::ranges::sort(load, std::greater());
  double harmonic = 0;
  for (int i = 1; i <= 8; ++i) harmonic += 1.0 / i;
  for (int i = 1; i <= 8; ++i)
    EXPECT_NEAR(static_cast<double>(load[i - 1]), 8 * 200'000 / harmonic / i, 5 * 448) << i;  // 5 sqrt(8 x 100,000 / 4)
}

TEST(ExpertRouting, DropsWhatIsAboveTheCapacity) {
  RoutingModel model = zipf(2);
  model.capacity = 1.25;
  RoutedTokens routed = kRouted;
  routed.ranks = 8;
  // An expert takes 1.25 x 1,000 x 2 / 8 = 312.5, rounded up, from each rank.
  const TokenMatrix matrix = ExpertRouting(model, routed).tokens(0, 0, 0, 1);
  EXPECT_EQ(std::ranges::max(matrix.sent(2)), 313);
  EXPECT_LT(sum(matrix.sent(2)), 2'000);
}

TEST(ExpertRouting, OfBalancedTokensIsEven) {
  EXPECT_TRUE(ExpertRouting({}, kRouted).even());
  EXPECT_THAT(ExpertRouting({}, kRouted).tokens(0, 0, 0, 1).sent(3), Each(500));
  // Half of an even share of 250 tokens for each of the two experts of a rank.
  EXPECT_THAT(ExpertRouting({.capacity = 0.5}, kRouted).tokens(0, 0, 0, 1).sent(3), Each(250));
}

// Two ranks are a node, and each token goes to two nodes of four, with two of its four experts in each.
TEST(ExpertRouting, LimitsTheNodesOfAToken) {
  RoutingModel model = zipf(3);
  model.node_limit = 2, model.node_ranks = 2;
  const RoutedTokens routed = {.ranks = 8, .experts = 32, .per_token = 4, .tokens = 1'000};
  const TokenMatrix matrix = ExpertRouting(model, routed).tokens(0, 0, 0, 1);
  std::vector<int64_t> nodes(4);
  for (uint32_t to = 0; to < 8; ++to) nodes[to / 2] += matrix.at(5, to);
  EXPECT_EQ(sum(nodes), 4'000);
  // At most two experts of each token; without the limit the most popular node has more.
  EXPECT_THAT(nodes, Each(::testing::Le(2'000)));
  model.node_limit = 0;
  const TokenMatrix free = ExpertRouting(model, routed).tokens(0, 0, 0, 1);
  std::vector<int64_t> unlimited(4);
  for (uint32_t to = 0; to < 8; ++to) unlimited[to / 2] += free.at(5, to);
  EXPECT_GE(std::ranges::max(unlimited), std::ranges::max(nodes));
}

TEST(ExpertRouting, Drifts) {
  RoutingModel model = zipf(2);
  model.drift = 4;
  RoutedTokens routed = kRouted;
  routed.ranks = 8, routed.tokens = 10'000;
  const ExpertRouting routing(model, routed);
  const auto hottest = [&](uint32_t micro_batch) {
    const std::vector<int64_t> sent = routing.tokens(0, micro_batch, 0, 1).sent(0);
    return std::ranges::max_element(sent) - sent.begin();
  };
  // Within the first half of an order its first expert leads; some of ten orders begin with another one.
  EXPECT_EQ(hottest(0), hottest(1));
  std::vector<ptrdiff_t> leaders;
  for (uint32_t order = 0; order < 10; ++order) leaders.push_back(hottest(4 * order));
  EXPECT_NE(std::ranges::count(leaders, leaders.front()), 10);
}

class RecordedTokens : public ::testing::Test {
 protected:
  TokenMatrix route(const std::string& text) {
    const std::string path = testing::write_text(folder_ / "tokens.csv", text);
    return ExpertRouting({.popularity = Popularity::kRecorded, .file = path}, kRouted).tokens(1, 2, 0, 1);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(RecordedTokens, FromRankToRankAreTakenAsTheyAre) {
  const TokenMatrix matrix = route("1,2,3,4\n0,0,0,2000\n5, 6, 7, 8\n\n0,0,0,0\n");
  EXPECT_THAT(matrix.sent(0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(matrix.received(3), ElementsAre(4, 2'000, 8, 0));
}

TEST_F(RecordedTokens, MayBeWrittenByWindowsPrograms) {
  EXPECT_THAT(route("\xEF\xBB\xBF"
                    "1,2,3,4\r\n0,0,0,2000\r\n5,6,7,8\r\n0,0,0,0\r\n")
                  .sent(0),
              ElementsAre(1, 2, 3, 4));
}

TEST_F(RecordedTokens, OfExpertsAreTheirPopularity) {
  // Only experts 0 and 7 have any, so that all tokens go to both.
  EXPECT_THAT(route("9,0,0,0,0,0,0,1\n").sent(2), ElementsAre(1'000, 0, 0, 1'000));
  EXPECT_THAT(route("9\n0\n0\n0\n0\n0\n0\n1\n").sent(2), ElementsAre(1'000, 0, 0, 1'000));
}

TEST_F(RecordedTokens, OfAnotherModelAreRefused) {
  const auto refuse = [&](const std::string& text, const std::string& error) {
    EXPECT_THAT([&] { route(text); }, ThrowsMessage<Error>(HasSubstr(error))) << text;
  };
  refuse("1,2,3\n", "tokens.csv: 1 lines of 3 numbers; it must have 8 (tokens of each expert) or 4 lines of 4");
  refuse("1,2\n1\n", "tokens.csv:2: 1 numbers, but the first line has 2");
  refuse("1,-2\n", "tokens.csv:1: '-2' is no number of tokens");
  refuse("1,2,x,4\n", "tokens.csv:1: 'x' is no number of tokens");
  refuse("1,2,,4\n", "tokens.csv:1: '' is no number of tokens");
  refuse("", "tokens.csv: 0 lines");
  refuse("0,0,0,0\n0,0,0,0\n0,0,1999,2\n0,0,0,0\n",
         "row 3 has more than the 2000 tokens of a rank, 2 for each of 1000");
  refuse("0,0,0,5,0,0,0,0\n", "1 experts have tokens, but each token goes to 2");
}

}  // namespace
}  // namespace rankwire
