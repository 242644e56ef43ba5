#include "emulator/traces/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

DotGraph draw(const std::vector<Nodes>& ranks, size_t most) {
  const TraceSet set(ranks);
  return dot_graph(check(set).set, 0, most);
}

TEST(Draw, ASmallGraphIsDrawnNodeByNode) {
  const DotGraph graph = draw(sound(), 10);
  EXPECT_EQ(graph.collapse, Collapse::kNothing);
  EXPECT_EQ(graph.vertices, 3u);
  EXPECT_EQ(graph.edges, 2u);
  EXPECT_THAT(graph.text, HasSubstr("n0 [label=\"1 gemm\\n10 us\", fillcolor=\"#9ecae9\"];\n"));
  EXPECT_THAT(graph.text, HasSubstr("n1 [label=\"2 reduce\\n4 KiB\", fillcolor=\"#ffbf79\"];\n"));
  EXPECT_THAT(graph.text, HasSubstr("n1 -> n2;\n"));
}

/// Layers of two nodes each: "layer3.gemm7" and "layer3.norm7", one after the other.
Nodes layers(uint64_t count) {
  Nodes nodes;
  for (uint64_t layer = 0; layer < count; ++layer) {
    for (const char* name : {"gemm", "norm"}) {
      const uint64_t id = nodes.size();
      Make node = compute(id, fmt::format("layer{}.{}{}", layer, name, id)).micros(1);
      if (id > 0) node.after({id - 1});
      nodes.push_back(node);
    }
  }
  return nodes;
}

TEST(Draw, ALargerOneIsCollapsedAsLittleAsItTakes) {
  const Nodes nodes = layers(50);
  EXPECT_EQ(draw({nodes}, 100).collapse, Collapse::kNothing);
  const DotGraph by_name = draw({nodes}, 99);
  // Each name of a layer is there once, so collapsing by layer saves nothing.
  EXPECT_EQ(by_name.collapse, Collapse::kName);
  EXPECT_EQ(by_name.vertices, 2u);
  EXPECT_THAT(by_name.text, HasSubstr("layer#.gemm# x 50\\n50 us"));
  EXPECT_THAT(by_name.text, HasSubstr("n0 -> n1 [label=\"50\"];\n  n1 -> n0 [label=\"49\"];\n"));
}

TEST(Draw, TenThousandNodesStayReadable) {
  Nodes nodes;
  for (uint64_t id = 0; id < 10'000; ++id) {
    // 400 names without numbers, one of them 30 times as frequent as the others.
    const uint64_t name = id % 16 == 0 ? 0 : id % 400;
    const std::string text = {static_cast<char>('a' + name / 20), static_cast<char>('a' + name % 20)};
    nodes.push_back(compute(id, text + "(float)").micros(1));
  }
  const DotGraph graph = draw({nodes}, 40);
  EXPECT_EQ(graph.collapse, Collapse::kMost);
  EXPECT_EQ(graph.vertices, 40u);
  EXPECT_THAT(graph.text, HasSubstr("\"aa x "));
  EXPECT_THAT(graph.text, HasSubstr("\"others x "));
}

TEST(Draw, NamesAreQuoted) {
  EXPECT_THAT(draw({{compute(1, "a \"b\" \\c").micros(1)}}, 10).text, HasSubstr(R"([label="1 a \"b\" \\c\n1 us")"));
}

TEST(Draw, ATimelineHasARowForEachRank) {
  const TraceSet set(sound());
  const CheckedSet checked = check(set);
  const std::string svg = timeline_svg(checked.set, time_operations(checked.set, checked.matches, {}));
  EXPECT_THAT(svg, HasSubstr("rank 1"));
  EXPECT_THAT(svg, HasSubstr("<rect class=\"communication\""));
  EXPECT_THAT(svg, Not(HasSubstr("rank 2")));
  EXPECT_THAT(timeline_svg(checked.set, Timing()), IsEmpty());
}

}  // namespace
}  // namespace rankwire
