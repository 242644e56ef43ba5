#include "feeder/trace_feeder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <tuple>

#include "base/error.h"
#include "tests/feeder/feed_file.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using testing::FedNode;
using testing::FeedFile;
using ::testing::HasSubstr;

/// Completes every node as it comes.
std::vector<uint64_t> drain(TraceFeeder& feeder) {
  std::vector<uint64_t> order;
  for (auto node = feeder.next(); node != TraceFeeder::kNone; node = feeder.next()) {
    order.push_back(feeder.lookup(node).id);
    feeder.complete(node);
  }
  return order;
}

std::vector<uint64_t> order_of(const std::vector<FedNode>& nodes, const FeederOptions& options) {
  const FeedFile file(nodes);
  TraceFeeder feeder(file.path(), options);
  const std::vector<uint64_t> order = drain(feeder);
  EXPECT_TRUE(feeder.finished());
  return order;
}

std::string error_of(const std::vector<FedNode>& nodes, const FeederOptions& options = {}) {
  const FeedFile file(nodes);
  try {
    TraceFeeder feeder(file.path(), options);
    drain(feeder);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr(file.path()));
    return error.what();
  }
}

/// The feeder's contract over arrays, by looking at every node whenever it is asked.
class Oracle {
 public:
  Oracle(const std::vector<FedNode>& nodes, const FeederOptions& options) : nodes_(nodes), options_(options) {}

  /// The node's place, or -1.
  int next() {
    while (read_ < nodes_.size() && live() < options_.window) ++read_;
    for (;;) {
      int best = -1;
      for (size_t i = 0; i < read_; ++i) {
        if (can_go(i) && (best < 0 || key(i) < key(static_cast<size_t>(best)))) best = static_cast<int>(i);
      }
      if (best >= 0) return handed_.insert(static_cast<size_t>(best)), best;
      if (!handed_.empty() || read_ == nodes_.size()) return -1;
      ++read_;
    }
  }
  void complete(size_t place) { handed_.erase(place), done_.insert(nodes_[place].id); }
  void push_back(size_t place) { handed_.erase(place); }

 private:
  size_t live() const { return read_ - done_.size(); }
  bool open(size_t i) const { return !done_.contains(nodes_[i].id) && !handed_.contains(i); }
  std::string lane(size_t i) const {
    const bool communicates = nodes_[i].type != chakra::COMP_NODE;
    if (options_.order == FeedOrder::kPerStream && !nodes_[i].on_cpu) return nodes_[i].stream;
    return options_.order == FeedOrder::kPerGroup && communicates ? nodes_[i].group : "";
  }
  bool can_go(size_t i) const {
    if (!open(i)) return false;
    const auto is_done = [&](uint64_t parent) { return parent == nodes_[i].id || done_.contains(parent); };
    if (options_.data && !std::ranges::all_of(nodes_[i].data, is_done)) return false;
    if (options_.control && !std::ranges::all_of(nodes_[i].control, is_done)) return false;
    if (lane(i).empty()) return true;
    for (size_t j = 0; j < i; ++j) {
      if (open(j) && lane(j) == lane(i)) return false;
    }
    return true;
  }
  std::tuple<uint64_t, uint64_t> key(size_t i) const {
    const FedNode& node = nodes_[i];
    if (options_.order == FeedOrder::kFileOrder) return {i, 0};
    if (options_.order == FeedOrder::kStartTime) return {node.start, node.id};
    if (options_.order == FeedOrder::kCommunicationFirst) return {node.type == chakra::COMP_NODE, node.id};
    return {0, node.id};
  }

  const std::vector<FedNode>& nodes_;
  const FeederOptions options_;
  size_t read_ = 0;
  std::set<uint64_t> done_;
  std::set<size_t> handed_;
};

struct Shape {
  size_t nodes = 0;
  uint64_t spread = 1;  ///< ids are multiples of it
  size_t reach = 0;     ///< how far nodes are displaced in the file, which makes references point forward
};

/// Nodes that may run in the order of their ranks, which stand in the file near them and have ids in no order.
std::vector<FedNode> random_trace(std::mt19937& random, const Shape& shape) {
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  std::vector<uint64_t> ids(shape.nodes);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = i * shape.spread;
  std::ranges::shuffle(ids, random);
  std::vector<std::pair<size_t, FedNode>> placed;
  for (size_t i = 0; i < shape.nodes; ++i) {
    FedNode node{.id = ids[i], .start = below(20), .on_cpu = below(4) == 0};
    for (size_t n = below(4); n > 0 && i > 0; --n) {
      auto& list = below(3) == 0 ? node.control : node.data;
      list.push_back(ids[i - 1 - below(std::min<size_t>(i, 30))]);
    }
    if (below(10) == 0) node.data.push_back(node.id);
    if (below(2) == 0) node.stream = std::to_string(below(3));
    if (below(3) == 0) node.type = chakra::COMM_COLL_NODE, node.group = "g" + std::to_string(below(2));
    placed.emplace_back(i + below(shape.reach + 1), std::move(node));
  }
  std::ranges::stable_sort(placed, {}, [](const auto& item) { return item.first; });
  std::vector<FedNode> nodes;
  for (auto& [place, node] : placed) nodes.push_back(std::move(node));
  return nodes;
}

/// Takes, completes and gives back at random, and expects what the oracle does.
void compare(const std::vector<FedNode>& nodes, const FeederOptions& options, std::mt19937& random) {
  const FeedFile file(nodes);
  TraceFeeder feeder(file.path(), options);
  Oracle oracle(nodes, options);
  std::vector<std::pair<TraceFeeder::Handle, size_t>> handed;
  size_t completed = 0;
  while (completed < nodes.size()) {
    const bool take = handed.empty() || random() % 2 == 0;
    if (take) {
      const auto node = feeder.next();
      const int expected = oracle.next();
      ASSERT_EQ(node == TraceFeeder::kNone, expected < 0);
      if (expected < 0) {
        ASSERT_FALSE(handed.empty()) << "both stand still";
      } else {
        const auto place = static_cast<size_t>(expected);
        ASSERT_EQ(feeder.lookup(node).id, nodes[place].id);
        ASSERT_EQ(feeder.place(node), place);
        handed.emplace_back(node, place);
        continue;
      }
    }
    const size_t chosen = random() % handed.size();
    const auto [node, place] = handed[chosen];
    handed.erase(handed.begin() + static_cast<ptrdiff_t>(chosen));
    ASSERT_EQ(feeder.lookup(node).name, "node " + std::to_string(nodes[place].id)) << "kept while it is handed out";
    if (random() % 4 == 0) {
      feeder.push_back(node);
      oracle.push_back(place);
    } else {
      feeder.complete(node);
      oracle.complete(place);
      ++completed;
    }
  }
  EXPECT_EQ(feeder.next(), TraceFeeder::kNone);
  EXPECT_TRUE(feeder.finished());
  EXPECT_EQ(feeder.nodes_read(), nodes.size());
}

class TraceFeederOrders : public ::testing::TestWithParam<FeedOrder> {};

TEST_P(TraceFeederOrders, FollowsTheOracleOnRandomGraphs) {
  std::mt19937 random(static_cast<uint32_t>(GetParam()) + 1);
  const bool lanes = GetParam() == FeedOrder::kPerStream || GetParam() == FeedOrder::kPerGroup;
  for (const size_t window : {1, 2, 7, 40, 1000}) {
    for (const size_t reach : {0, 3, 25, 400}) {
      // In a lane the file's order holds; with references forward it could contradict them.
      const Shape shape{.nodes = 150, .spread = window % 2 == 0 ? 1u : 1000u, .reach = lanes ? 0 : reach};
      const std::vector<FedNode> nodes = random_trace(random, shape);
      const FeederOptions options{.order = GetParam(), .control = reach % 2 == 1, .window = window};
      ASSERT_NO_FATAL_FAILURE(compare(nodes, options, random)) << "window " << window << " reach " << reach;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TraceFeederOrders,
                         ::testing::Values(FeedOrder::kMinimumId, FeedOrder::kFileOrder, FeedOrder::kStartTime,
                                           FeedOrder::kPerStream, FeedOrder::kPerGroup, FeedOrder::kCommunicationFirst),
                         [](const auto& order) { return to_string(order.param); });

// A lane of 5, 3, 1 in file order, and 2 beside it.
TEST(TraceFeeder, OrdersAreWhatTheirNamesSay) {
  std::vector<FedNode> nodes = {{.id = 5, .start = 30, .stream = "7"},
                                {.id = 3, .start = 10, .stream = "7"},
                                {.id = 1, .start = 20, .stream = "7"},
                                {.id = 2, .start = 40}};
  EXPECT_THAT(order_of(nodes, {}), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(order_of(nodes, {.order = FeedOrder::kFileOrder}), ElementsAre(5, 3, 1, 2));
  EXPECT_THAT(order_of(nodes, {.order = FeedOrder::kStartTime}), ElementsAre(3, 1, 5, 2));
  EXPECT_THAT(order_of(nodes, {.order = FeedOrder::kPerStream}), ElementsAre(2, 5, 3, 1));
  for (FedNode& node : nodes) {
    if (node.id == 5) node.type = chakra::COMM_SEND_NODE;
    if (node.id != 2) node.group = "tp", node.stream = "";
  }
  EXPECT_THAT(order_of(nodes, {.order = FeedOrder::kCommunicationFirst}), ElementsAre(5, 1, 2, 3));
  nodes[2].type = chakra::COMM_COLL_NODE;
  EXPECT_THAT(order_of(nodes, {.order = FeedOrder::kPerGroup}), ElementsAre(2, 3, 5, 1)) << "3 does not communicate";
}

TEST(TraceFeeder, OrdersHaveNames) {
  EXPECT_EQ(parse_feed_order("per_group"), FeedOrder::kPerGroup);
  EXPECT_EQ(parse_feed_order("by_colour"), std::nullopt);
}

TEST(TraceFeeder, KnowsWhatItReadsAndKeeps) {
  const FeedFile file({{.id = 1, .data = {3, 3, 1}}, {.id = 2, .data = {1}}, {.id = 3}, {.id = 4, .data = {2, 1}}});
  TraceFeeder feeder(file.path(), {.window = 1});
  EXPECT_FALSE(feeder.finished());
  // 1 waits for 3, so the window grows to 3 nodes.
  EXPECT_THAT(drain(feeder), ElementsAre(3, 1, 2, 4));
  EXPECT_EQ(feeder.nodes_read(), 4u);
  EXPECT_EQ(feeder.most_live(), 3u);
  EXPECT_EQ(feeder.self_dependencies(), 1u);
}

TEST(TraceFeeder, AnEmptyFileIsFinished) {
  const FeedFile file(std::vector<FedNode>{});
  TraceFeeder feeder(file.path(), {});
  EXPECT_EQ(feeder.next(), TraceFeeder::kNone);
  EXPECT_TRUE(feeder.finished());
}

TEST(TraceFeeder, NamesMissingNodesOrDropsThem) {
  const std::vector<FedNode> nodes = {{.id = 1, .data = {77}}, {.id = 2, .data = {1, 78}}};
  EXPECT_THAT(error_of(nodes), HasSubstr("does not have: node 1 on node 77, node 2 on node 78"));
  const FeedFile file(nodes);
  TraceFeeder feeder(file.path(), {.missing = MissingNodes::kDrop});
  EXPECT_THAT(drain(feeder), ElementsAre(1, 2));
  EXPECT_EQ(feeder.dropped_dependencies(), 2u);
}

TEST(TraceFeeder, PrintsACycle) {
  EXPECT_THAT(error_of({{.id = 1, .data = {2}}, {.id = 2, .data = {1}}, {.id = 3}}),
              HasSubstr("dependencies are a cycle: node"));
}

TEST(TraceFeeder, RefusesAnIdThatComesAgain) {
  EXPECT_THAT(error_of({{.id = 1}, {.id = 2}, {.id = 1}}), HasSubstr("node 1 \"node 1\": the file has had a node"));
  EXPECT_THAT(error_of({{.id = 1}, {.id = 2}, {.id = 1}}, {.window = 1}), HasSubstr("has had a node with this id"))
      << "when the first is complete, too";
}

TEST(TraceFeeder, RefusesAnOrderThatContradictsTheDependencies) {
  EXPECT_THAT(
      error_of({{.id = 1, .data = {2}, .stream = "7"}, {.id = 2, .stream = "7"}}, {.order = FeedOrder::kPerStream}),
      HasSubstr("order per_stream contradicts the dependencies: node 1 comes first in its stream"));
}

TEST(TraceFeeder, RefusesAWindowOfNothing) {
  EXPECT_THAT(error_of({}, {.window = 0}), HasSubstr("a window of no nodes"));
}

TEST(TraceFeeder, NamesTheOffsetOfATruncatedFrame) {
  const FeedFile file({{.id = 1}, {.id = 2}, {.id = 3}});
  std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) - 1);
  TraceFeeder feeder(file.path(), {});
  try {
    feeder.next();
    FAIL() << "a truncated file was taken for a whole one";
  } catch (const Error& error) {
    // {1: id, 2: "node 1", 3: type} are 2 + 8 + 2 bytes behind a length of one: the third begins at byte 26.
    EXPECT_THAT(error.what(), HasSubstr("frame 2 at byte 26: the file ends within the frame"));
  }
}

TEST(TraceFeeder, TellsHowFarTheReferencesReachWhenMemoryEnds) {
  std::vector<FedNode> nodes = {{.id = 0, .data = {5'000}}};
  for (uint64_t id = 1; id <= 5'000; ++id) nodes.push_back({.id = id, .data = {id == 5'000 ? id : id - 1}});
  // Every node waits for the last one; at more than 200 bytes each they do not fit.
  const std::string error = error_of(nodes, {.window = 16, .memory = 1'000'000});
  EXPECT_THAT(error, HasSubstr("the window takes more than 1000000 bytes"));
  EXPECT_THAT(error, HasSubstr("node 0, at place 0 of the file"));
  EXPECT_THAT(error, HasSubstr("a reach of"));
  EXPECT_EQ(error_of(nodes, {.window = 16}), "");
}

// What is kept is a few windows' nodes and the ids: 200,000 nodes of some 500 bytes would be 100 MB.
TEST(TraceFeeder, MemoryDoesNotGrowWithTheFile) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "w.0.et";
  {
    TraceWriter writer(path);
    for (uint64_t id = 0; id < 200'000; ++id) {
      FedNode node{.id = id, .stream = "20", .group = "a group of some length"};
      if (id > 0) node.data = {id - 1};
      if (id > 3'000) node.data.push_back(id - 3'000);
      writer.write(node.message());
    }
    writer.close();
  }
  constexpr size_t kMost = 2'000'000;
  TraceFeeder feeder(path, {.window = 1'000, .memory = kMost});
  uint64_t expected = 0;
  for (auto node = feeder.next(); node != TraceFeeder::kNone; node = feeder.next()) {
    ASSERT_EQ(feeder.lookup(node).id, expected++);
    feeder.complete(node);
  }
  EXPECT_EQ(expected, 200'000u);
  EXPECT_EQ(feeder.most_live(), 1'000u);
  EXPECT_LE(feeder.memory(), kMost);
}

}  // namespace
}  // namespace rankwire
