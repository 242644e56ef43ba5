#include "emulator/workload/matching.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/message.h"
#include "emulator/workload/tolerated.h"

namespace rankwire {
namespace {

/// One end of a point-to-point message, by what it is matched by.
struct End {
  uint32_t source = 0, destination = 0;
  int64_t tag = 0;
  NodePlace at;

  auto key() const { return std::tie(source, destination, tag); }
};

const Node& node_at(const Workload& workload, NodePlace at) {
  return workload.ranks[at.rank].nodes[at.node];
}
Node& node_at(Workload& workload, NodePlace at) {
  return workload.ranks[at.rank].nodes[at.node];
}

std::string place_of(const Workload& workload, NodePlace at) {
  return place(workload.ranks[at.rank].file, node_at(workload, at));
}

/// A rank's nodes of one group in file order.
using Calls = std::vector<uint32_t>;

std::string root_text(const Node& node) {
  return node.peer.valid() ? fmt::format(" with root {}", node.peer.value) : std::string();
}

/// Those that the node lists, or null.
const std::vector<Bytes>* splits_of(const SplitSizes& splits, NodePlace at) {
  const auto listed = splits[at.rank].find(at.node);
  return listed == splits[at.rank].end() ? nullptr : &listed->second;
}

void check_agreement(const Workload& workload, const SplitSizes& splits, const Group& group, NodePlace first,
                     NodePlace other) {
  const Node& a = node_at(workload, first);
  const Node& b = node_at(workload, other);
  const std::vector<Bytes>*of_a = splits_of(splits, first), *of_b = splits_of(splits, other);
  // Members of these have inputs of different sizes.
  const bool uneven = of_a != nullptr && of_b != nullptr &&
                      (a.collective == CollectiveKind::kAllToAll || a.collective == CollectiveKind::kAllGather);
  if (a.collective == b.collective && (uneven || a.bytes == b.bytes) && a.peer == b.peer) {
    const bool alike =
        a.collective == CollectiveKind::kAllToAll || of_a == nullptr || of_b == nullptr || *of_a == *of_b;
    if ((of_a == nullptr) == (of_b == nullptr) && alike) return;
    fail_input("{}: the comm_splits of collective {} of group \"{}\" are not those on {}", place_of(workload, other),
               b.sequence, group.name, place_of(workload, first));
  }
  fail_input("{}: collective {} of group \"{}\" is {} of {} bytes{}, but on {} it is {} of {} bytes{}",
             place_of(workload, other), b.sequence, group.name, to_string(b.collective), b.bytes.count, root_text(b),
             place_of(workload, first), to_string(a.collective), a.bytes.count, root_text(a));
}

void check_number(const Workload& workload, const Group& group, RankId first, const Calls& first_calls, RankId other,
                  const Calls& other_calls) {
  if (first_calls.size() == other_calls.size()) return;
  const bool first_has_more = first_calls.size() > other_calls.size();
  const RankId longer = first_has_more ? first : other;
  const RankId shorter = first_has_more ? other : first;
  const size_t common = std::min(first_calls.size(), other_calls.size());
  const uint32_t node = first_has_more ? first_calls[common] : other_calls[common];
  fail_input("{}: collective {} of group \"{}\" has no counterpart in {}, which has {}",
             place_of(workload, {longer.value, node}), common, group.name, workload.ranks[shorter.value].file, common);
}

void check_group(const Workload& workload, const SplitSizes& splits, const Group& group,
                 const std::vector<Calls>& calls) {
  const RankId first = group.members.front();
  for (size_t m = 1; m < group.members.size(); ++m) {
    const RankId other = group.members[m];
    const size_t common = std::min(calls[0].size(), calls[m].size());
    for (size_t n = 0; n < common; ++n) {
      check_agreement(workload, splits, group, {first.value, calls[0][n]}, {other.value, calls[m][n]});
    }
    check_number(workload, group, first, calls[0], other, calls[m]);
  }
}

/// Numbers the collectives of one rank and enters them into its place of each group.
void collect_calls(Workload& workload, RankId rank, std::vector<std::vector<Calls>>& calls) {
  std::unordered_map<GroupId, Calls*> of_group;
  std::vector<Node>& nodes = workload.ranks[rank.value].nodes;
  for (const uint32_t i : workload.ranks[rank.value].communicating) {
    if (nodes[i].kind != NodeKind::kCollective) continue;
    const Group& group = workload.groups[nodes[i].group.value];
    const auto [own, added] = of_group.try_emplace(nodes[i].group);
    if (added) {
      const auto position = std::ranges::find(group.members, rank) - group.members.begin();
      own->second = &calls[nodes[i].group.value][static_cast<size_t>(position)];
    }
    nodes[i].sequence = static_cast<uint32_t>(own->second->size());
    own->second->push_back(i);
    if (nodes[i].sequence >= MessageId::kMaxSequence) {
      fail_input("{}: group \"{}\" has more than {} collectives", place_of(workload, {rank.value, i}), group.name,
                 MessageId::kMaxSequence);
    }
  }
}

/// The blocks of the n-th collective of a group, whose members agree about it; nothing where all are equal.
void add_blocks(Workload& workload, const SplitSizes& splits, GroupId id, const std::vector<Calls>& calls, size_t n) {
  const std::vector<RankId>& members = workload.groups[id.value].members;
  std::vector<Bytes> begins{Bytes(0)};
  for (size_t m = 0; m < members.size(); ++m) {
    const NodePlace at{members[m].value, calls[m][n]};
    const std::vector<Bytes>* sizes = splits_of(splits, at);
    if (sizes == nullptr) return;
    const Node& node = node_at(workload, at);
    if (sizes->size() != members.size())
      fail_input("{}: {} comm_splits in group \"{}\" of {} members", place_of(workload, at), sizes->size(),
                 workload.groups[id.value].name, members.size());
    if (node.collective == CollectiveKind::kAllGather && node.bytes != (*sizes)[m])
      fail_input("{}: has {} bytes, but the comm_splits have {} for rank {}", place_of(workload, at), node.bytes.count,
                 (*sizes)[m].count, at.rank);
    if (m > 0 && node.collective != CollectiveKind::kAllToAll) continue;  // all list the same
    for (const Bytes size : *sizes) begins.push_back(begins.back() + size);
  }
  workload.blocks.add(id, static_cast<uint32_t>(n), std::move(begins));
}

/// The ends of one kind, those that match each other in file order.
std::vector<End> ends_of(const Workload& workload, NodeKind kind) {
  std::vector<End> ends;
  for (uint32_t rank = 0; rank < workload.ranks.size(); ++rank) {
    const std::vector<Node>& nodes = workload.ranks[rank].nodes;
    for (const uint32_t i : workload.ranks[rank].communicating) {
      if (nodes[i].kind != kind) continue;
      const uint32_t peer = nodes[i].peer.value;
      const bool sends = kind == NodeKind::kSend;
      ends.push_back({sends ? rank : peer, sends ? peer : rank, nodes[i].tag, {rank, i}});
    }
  }
  std::ranges::stable_sort(ends, [](const End& a, const End& b) { return a.key() < b.key(); });
  return ends;
}

[[noreturn]] void fail_unmatched(const Workload& workload, const End& end) {
  const bool sends = node_at(workload, end.at).kind == NodeKind::kSend;
  fail_input("{}: {} rank {} with tag {} has no counterpart in {}", place_of(workload, end.at),
             sends ? "the message to" : "the message from", sends ? end.destination : end.source, end.tag,
             workload.ranks[sends ? end.destination : end.source].file);
}

void check_pair(const Workload& workload, const End& send, const End& receive) {
  const Bytes sent = node_at(workload, send.at).bytes;
  const Bytes received = node_at(workload, receive.at).bytes;
  if (sent == received) return;
  fail_input("{}: sends {} bytes, but its counterpart {} receives {}", place_of(workload, send.at), sent.count,
             place_of(workload, receive.at), received.count);
}

/// Sets `sequence` and `tag_ordinal` of ends that stand in the order of their keys.
void number_ends(Workload& workload, const std::vector<End>& ends) {
  uint32_t sequence = 0, ordinal = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    const bool same_pair =
        i > 0 && ends[i - 1].source == ends[i].source && ends[i - 1].destination == ends[i].destination;
    const bool same_tag = same_pair && ends[i - 1].tag == ends[i].tag;
    sequence = same_tag ? sequence + 1 : 0;
    ordinal = same_tag ? ordinal : same_pair ? ordinal + 1 : 0;
    Node& node = node_at(workload, ends[i].at);
    node.sequence = sequence;
    node.tag_ordinal = ordinal;
    if (sequence >= MessageId::kMaxSequence || ordinal >= MessageId::kMaxSteps) {
      fail_input("{}: more than {} messages with one tag, or {} tags, between ranks {} and {}",
                 place_of(workload, ends[i].at), MessageId::kMaxSequence, MessageId::kMaxSteps, ends[i].source,
                 ends[i].destination);
    }
  }
}

}  // namespace

void match_collectives(Workload& workload, const SplitSizes& splits) {
  // By group and position of the member.
  std::vector<std::vector<Calls>> calls(workload.groups.size());
  for (size_t g = 0; g < calls.size(); ++g) calls[g].resize(workload.groups[g].members.size());
  for (uint32_t rank = 0; rank < workload.ranks.size(); ++rank) collect_calls(workload, RankId(rank), calls);
  for (size_t g = 0; g < calls.size(); ++g) check_group(workload, splits, workload.groups[g], calls[g]);
  if (std::ranges::all_of(splits, [](const auto& of_rank) { return of_rank.empty(); })) return;
  for (uint32_t g = 0; g < calls.size(); ++g) {
    for (size_t n = 0; n < calls[g].front().size(); ++n) add_blocks(workload, splits, GroupId(g), calls[g], n);
  }
}

std::vector<Exchange> match_point_to_point(Workload& workload) {
  const std::vector<End> sends = ends_of(workload, NodeKind::kSend);
  const std::vector<End> receives = ends_of(workload, NodeKind::kReceive);
  std::vector<Exchange> exchanges;
  exchanges.reserve(sends.size());
  for (size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
    // The first difference of the two sorted lists is an end without counterpart: the one with the lesser key.
    const bool send_alone = i >= receives.size() || (i < sends.size() && sends[i].key() < receives[i].key());
    if (send_alone) fail_unmatched(workload, sends[i]);
    if (i >= sends.size() || receives[i].key() < sends[i].key()) fail_unmatched(workload, receives[i]);
    check_pair(workload, sends[i], receives[i]);
    exchanges.push_back({sends[i].at, receives[i].at});
  }
  number_ends(workload, sends);
  number_ends(workload, receives);
  return exchanges;
}

}  // namespace rankwire
