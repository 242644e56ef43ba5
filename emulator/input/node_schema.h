// The keys of `workload.generate` by which nodes are written one by one, or taken from what is ready; see schema.h.
#pragma once

#include <string>

#include "emulator/input/node_config.h"
#include "emulator/input/syntax.h"

namespace rankwire {

/// "3", "0-3".
struct RankRangeSyntax {
  static constexpr uint32_t kHighest = 65'535;

  RankRange parse(const Tree& scalar) const {
    const size_t dash = scalar.text.find('-');
    const auto number = [&](std::string text) {
      return Integer<uint32_t>{0, kHighest}.parse(Tree{
          .kind = Tree::Kind::kScalar, .origin = scalar.origin, .text = std::move(text), .items = {}, .entries = {}});
    };
    const uint32_t first = number(scalar.text.substr(0, dash));
    if (dash == std::string::npos) return {first, first};
    const uint32_t last = number(scalar.text.substr(dash + 1));
    if (last < first)
      throw ValueError(fmt::format("'{}' ends before it begins; write {}-{}", scalar.text, last, first));
    return {first, last};
  }
  ConfigJson print(const RankRange& value) const {
    return value.first == value.last ? ConfigJson(value.first)
                                     : ConfigJson(fmt::format("{}-{}", value.first, value.last));
  }
};

/// One of micro_cases(); "none" is the empty text.
struct MicroCaseName {
  std::string parse(const Tree& scalar) const {
    if (scalar.text == "none") return {};
    if (find_micro_case(scalar.text) != nullptr) return scalar.text;
    std::string known;
    for (const MicroCase& micro : micro_cases()) known += fmt::format("{}{}", known.empty() ? "" : ", ", micro.name);
    throw ValueError(fmt::format("'{}' is not one of {}", scalar.text, known));
  }
  ConfigJson print(const std::string& value) const { return value.empty() ? "none" : value; }
};

inline Choice<ActionKind> listed_kinds() {
  Choice<ActionKind> kinds;
  for (auto kind = ActionKind::kCompute; kind <= ActionKind::kBarrier;
       kind = static_cast<ActionKind>(static_cast<uint8_t>(kind) + 1))
    kinds.words.emplace_back(to_string(kind), kind);
  return kinds;
}

template <class Visitor>
void describe_node(Visitor& visit, NodeConfig& node) {
  visit.field("name", node.name, Name{});
  visit.list("ranks", node.ranks, RankRangeSyntax{});
  visit.field("kind", node.kind, listed_kinds());
  visit.field("bytes", node.size, Size{Bytes(0), Bytes(1LL << 44)});
  visit.field("duration", node.duration, Interval{Duration(), seconds(1'000'000)});
  visit.list("group", node.group, RankRangeSyntax{});
  visit.list("to", node.to, RankRangeSyntax{});
  visit.list("from", node.from, RankRangeSyntax{});
  visit.field("tag", node.tag, Integer<uint32_t>{0, 65'535});
  visit.field("root", node.root, Integer<uint32_t>{0, RankRangeSyntax::kHighest});
  visit.list("after", node.after, Name{});
  visit.field("iterations", node.iterations, Integer<uint32_t>{1, 100'000});
}

template <class Visitor>
void describe_micro(Visitor& visit, MicroSizes& micro) {
  visit.field("ranks", micro.ranks, Integer<uint32_t>{2, 1'024});
  visit.field("size", micro.size, Size{Bytes(1), Bytes(1LL << 40)});
  visit.field("duration", micro.duration, Interval{microseconds(1), seconds(1'000)});
}

}  // namespace rankwire
