#include "emulator/workload/folding.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/message.h"
#include "base/name_pattern.h"
#include "emulator/workload/node_reader.h"
#include "proto/attributes.h"

namespace rankwire {
namespace {

template <class Value>
void append_value(std::string& key, Value value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  key.append(bytes, sizeof value);
}

/// A sequence of operations, by their number and a hash of what they are.
struct Digest {
  uint64_t count = 0, hash = 0;
  bool operator==(const Digest&) const = default;

  void add(uint64_t value) {
    ++count;
    hash = mix64(hash + 0x9E3779B97F4A7C15u + mix64(value));
  }
};

uint64_t value_of(const Node& node) {
  if (node.kind != NodeKind::kCollective) return static_cast<uint64_t>(node.bytes.count);
  const uint64_t kind = uint64_t{node.peer.value} << 8 | static_cast<uint64_t>(node.collective);
  return mix64(kind) + static_cast<uint64_t>(node.bytes.count);
}

class LikeRanks {
 public:
  LikeRanks(const Workload& workload, std::span<const LikeOrder> orders) : workload_(workload), orders_(orders) {
    for (uint32_t rank = 0; rank < workload.ranks.size(); ++rank) {
      std::vector<uint32_t>& meeting = meeting_.emplace_back();
      for (const Node& node : workload.ranks[rank].nodes) meeting.push_back(meeting_of(rank, node));
    }
  }

  bool match() { return match_groups() && match_messages(); }

  /// A SEND is done at once, a RECV when its message is sent, a collective when all members have come to it.
  bool run_one_by_one() {
    next_.assign(workload_.ranks.size(), 0);
    waiting_.assign(workload_.groups.size(), {});
    for (uint32_t rank = 0; rank < workload_.ranks.size(); ++rank) to_visit_.push_back(rank);
    while (!to_visit_.empty()) {
      const uint32_t rank = to_visit_.back();
      to_visit_.pop_back();
      while (next_[rank] < orders_[rank].size() && passes(rank, orders_[rank][next_[rank]])) ++next_[rank];
    }
    for (uint32_t rank = 0; rank < workload_.ranks.size(); ++rank) {
      if (next_[rank] < orders_[rank].size()) return false;
    }
    return true;
  }

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;

  /// Messages from one rank to another with one tag.
  struct Messages {
    Digest sent, received;
    uint64_t on_their_way = 0;
    uint32_t receiver = kNobody;  ///< which waits for the next one
  };

  /// The group, or the place among `messages_`.
  uint32_t meeting_of(uint32_t rank, const Node& node) {
    if (node.kind == NodeKind::kCollective) return node.group.value;
    const bool sends = node.kind == NodeKind::kSend;
    const auto [known, added] =
        places_.try_emplace(std::make_tuple(sends ? rank : node.peer.value, sends ? node.peer.value : rank, node.tag),
                            static_cast<uint32_t>(messages_.size()));
    if (added) messages_.emplace_back();
    return known->second;
  }

  bool match_groups() {
    std::vector<Digest> first(workload_.groups.size());
    std::vector<uint32_t> members(workload_.groups.size());
    for (uint32_t rank = 0; rank < orders_.size(); ++rank) {
      std::map<uint32_t, Digest> own;
      const std::vector<Node>& nodes = workload_.ranks[rank].nodes;
      std::vector<Digest*> digest_of(nodes.size());
      for (size_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].kind == NodeKind::kCollective) digest_of[n] = &own[meeting_[rank][n]];
      }
      for (const uint16_t n : orders_[rank]) {
        if (digest_of[n] != nullptr) digest_of[n]->add(value_of(nodes[n]));
      }
      for (const auto& [group, digest] : own) {
        if (members[group]++ == 0) first[group] = digest;
        if (first[group] != digest || digest.count > MessageId::kMaxSequence) return false;
      }
    }
    for (size_t g = 0; g < members.size(); ++g) {
      if (members[g] != 0 && members[g] != workload_.groups[g].members.size()) return false;
    }
    return true;
  }

  bool match_messages() {
    for (uint32_t rank = 0; rank < orders_.size(); ++rank) {
      const std::vector<Node>& nodes = workload_.ranks[rank].nodes;
      for (const uint16_t n : orders_[rank]) {
        if (nodes[n].kind == NodeKind::kCollective) continue;
        Messages& messages = messages_[meeting_[rank][n]];
        (nodes[n].kind == NodeKind::kSend ? messages.sent : messages.received).add(value_of(nodes[n]));
      }
    }
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> tags;
    for (const auto& [ends, place] : places_) {
      const Messages& messages = messages_[place];
      if (messages.sent != messages.received || messages.sent.count > MessageId::kMaxSequence) return false;
      if (++tags[{std::get<0>(ends), std::get<1>(ends)}] > MessageId::kMaxSteps) return false;
    }
    return true;
  }

  /// Whether the rank goes on behind its next operation, now.
  bool passes(uint32_t rank, uint16_t n) {
    const Node& node = workload_.ranks[rank].nodes[n];
    const uint32_t meeting = meeting_[rank][n];
    if (node.kind == NodeKind::kCollective) return passes_collective(rank, meeting);
    Messages& messages = messages_[meeting];
    if (node.kind == NodeKind::kSend) {
      ++messages.on_their_way;
      if (messages.receiver != kNobody) to_visit_.push_back(std::exchange(messages.receiver, kNobody));
      return true;
    }
    if (messages.on_their_way == 0) messages.receiver = rank;
    return messages.on_their_way > 0 && messages.on_their_way-- > 0;
  }

  bool passes_collective(uint32_t rank, uint32_t group) {
    std::vector<uint32_t>& waiting = waiting_[group];
    if (waiting.size() + 1 < workload_.groups[group].members.size()) {
      waiting.push_back(rank);
      return false;
    }
    for (const uint32_t other : waiting) ++next_[other], to_visit_.push_back(other);
    waiting.clear();
    return true;
  }

  const Workload& workload_;
  const std::span<const LikeOrder> orders_;
  std::vector<std::vector<uint32_t>> meeting_;  ///< by rank and kept node
  std::vector<Messages> messages_;
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, uint32_t> places_;  ///< by source, destination and tag
  std::vector<uint64_t> next_;                                          ///< by rank: of its order
  std::vector<std::vector<uint32_t>> waiting_;                          ///< by group: members that have come
  std::vector<uint32_t> to_visit_;
};

}  // namespace

void LikeNodes::count_name(std::string_view name) {
  constexpr size_t kRecent = 1 << 10;
  if (recent_names_.empty()) recent_names_.resize(kRecent);
  const uint64_t hash = std::hash<std::string_view>()(name);
  uint64_t& recent = recent_names_[hash % kRecent];
  if (recent == hash) return;
  recent = hash;
  name_bytes_ += name.size();
}

std::optional<uint16_t> LikeNodes::number_of(const TraceNode& in, const Node& node) {
  count_name(node.name);
  key_.clear();
  append_value(key_, node.kind);
  append_value(key_, node.bytes.count);
  if (node.kind == NodeKind::kCollective) {
    append_value(key_, node.collective);
    append_value(key_, integer_attribute(in, "root").value_or(-1));
    key_ += group_name(in);
  } else {
    append_value(key_, node.peer.value);
    append_value(key_, node.tag);
    if (node.kind == NodeKind::kSend) append_pattern(key_, node.name);
  }
  const auto known = numbers_.find(key_);
  if (known != numbers_.end()) return known->second;
  if (numbers_.size() == kMost) return std::nullopt;
  const auto number = static_cast<uint16_t>(numbers_.size());
  numbers_.emplace(key_, number);
  return number;
}

bool folded_ranks_go_together(const Workload& workload, std::span<const LikeOrder> orders) {
  LikeRanks ranks(workload, orders);
  return ranks.match() && ranks.run_one_by_one();
}

}  // namespace rankwire
