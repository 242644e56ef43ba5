#include "emulator/traces/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/time_axis.h"
#include "emulator/report/timeline_columns.h"
#include "emulator/traces/svg.h"

namespace rankwire {
namespace {

constexpr size_t kLongestLabel = 60;
constexpr uint32_t kMostRanks = 32;

/// The name with each number as '#', but the first one where `keep_first`.
std::string without_numbers(std::string_view name, bool keep_first) {
  std::string text;
  bool kept = !keep_first;
  for (size_t i = 0; i < name.size();) {
    if (std::isdigit(static_cast<unsigned char>(name[i])) == 0) {
      text += name[i++];
      continue;
    }
    const size_t begin = i;
    while (i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])) != 0) ++i;
    text += std::exchange(kept, true) ? "#" : name.substr(begin, i - begin);
  }
  return text;
}

/// What the names of nodes in one vertex have in common.
std::string common_name(const NodeFacts& node, Collapse collapse) {
  switch (collapse) {
    case Collapse::kNothing:
      return fmt::format("{} {}", node.id, node.name);
    case Collapse::kLayer:
      return without_numbers(node.name, true);
    case Collapse::kName:
      return without_numbers(node.name, false);
    case Collapse::kStem:
    case Collapse::kMost:
      break;
  }
  const std::string_view name = node.name;
  return without_numbers(name.substr(0, name.find_first_of("(<@[ ")), false);
}

const char* colour_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kCompute:
      return "#9ecae9";
    case NodeKind::kHost:
      return "#d9d9d9";
    case NodeKind::kMemory:
      return "#b3cde3";
    case NodeKind::kCollective:
      return "#ffbf79";
    case NodeKind::kSend:
    case NodeKind::kReceive:
      return "#fdd0a2";
    case NodeKind::kNone:
      break;
  }
  return "#ffffff";
}

std::string dot_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + "\"";
}

struct Vertex {
  std::string name;
  NodeKind kind = NodeKind::kNone;
  uint64_t nodes = 0;
  int64_t elements = 0;  ///< of communication
  double microseconds = 0;
};

/// Puts nodes together.
class Collapsed {
 public:
  Collapsed(const RankFacts& facts, Collapse collapse, size_t most) : vertex_of_(facts.nodes.size()) {
    std::map<Key, uint64_t> counts;
    std::vector<Key> keys;
    for (const NodeFacts& node : facts.nodes) {
      keys.emplace_back(node.kind, common_name(node, collapse));
      ++counts[keys.back()];
    }
    const std::set<Key> kept = collapse == Collapse::kMost ? most_frequent(counts, most) : std::set<Key>();
    std::map<Key, uint32_t> numbers;
    for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
      Key key = keys[i];
      if (!kept.empty() && !kept.contains(key)) key = {NodeKind::kNone, "others"};
      const auto [number, added] = numbers.try_emplace(key, static_cast<uint32_t>(vertices_.size()));
      if (added) vertices_.push_back({key.second, key.first});
      add(vertices_[number->second], facts.nodes[i]);
      vertex_of_[i] = number->second;
    }
  }

  const std::vector<Vertex>& vertices() const { return vertices_; }

  /// How many dependencies lead from one vertex to another.
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> edges(const Graph& graph) const {
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> counts;
    for (uint32_t i = 0; i < graph.vertices(); ++i) {
      for (const uint32_t next : graph.next_of(i)) {
        if (vertex_of_[i] != vertex_of_[next]) ++counts[{vertex_of_[i], vertex_of_[next]}];
      }
    }
    return counts;
  }

 private:
  using Key = std::pair<NodeKind, std::string>;

  /// All but the place of those that are put together.
  static std::set<Key> most_frequent(const std::map<Key, uint64_t>& counts, size_t most) {
    std::vector<std::pair<uint64_t, Key>> sorted;
    for (const auto& [key, count] : counts) sorted.emplace_back(count, key);
    std::ranges::sort(sorted, std::greater<>());
    std::set<Key> kept;
    for (size_t i = 0; i + 1 < most && i < sorted.size(); ++i) kept.insert(sorted[i].second);
    return kept;
  }

  static void add(Vertex& vertex, const NodeFacts& node) {
    ++vertex.nodes;
    if (node.communicates()) vertex.elements += std::clamp<int64_t>(node.size.value_or(0), 0, kMaxOperationBytes / 64);
    vertex.microseconds += static_cast<double>(node.recorded().ps) / 1e6;
  }

  std::vector<Vertex> vertices_;
  std::vector<uint32_t> vertex_of_;
};

std::string label_of(const Vertex& vertex, Bytes element_size) {
  std::string label = vertex.name.size() > kLongestLabel ? vertex.name.substr(0, kLongestLabel) + "..." : vertex.name;
  if (vertex.nodes > 1) label += fmt::format(" x {}", vertex.nodes);
  std::string text = dot_text(label);
  text.pop_back();
  if (vertex.elements > 0) text += fmt::format("\\n{}", readable(Bytes(vertex.elements * element_size.count)));
  if (vertex.microseconds > 0) text += fmt::format("\\n{:.6g} us", vertex.microseconds);
  return text + "\"";
}

}  // namespace

DotGraph dot_graph(const RankSet& set, uint32_t place, size_t most, Bytes element_size) {
  const RankFacts& facts = set.ranks[place];
  DotGraph result;
  result.collapse = facts.nodes.size() <= most ? Collapse::kNothing : Collapse::kLayer;
  Collapsed collapsed(facts, result.collapse, most);
  while (collapsed.vertices().size() > most && result.collapse != Collapse::kMost) {
    result.collapse = static_cast<Collapse>(static_cast<int>(result.collapse) + 1);
    collapsed = Collapsed(facts, result.collapse, most);
  }
  result.text = fmt::format("digraph {} {{\n  rankdir=TB;\n  node [shape=box, style=filled, fontsize=10];\n",
                            dot_text(fmt::format("{} rank {}", set.files.name, facts.rank)));
  for (size_t v = 0; v < collapsed.vertices().size(); ++v) {
    const Vertex& vertex = collapsed.vertices()[v];
    result.text +=
        fmt::format("  n{} [label={}, fillcolor=\"{}\"];\n", v, label_of(vertex, element_size), colour_of(vertex.kind));
  }
  const auto edges = collapsed.edges(dependency_graph(facts));
  for (const auto& [edge, count] : edges) {
    const std::string label = count > 1 ? fmt::format(" [label=\"{}\"]", count) : "";
    result.text += fmt::format("  n{} -> n{}{};\n", edge.first, edge.second, label);
  }
  result.text += "}\n";
  result.vertices = collapsed.vertices().size();
  result.edges = edges.size();
  return result;
}

std::string timeline_svg(const RankSet& set, const Timing& timing) {
  constexpr int kLeft = 70, kTop = 24, kBand = 8, kRow = 2 * kBand + 6;
  if (!timing.problem.empty() || timing.end <= Time(0)) return {};
  const auto ranks = std::min<size_t>(set.ranks.size(), kMostRanks);
  const int height = kTop + static_cast<int>(ranks) * kRow;
  std::string svg = time_axis_svg(timing.end, {kLeft, TimelineColumns::kWidth, height});
  for (size_t place = 0; place < ranks; ++place) {
    std::array<TimelineColumns, 2> bands;
    const RankFacts& facts = set.ranks[place];
    for (size_t i = 0; i < facts.nodes.size(); ++i) {
      if (facts.nodes[i].kind == NodeKind::kNone) continue;
      const Span span = timing.spans[place][i];
      bands[facts.nodes[i].communicates()].mark({span.start, span.end}, timing.end);
    }
    const int y = kTop + static_cast<int>(place) * kRow;
    svg += fmt::format("<text x=\"0\" y=\"{}\">rank {}</text>\n", y + kBand + 4, facts.rank);
    svg += bands[0].svg(kLeft, y, kBand, "compute") + bands[1].svg(kLeft, y + kBand, kBand, "communication");
  }
  static constexpr std::array kKeys = {SvgKey{"compute", "compute"}, SvgKey{"communication", "communication"}};
  return svg_document({kLeft + TimelineColumns::kWidth + 40, height + 20},
                      timing.recorded ? "Recorded times" : "An ideal schedule", kKeys, svg);
}

}  // namespace rankwire
