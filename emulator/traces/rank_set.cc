#include "emulator/traces/rank_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/on_threads.h"
#include "emulator/workload/group_table.h"
#include "emulator/workload/process_groups.h"

namespace rankwire {
namespace {

/// How many ranks there are, and who says so.
class World {
 public:
  explicit World(RankSet& set) : set_(set) {
    for (const uint32_t rank : set.files.ranks_on_disk) set_.world = std::max(set_.world, rank + 1);
  }

  void at_least(int64_t ranks, const std::string& says) {
    if (ranks <= set_.world || ranks > INT32_MAX) return;
    set_.world = static_cast<uint32_t>(ranks);
    set_.world_says = says;
  }

  void read(const GroupDefinition& group, const std::string& file) {
    const std::string says = fmt::format("group \"{}\" of {} has", group.name, file);
    if (group.ranks.empty()) at_least(group.size, fmt::format("{} {} ranks", says, group.size));
    for (const int64_t rank : group.ranks) at_least(rank + 1, fmt::format("{} rank {}", says, rank));
  }

  void read(const RankFacts& facts) {
    for (const GroupDefinition& group : facts.groups) read(group, facts.path);
    for (const NodeFacts& node : facts.nodes) {
      if (!node.communicates()) continue;
      const std::string says = fmt::format("{}: node {}", facts.path, node_text(node));
      at_least(node.group_size, fmt::format("{} is of a group of {} ranks", says, node.group_size));
      for (const auto& peer : {node.source, node.destination}) {
        if (peer) at_least(*peer + 1, fmt::format("{} names rank {}", says, *peer));
      }
    }
    read_lone(facts);
  }

 private:
  /// NCCL runs no kernel for a communicator of one.
  void read_lone(const RankFacts& facts) {
    if (set_.world > 1) return;
    for (const NodeFacts& node : facts.nodes) {
      if (!node.communicates() || node.on_cpu) continue;
      at_least(2, fmt::format("{}: node {} communicates, which takes another rank at least; the trace is alone",
                              facts.path, node_text(node)));
      return;
    }
  }

  RankSet& set_;
};

std::vector<uint32_t> absent_ranks(const RankSet& set) {
  std::vector<uint32_t> absent;
  for (uint32_t rank = 0; rank < set.world; ++rank) {
    if (!std::ranges::binary_search(set.files.ranks_on_disk, rank)) absent.push_back(rank);
  }
  return absent;
}

/// Resolves the names of groups rank by rank.
class GroupFinder {
 public:
  GroupFinder(RankSet& set, const std::vector<GroupDefinition>& shared, Findings& findings)
      : set_(set), findings_(findings), table_(set.world) {
    for (const GroupDefinition& group : shared) {
      attempt(set.files.groups, std::nullopt, [&] { table_.define(group, set.files.groups); });
    }
    for (const RankFacts& facts : set.ranks) {
      for (const GroupDefinition& group : facts.groups) {
        attempt(facts.path, facts.rank, [&] { table_.define_on(RankId(facts.rank), group, facts.path); });
      }
    }
  }

  void resolve() {
    for (const RankFacts& facts : set_.ranks) set_.group_of.push_back(groups_of(facts));
    set_.groups = table_.take_groups();
  }

 private:
  template <class Define>
  void attempt(const std::string& file, std::optional<uint32_t> rank, const Define& define) {
    try {
      define();
    } catch (const Error& error) {
      findings_.add("bad-value", file, rank, std::nullopt, error.what());
    }
  }

  std::vector<uint32_t> groups_of(const RankFacts& facts) {
    std::vector<std::optional<uint32_t>> known(facts.group_names.size());
    std::vector<uint32_t> groups(facts.nodes.size(), RankSet::kNone);
    for (size_t i = 0; i < facts.nodes.size(); ++i) {
      const NodeFacts& node = facts.nodes[i];
      if (node.group == NodeFacts::kNoName) continue;
      if (!known[node.group]) known[node.group] = group_of(facts, node);
      groups[i] = *known[node.group];
    }
    return groups;
  }

  uint32_t group_of(const RankFacts& facts, const NodeFacts& node) {
    try {
      return table_.resolve(facts.group_names[node.group], RankId(facts.rank)).value;
    } catch (const Error& error) {
      const bool outside = std::string_view(error.what()).find("is not in group") != std::string_view::npos;
      findings_.add(outside ? "not-a-member" : "unknown-group", facts.path, facts.rank, node.id,
                    fmt::format("node {}: {}", node_text(node), error.what()));
      return RankSet::kNone;
    }
  }

  RankSet& set_;
  Findings& findings_;
  GroupTable table_;
};

/// What members of a collective must agree about.
struct Call {
  int64_t kind = 0, size = 0, root = 0;
  auto operator<=>(const Call&) const = default;
};

Call call_of(const NodeFacts& node) {
  const int64_t kind = node.collective.value_or(0);
  const bool barrier = kind == static_cast<int64_t>(CollectiveKind::kBarrier);
  const bool uneven = node.has_splits && kind != static_cast<int64_t>(CollectiveKind::kReduceScatter);
  // Of a size below 0 nothing is known.
  return {kind, barrier ? 0 : uneven ? -1 : node.size.value_or(-1), node.root.value_or(-1)};
}

std::string call_text(const Call& call) {
  const bool known = call.kind >= 0 && call.kind <= static_cast<int64_t>(CollectiveKind::kBarrier);
  const std::string kind =
      known ? to_string(static_cast<CollectiveKind>(call.kind)) : fmt::format("comm_type {}", call.kind);
  const std::string root = call.root >= 0 ? fmt::format(" with root {}", call.root) : "";
  return fmt::format("{} of {} bytes{}", kind, call.size, root);
}

class CollectiveMatcher {
 public:
  CollectiveMatcher(const RankSet& set, Findings& findings) : set_(set), findings_(findings) {}

  std::vector<std::vector<std::vector<NodeRef>>> match() {
    std::vector<std::vector<std::vector<NodeRef>>> collectives;
    for (uint32_t g = 0; g < set_.groups.size(); ++g) {
      const std::vector<Calls> members = calls_of(g);
      if (!members.empty()) compare(set_.groups[g], members);
      std::vector<std::vector<NodeRef>>& numbered = collectives.emplace_back();
      for (const Calls& calls : members) {
        if (calls.size() > numbered.size()) numbered.resize(calls.size());
        for (size_t n = 0; n < calls.size(); ++n) numbered[n].push_back(calls[n]);
      }
    }
    return collectives;
  }

 private:
  using Calls = std::vector<NodeRef>;

  /// Of the members that have a file, in the order of members. A member that calls nothing has an empty list.
  std::vector<Calls> calls_of(uint32_t group) {
    if (by_group_.empty()) {
      by_group_.resize(set_.groups.size(), std::vector<Calls>(set_.ranks.size()));
      for (uint32_t place = 0; place < set_.ranks.size(); ++place) {
        for (uint32_t i = 0; i < set_.group_of[place].size(); ++i) {
          const uint32_t g = set_.group_of[place][i];
          if (g != RankSet::kNone) by_group_[g][place].push_back({place, i});
        }
      }
    }
    std::vector<Calls> calls;
    places_.clear();
    for (const RankId member : set_.groups[group].members) {
      const uint32_t place = set_.place_of[member.value];
      if (place == RankSet::kNone) continue;
      places_.push_back(place);
      calls.push_back(std::move(by_group_[group][place]));
    }
    return calls;
  }

  void compare(const Group& group, const std::vector<Calls>& members) {
    for (size_t m = 1; m < members.size(); ++m) {
      const Calls &first = members[0], &other = members[m];
      if (first.size() != other.size()) {
        compare_number(group, first, other, places_[0], places_[m]);
      } else if (!same(first, other)) {
        compare_calls(group, first, other);
      }
    }
  }

  bool same(const Calls& a, const Calls& b) const {
    return std::ranges::equal(
        a, b, {}, [&](NodeRef at) { return call_of(set_.node(at)); },
        [&](NodeRef at) { return call_of(set_.node(at)); });
  }

  void compare_number(const Group& group, const Calls& first, const Calls& other, uint32_t first_place,
                      uint32_t other_place) {
    const bool first_has_more = first.size() > other.size();
    const Calls &longer = first_has_more ? first : other, &shorter = first_has_more ? other : first;
    const RankFacts& lacking = set_.ranks[first_has_more ? other_place : first_place];
    // Where the calls stop to agree is where one is missing.
    size_t n = 0;
    while (n < shorter.size() && call_of(set_.node(longer[n])) == call_of(set_.node(shorter[n]))) ++n;
    findings_.add(
        "absent-member", lacking.path, lacking.rank, std::nullopt,
        fmt::format("calls group \"{}\" {} times, but {} has {} calls; the first without counterpart is {}", group.name,
                    shorter.size(), set_.ranks[longer.front().place].path, longer.size(), set_.where(longer[n])));
  }

  void compare_calls(const Group& group, const Calls& first, const Calls& other) {
    std::vector<Call> sorted[2];
    for (size_t side = 0; side < 2; ++side) {
      for (const NodeRef at : side == 0 ? first : other) sorted[side].push_back(call_of(set_.node(at)));
      std::ranges::sort(sorted[side]);
    }
    const bool reordered = sorted[0] == sorted[1];
    for (size_t n = 0; n < first.size(); ++n) {
      const Call a = call_of(set_.node(first[n])), b = call_of(set_.node(other[n]));
      if (a == b || a.size < 0 || b.size < 0) continue;
      const RankFacts& facts = set_.ranks[other[n].place];
      const char* code = reordered                              ? "collective-order"
                         : a.kind != b.kind || a.root != b.root ? "collective-kind"
                                                                : "collective-size";
      findings_.add(code, facts.path, facts.rank, set_.node(other[n]).id,
                    fmt::format("collective {} of group \"{}\" is node {}: {}; on {} it is {}", n, group.name,
                                node_text(set_.node(other[n])), call_text(b), set_.where(first[n]), call_text(a)));
    }
  }

  const RankSet& set_;
  Findings& findings_;
  std::vector<std::vector<Calls>> by_group_;  ///< by group and place
  std::vector<uint32_t> places_;              ///< of what `calls_of` returned last
};

/// One end of a message by what it is matched by, in file order.
struct End {
  int64_t source = 0, destination = 0, tag = 0;
  NodeRef at;

  auto key() const { return std::tie(source, destination, tag); }
};

class MessageMatcher {
 public:
  MessageMatcher(const RankSet& set, Findings& findings) : set_(set), findings_(findings) {}

  void match(Matches& matches) {
    const std::vector<End> sends = ends_of(NodeKind::kSend), receives = ends_of(NodeKind::kReceive);
    for (size_t s = 0, r = 0; s < sends.size() || r < receives.size();) {
      const bool send_alone = r == receives.size() || (s < sends.size() && sends[s].key() < receives[r].key());
      const bool receive_alone = !send_alone && (s == sends.size() || receives[r].key() < sends[s].key());
      if (send_alone) {
        matches.unmatched.push_back(sends[s].at);
        unmatched("unmatched-send", sends[s++], "goes to");
      } else if (receive_alone) {
        matches.unmatched.push_back(receives[r].at);
        unmatched("unmatched-receive", receives[r++], "comes from");
      } else {
        compare(sends[s].at, receives[r].at);
        if (s > 0 && sends[s - 1].key() == sends[s].key()) note_repeated(sends[s]);
        matches.messages.emplace_back(sends[s++].at, receives[r++].at);
      }
    }
    std::ranges::sort(matches.unmatched, {}, [](NodeRef at) { return std::pair(at.place, at.node); });
  }

 private:
  /// Those of ranks and peers that are there and possible.
  std::vector<End> ends_of(NodeKind kind) const {
    std::vector<End> ends;
    for (uint32_t place = 0; place < set_.ranks.size(); ++place) {
      const RankFacts& facts = set_.ranks[place];
      for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
        const NodeFacts& node = facts.nodes[i];
        const std::optional<int64_t> peer = kind == NodeKind::kSend ? node.destination : node.source;
        if (node.kind != kind || !peer || *peer < 0 || *peer >= set_.world || *peer == facts.rank) continue;
        if (set_.place_of[static_cast<size_t>(*peer)] == RankSet::kNone) continue;
        const bool sends = kind == NodeKind::kSend;
        ends.push_back({sends ? facts.rank : *peer, sends ? *peer : facts.rank, node.tag, {place, i}});
      }
    }
    std::ranges::stable_sort(ends, [](const End& a, const End& b) { return a.key() < b.key(); });
    return ends;
  }

  void unmatched(const char* code, const End& end, const char* direction) {
    const RankFacts& facts = set_.ranks[end.at.place];
    const int64_t peer = end.source == facts.rank ? end.destination : end.source;
    findings_.add(
        code, facts.path, facts.rank, set_.node(end.at).id,
        fmt::format("node {} {} rank {} with tag {} and {} bytes; {} has no counterpart", node_text(set_.node(end.at)),
                    direction, peer, end.tag, set_.node(end.at).size.value_or(0),
                    set_.ranks[set_.place_of[static_cast<size_t>(peer)]].path));
  }

  void compare(NodeRef send, NodeRef receive) {
    const NodeFacts &from = set_.node(send), &to = set_.node(receive);
    if (from.size == to.size || !from.size || !to.size) return;
    const RankFacts& facts = set_.ranks[send.place];
    findings_.add("message-size", facts.path, facts.rank, from.id,
                  fmt::format("node {} sends {} bytes, but {} receives {}", node_text(from), *from.size,
                              set_.where(receive), *to.size));
  }

  void note_repeated(const End& end) {
    const RankFacts& facts = set_.ranks[end.at.place];
    findings_.add("repeated-tag", facts.path, facts.rank, set_.node(end.at).id,
                  fmt::format("node {} is another message to rank {} with tag {}", node_text(set_.node(end.at)),
                              end.destination, end.tag));
  }

  const RankSet& set_;
  Findings& findings_;
};

}  // namespace

std::string ranges_text(const std::vector<uint32_t>& sorted) {
  std::string text;
  for (size_t i = 0; i < sorted.size();) {
    size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", sorted[i]);
    if (last > i) text += fmt::format("{}{}", last > i + 1 ? " to " : ", ", sorted[last]);
    i = last + 1;
  }
  return text;
}

RankSet read_set(const TraceFileSet& files, const CheckOptions& options, Findings& findings,
                 std::atomic<uint64_t>& done) {
  std::vector<RankFacts> ranks(files.files.size());
  on_all_processors(ranks.size(), [&](size_t place) {
    ranks[place] = read_facts(files.files[place].path, files.files[place].rank);
    ++done;
  });
  count_from_first(ranks);
  choose_carrier(ranks);
  return make_set(files, std::move(ranks), options, findings);
}

RankSet make_set(const TraceFileSet& files, std::vector<RankFacts> ranks, const CheckOptions& options,
                 Findings& findings) {
  RankSet set;
  set.files = files;
  set.ranks = std::move(ranks);
  for (const TraceFile& file : files.doubles) {
    findings.add("two-files", file.path, file.rank, std::nullopt,
                 fmt::format("rank {} has another trace beside it", file.rank));
  }
  const std::vector<GroupDefinition> shared =
      files.groups.empty() ? std::vector<GroupDefinition>() : read_groups_file(files.groups);

  World world(set);
  if (options.ranks) world.at_least(*options.ranks, fmt::format("the run had {} ranks", *options.ranks));
  for (const GroupDefinition& group : shared) world.read(group, files.groups);
  for (const RankFacts& facts : set.ranks) world.read(facts);

  const std::vector<uint32_t> absent = absent_ranks(set);
  if (!absent.empty()) {
    const std::string says = set.world_says.empty()
                                 ? fmt::format("there is a trace of rank {}", files.ranks_on_disk.back())
                                 : set.world_says;
    const bool one = absent.size() == 1;
    findings.add(
        "absent-rank", files.name, std::nullopt, std::nullopt,
        fmt::format("{} {} {} missing: {}", one ? "rank" : "ranks", ranges_text(absent), one ? "is" : "are", says));
  }
  set.place_of.assign(set.world, RankSet::kNone);
  for (uint32_t place = 0; place < set.ranks.size(); ++place) set.place_of[set.ranks[place].rank] = place;
  GroupFinder(set, shared, findings).resolve();
  return set;
}

Matches match_operations(const RankSet& set, Findings& findings) {
  Matches matches{.collectives = CollectiveMatcher(set, findings).match()};
  MessageMatcher(set, findings).match(matches);
  return matches;
}

}  // namespace rankwire
