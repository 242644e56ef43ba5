#include "converters/node_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/stop.h"
#include "converters/node_writer.h"

namespace rankwire {
namespace {

bool has_rank(const std::vector<uint32_t>& ranks, uint32_t rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

/// "0-3", "0,2,4-5".
std::string ranks_text(const std::vector<uint32_t>& ranks) {
  std::string text;
  for (size_t first = 0; first < ranks.size();) {
    size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[first]);
    if (last > first) text += fmt::format("-{}", ranks[last]);
    first = last + 1;
  }
  return text;
}

/// Contradictions of a list, entry by entry.
class ListRules {
 public:
  explicit ListRules(const std::vector<ListedNode>& nodes) : nodes_(nodes) {}

  std::optional<WrongNode> first_wrong() {
    for (at_ = 0; at_ < nodes_.size() && !wrong_; ++at_) {
      check_ranks();
      count();
      if (!wrong_) check_kind();
      if (!wrong_) check_names();
    }
    if (!wrong_) check_messages();
    if (!wrong_) check_collectives();
    return wrong_;
  }

 private:
  struct Transfer {
    size_t entry;
    Bytes size;
  };
  struct Ends {
    std::vector<Transfer> sends, receives;
  };

  template <class... Args>
  void refuse_if(bool wrong, const char* key, fmt::format_string<Args...> format, Args&&... args) {
    if (wrong && !wrong_) wrong_ = WrongNode{at_, key, fmt::format(format, std::forward<Args>(args)...)};
  }
  const ListedNode& node() const { return nodes_[at_]; }

  void check_ranks() {
    refuse_if(node().ranks.empty(), "ranks", "is required: who does it, as in 0, 0-3 or [0, 2]");
    for (const auto& [key, ranks] : {std::pair("ranks", &node().ranks), std::pair("group", &node().group),
                                     std::pair(peers_key(), &node().peers)}) {
      std::vector<uint32_t> sorted = *ranks;
      std::ranges::sort(sorted);
      const auto twice = std::ranges::adjacent_find(sorted);
      if (twice != sorted.end()) refuse_if(true, key, "has rank {} twice", *twice);
    }
  }

  const char* peers_key() const { return node().kind == ActionKind::kReceive ? "from" : "to"; }

  void check_kind() {
    const ListedNode& n = node();
    const char* kind = to_string(n.kind);
    const bool message = is_message(n.kind);
    const bool works = !message && !is_collective(n.kind);
    refuse_if(message && n.peers.empty(), peers_key(), "is required of 'kind: {}'", kind);
    refuse_if(!message && n.tag != 0, "tag", "is not for 'kind: {}', but for send and recv", kind);
    refuse_if(!works && n.duration != Duration(), "duration", "is not for 'kind: {}', but for compute and host", kind);
    refuse_if(n.duration.ps % microseconds(1).ps != 0, "duration",
              "is no whole number of microseconds, in which Chakra counts durations");
    refuse_if(works && n.size.count != 0, "bytes", "is not for 'kind: {}', which has a 'duration'", kind);
    refuse_if(n.kind == ActionKind::kBarrier && n.size.count != 0, "bytes", "is not for 'kind: barrier'");
    refuse_if(!is_collective(n.kind) && !n.group.empty(), "group", "is not for 'kind: {}', but for collectives", kind);
    std::vector<uint32_t> group = n.group;
    std::ranges::sort(group);
    const auto outside = std::ranges::find_if(
        n.ranks, [&](uint32_t rank) { return !group.empty() && !std::ranges::binary_search(group, rank); });
    if (outside != n.ranks.end())
      refuse_if(true, "group", "{} is without rank {}, which 'ranks' has", ranks_text(n.group), *outside);
    for (const uint32_t rank : n.ranks)
      refuse_if(message && has_rank(n.peers, rank), peers_key(), "has rank {} itself", rank);
    refuse_if(is_collective(n.kind) && n.members().size() < 2, n.group.empty() ? "ranks" : "group",
              "{} is one rank; a collective has 2 or more", ranks_text(n.members()));
    refuse_if(!is_rooted(n.kind) && n.root != 0, "root",
              "is not for 'kind: {}', but for reduce, gather, scatter and broadcast", kind);
    refuse_if(is_rooted(n.kind) && !has_rank(n.members(), n.root), "root", "{} is none of the ranks {}", n.root,
              ranks_text(n.members()));
  }

  void check_names() {
    refuse_if(node().name.empty(), "name", "is required");
    for (const uint32_t rank : node().ranks) {
      std::map<std::string, size_t>& known = named_[rank];
      for (const std::string& name : node().after) {
        if (known.contains(name)) continue;
        const bool later = std::ranges::any_of(
            nodes_, [&](const ListedNode& other) { return other.name == name && has_rank(other.ranks, rank); });
        refuse_if(later, "after", "'{}' does not stand before this node; write what is waited for first", name);
        std::string names;
        for (const auto& entry : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.first);
        refuse_if(true, "after", "rank {} has no node '{}' before this one{}{}", rank, name,
                  names.empty() ? "" : "; it has ", names);
      }
      const auto [at, is_new] = known.try_emplace(node().name, at_);
      refuse_if(!is_new, "name", "'{}' is of entry [{}] already, which has rank {}, too", node().name, at->second,
                rank);
    }
  }

  void count() {
    const uint64_t peers = std::max<uint64_t>(1, node().peers.size());
    count_ += peers * node().ranks.size() * node().iterations;
    refuse_if(count_ > kMostListedNodes, "iterations", "makes the list {} nodes long; the most are {}", count_,
              kMostListedNodes);
  }

  /// The n-th message of a pair and a tag is the n-th that its destination receives.
  void check_messages() {
    std::map<std::array<uint32_t, 3>, Ends> pairs;
    for (at_ = 0; at_ < nodes_.size(); ++at_) {
      for (const uint32_t rank : node().ranks) {
        for (const uint32_t peer : node().peers) {
          const bool sends = node().kind == ActionKind::kSend;
          Ends& ends = pairs[{sends ? rank : peer, sends ? peer : rank, node().tag}];
          std::vector<Transfer>& list = sends ? ends.sends : ends.receives;
          list.insert(list.end(), node().iterations, {at_, node().size});
        }
      }
    }
    for (const auto& [key, ends] : pairs) {
      const auto [source, destination, tag] = key;
      const size_t common = std::min(ends.sends.size(), ends.receives.size());
      for (size_t i = 0; i < common; ++i) {
        at_ = ends.receives[i].entry;
        refuse_if(ends.sends[i].size != ends.receives[i].size, "bytes", "{} B are received, but entry [{}] sends {} B",
                  ends.receives[i].size.count, ends.sends[i].entry, ends.sends[i].size.count);
      }
      if (ends.sends.size() > common) {
        at_ = ends.sends[common].entry;
        refuse_if(true, "to", "rank {} sends {} message(s) with tag {} to rank {}, which has a recv for {}", source,
                  ends.sends.size(), tag, destination, common);
      } else if (ends.receives.size() > common) {
        at_ = ends.receives[common].entry;
        refuse_if(true, "from", "rank {} waits for {} message(s) with tag {} from rank {}, which sends {}", destination,
                  ends.receives.size(), tag, source, common);
      }
    }
  }

  /// Members of a group call the same collectives in the same order.
  void check_collectives() {
    std::map<std::vector<uint32_t>, std::map<uint32_t, std::vector<size_t>>> groups;
    for (at_ = 0; at_ < nodes_.size(); ++at_) {
      if (!is_collective(node().kind)) continue;
      for (const uint32_t rank : node().ranks) {
        std::vector<size_t>& calls = groups[node().members()][rank];
        calls.insert(calls.end(), node().iterations, at_);
      }
    }
    for (const auto& [members, calls] : groups) {
      const std::vector<size_t>& first = calls.begin()->second;
      const std::string name = ranks_text(members);
      for (const uint32_t rank : members) {
        const auto own = calls.find(rank);
        at_ = first.back();
        refuse_if(own == calls.end() || own->second.size() < first.size(), "group",
                  "rank {} of {} calls it {} time(s), rank {} {}", rank, name,
                  own == calls.end() ? 0 : own->second.size(), calls.begin()->first, first.size());
        if (wrong_) return;
        at_ = own->second.back();
        refuse_if(own->second.size() > first.size(), "group", "rank {} of {} calls it {} time(s), rank {} {}", rank,
                  name, own->second.size(), calls.begin()->first, first.size());
        for (size_t i = 0; i < first.size() && !wrong_; ++i) compare(own->second[i], first[i], rank);
      }
    }
  }

  void compare(size_t own, size_t first, uint32_t rank) {
    at_ = own;
    const ListedNode &a = nodes_[own], &b = nodes_[first];
    refuse_if(a.kind != b.kind, "kind", "{} of rank {} meets the {} of entry [{}]", to_string(a.kind), rank,
              to_string(b.kind), first);
    refuse_if(a.size != b.size, "bytes", "{} B of rank {} meet the {} B of entry [{}]", a.size.count, rank,
              b.size.count, first);
    refuse_if(a.root != b.root, "root", "{} of rank {} meets the root {} of entry [{}]", a.root, rank, b.root, first);
  }

  const std::vector<ListedNode>& nodes_;
  size_t at_ = 0;
  std::map<uint32_t, std::map<std::string, size_t>> named_;  ///< by rank: names, and the entries that have them
  uint64_t count_ = 0;
  std::optional<WrongNode> wrong_;
};

/// Writes the nodes of one rank.
class ListedRank {
 public:
  ListedRank(uint32_t rank, const NodeFile& file) : rank_(rank), nodes_(file) {}

  /// `group`: what the group of a collective is called.
  void write(const ListedNode& node, const std::string& group) {
    Ids before;
    for (const std::string& name : node.after) before.insert(before.end(), named_[name].begin(), named_[name].end());
    std::ranges::sort(before);
    for (uint32_t i = 0; i < node.iterations; ++i) {
      const std::string name = node.iterations == 1 ? node.name : fmt::format("{}.{}", node.name, i);
      before = write_once(node, name, group, before);
    }
    named_[node.name] = before;
  }

  uint64_t close() {
    if (nodes_.counts().nodes == 0) nodes_.on_host().compute("idle", 0, 0, Bytes(0), {});
    return nodes_.close();
  }

 private:
  using Ids = std::vector<NodeWriter::Id>;

  Ids write_once(const ListedNode& node, const std::string& name, const std::string& group, const Ids& after) {
    const auto micros = static_cast<uint64_t>(node.duration.ps / microseconds(1).ps);
    Ids written;
    switch (node.kind) {
      case ActionKind::kCompute:
        return {nodes_.compute(name, micros, 0, Bytes(0), after)};
      case ActionKind::kHost:
        return {nodes_.on_host().compute(name, micros, 0, Bytes(0), after)};
      case ActionKind::kSend:
        for (const uint32_t to : node.peers)
          written.push_back(nodes_.send(name, rank_, to, node.tag, node.size, after));
        return written;
      case ActionKind::kReceive:
        for (const uint32_t from : node.peers)
          written.push_back(nodes_.receive(name, from, rank_, node.tag, node.size, after));
        return written;
      default:
        if (is_rooted(node.kind)) nodes_.with("root", int64_t{node.root});
        return {nodes_.collective(name, *collective_of(node.kind), group, node.size, after)};
    }
  }

  const uint32_t rank_;
  NodeWriter nodes_;
  std::map<std::string, Ids> named_;  ///< the last ones of each entry
};

}  // namespace

std::optional<WrongNode> wrong_node_list(const std::vector<ListedNode>& nodes) {
  return ListRules(nodes).first_wrong();
}

uint32_t listed_ranks(const std::vector<ListedNode>& nodes) {
  uint32_t ranks = 0;
  for (const ListedNode& node : nodes) {
    for (const auto* list : {&node.ranks, &node.group, &node.peers})
      for (const uint32_t rank : *list) ranks = std::max(ranks, rank + 1);
  }
  return ranks;
}

GeneratedTraces write_node_list(const std::vector<ListedNode>& nodes, const NodeFiles& set) {
  GeneratedTraces traces{listed_ranks(nodes), 0};
  GroupMembers groups;
  std::vector<std::string> group_of(nodes.size());
  std::vector<std::vector<size_t>> of_rank(traces.ranks);
  for (size_t i = 0; i < nodes.size(); ++i) {
    check_stop();
    for (const uint32_t rank : nodes[i].ranks) of_rank[rank].push_back(i);
    if (!is_collective(nodes[i].kind)) continue;
    group_of[i] = ranks_text(nodes[i].members());
    groups.try_emplace(group_of[i], nodes[i].members());
  }
  for (uint32_t rank = 0; rank < traces.ranks; ++rank) {
    ListedRank file(rank, set.file(rank));
    for (const size_t i : of_rank[rank]) file.write(nodes[i], group_of[i]);
    traces.nodes += file.close();
  }
  write_group_file(groups, set);
  return traces;
}

}  // namespace rankwire
