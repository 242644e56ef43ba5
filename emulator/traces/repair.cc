#include "emulator/traces/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "emulator/traces/check_file.h"
#include "emulator/traces/new_set.h"
#include "emulator/traces/rank_repair.h"
#include "emulator/traces/trace_copy.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

/// Gives every message but the first of those with one (source, destination, tag) a tag that the pair does not use.
void number_tags(const CheckedSet& checked, std::vector<RankRepair>& ranks) {
  using Pair = std::pair<uint32_t, uint32_t>;
  std::map<Pair, std::set<int64_t>> used;
  const auto pair_of = [](const std::pair<NodeRef, NodeRef>& message) {
    return Pair(message.first.place, message.second.place);
  };
  for (const auto& message : checked.matches.messages) {
    used[pair_of(message)].insert(checked.set.node(message.first).tag);
  }
  for (const NodeRef end : checked.matches.unmatched) {
    const NodeFacts& node = checked.set.node(end);
    const bool sends = node.kind == NodeKind::kSend;
    const uint32_t peer = checked.set.place_of[static_cast<size_t>(sends ? *node.destination : *node.source)];
    used[sends ? Pair(end.place, peer) : Pair(peer, end.place)].insert(node.tag);
  }
  std::map<Pair, std::set<int64_t>> met;
  std::map<Pair, int64_t> next;
  for (const auto& message : checked.matches.messages) {
    const Pair pair = pair_of(message);
    if (met[pair].insert(checked.set.node(message.first).tag).second) continue;
    int64_t& tag = next[pair];
    while (used[pair].contains(tag)) ++tag;
    used[pair].insert(tag);
    ranks[message.first.place].set_tag(message.first.node, tag);
    ranks[message.second.place].set_tag(message.second.node, tag);
  }
}

void drop_absurd_sizes(const CheckedSet& checked, Bytes element, std::vector<RankRepair>& ranks) {
  const RankSet& set = checked.set;
  const auto drop = [&](NodeRef at, NodeRef absurd) {
    ranks[at.place].drop_operation(at.node, "absurd-size",
                                   fmt::format("node {} has comm_size {}", set.where(absurd), *set.node(absurd).size));
  };
  const auto is_absurd = [&](NodeRef at) { return has_absurd_size(set.node(at), element); };
  for (const auto& group : checked.matches.collectives) {
    for (const std::vector<NodeRef>& calls : group) {
      const auto absurd = std::ranges::find_if(calls, is_absurd);
      if (absurd == calls.end()) continue;
      for (const NodeRef at : calls) drop(at, *absurd);
    }
  }
  for (const auto& [send, receive] : checked.matches.messages) {
    if (!is_absurd(send) && !is_absurd(receive)) continue;
    drop(send, is_absurd(send) ? send : receive);
    drop(receive, is_absurd(send) ? send : receive);
  }
  for (const NodeRef at : checked.matches.unmatched) {
    if (is_absurd(at)) drop(at, at);
  }
}

void drop_absurd_durations(const RankFacts& facts, RankRepair& rank) {
  for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
    if (has_absurd_duration(facts.nodes[i])) rank.drop_absurd_duration(i);
  }
}

void match_ends(const CheckedSet& checked, RepairOptions::Unmatched how, std::vector<RankRepair>& ranks) {
  for (const NodeRef at : checked.matches.unmatched) {
    const NodeFacts& node = checked.set.node(at);
    const bool sends = node.kind == NodeKind::kSend;
    const auto peer = static_cast<size_t>(sends ? *node.destination : *node.source);
    if (ranks[at.place].drops(at.node)) continue;
    if (how == RepairOptions::Unmatched::kDrop) {
      ranks[at.place].drop_operation(at.node, sends ? "unmatched-send" : "unmatched-receive",
                                     fmt::format("node {} has no counterpart of rank {}", node_text(node), peer));
    } else {
      ranks[checked.set.place_of[peer]].add_counterpart(ranks[at.place], at.node);
    }
  }
}

void align_clocks(const CheckedSet& checked, std::vector<RankRepair>& ranks) {
  if (checked.clock_offsets.empty()) return;
  const Duration latest = std::ranges::max(checked.clock_offsets);
  for (size_t place = 0; place < ranks.size(); ++place) {
    const Duration shift = latest - checked.clock_offsets[place];
    if (shift > Duration()) ranks[place].shift_clock(shift);
  }
}

void mark_bytes(chakra::GlobalMetadata& metadata) {
  chakra::AttributeProto& unit = *metadata.add_attr();
  unit.set_name(kSizeUnit);
  unit.set_string_val("bytes");
}

}  // namespace

std::vector<RepairChange> repair_set(const CheckedSet& checked, const CheckOptions& options, const fs::path& folder,
                                     const RepairOptions& further) {
  std::vector<RankRepair> ranks;
  ranks.reserve(checked.set.ranks.size());
  for (const RankFacts& facts : checked.set.ranks) {
    ranks.emplace_back(facts).repair_file();
    if (options.element_size > Bytes(1)) ranks.back().scale_sizes(options.element_size.count);
    if (further.drop_absurd) drop_absurd_durations(facts, ranks.back());
  }
  if (further.drop_absurd) drop_absurd_sizes(checked, options.element_size, ranks);
  if (further.unmatched != RepairOptions::Unmatched::kKeep) match_ends(checked, further.unmatched, ranks);
  number_tags(checked, ranks);
  align_clocks(checked, ranks);

  const fs::path target = folder / checked.set.files.folder;
  std::vector<RepairChange> changes;
  NewSet made;
  for (size_t place = 0; place < ranks.size(); ++place) {
    const RankFacts& facts = checked.set.ranks[place];
    if (!facts.nodes.empty()) {
      TraceCopy copy;
      copy.from = facts.path;
      copy.to = made.add((target / name_of_copy(facts.path)).string());
      copy.nodes = facts.nodes.size();
      copy.append = ranks[place].added();
      copy.edit = [&](uint32_t index, chakra::Node& node) { return ranks[place].apply(index, node); };
      if (ranks[place].in_bytes()) copy.edit_metadata = mark_bytes;
      copy_trace(copy);
    }
    for (RepairChange& change : ranks[place].take_changes()) changes.push_back(std::move(change));
  }
  if (!checked.set.files.groups.empty()) {
    const std::string name = fs::path(checked.set.files.name).filename().string() + ".json";
    std::error_code error;
    fs::copy_file(checked.set.files.groups, made.add((target / name).string()), error);
    if (error) fail_run("{}: {}", (target / name).string(), error.message());
  }
  made.keep();
  return changes;
}

nlohmann::ordered_json to_json(const std::vector<RepairChange>& changes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RepairChange& change : changes) {
    nlohmann::ordered_json json = to_json(change.finding);
    for (const char* key : {"severity", "meaning", "right"}) json.erase(key);
    json["done"] = change.done;
    list.push_back(json);
  }
  return list;
}

std::string to_text(const std::vector<RepairChange>& changes) {
  std::string text;
  std::set<const Symptom*> told;
  for (const RepairChange& first : changes) {
    if (!told.insert(first.finding.symptom).second) continue;
    uint64_t files = 0, count = 0;
    for (const RepairChange& change : changes) {
      if (change.finding.symptom != first.finding.symptom) continue;
      ++files;
      count += change.finding.count;
    }
    text += fmt::format("repaired: {}, {} times in {} files: {}; first: {}: {}\n", first.finding.symptom->code, count,
                        files, first.done, first.finding.file, first.finding.what);
  }
  return text;
}

}  // namespace rankwire
