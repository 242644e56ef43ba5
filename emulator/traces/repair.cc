#include "emulator/traces/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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

std::vector<RepairChange> repair_set(const CheckedSet& checked, const CheckOptions& options, const fs::path& folder) {
  std::vector<RankRepair> ranks;
  ranks.reserve(checked.set.ranks.size());
  for (const RankFacts& facts : checked.set.ranks) {
    ranks.emplace_back(facts).repair_file();
    if (options.element_size > Bytes(1)) ranks.back().scale_sizes(options.element_size.count);
  }
  number_tags(checked, ranks);
  align_clocks(checked, ranks);

  const fs::path target = folder / checked.set.files.folder;
  std::vector<RepairChange> changes;
  for (size_t place = 0; place < ranks.size(); ++place) {
    const RankFacts& facts = checked.set.ranks[place];
    if (!facts.nodes.empty()) {
      TraceCopy copy;
      copy.from = facts.path;
      copy.to = (target / name_of_copy(facts.path)).string();
      copy.nodes = facts.nodes.size();
      copy.edit = [&](uint32_t index, chakra::Node& node) { return ranks[place].apply(index, node); };
      if (ranks[place].in_bytes()) copy.edit_metadata = mark_bytes;
      copy_trace(copy);
    }
    for (RepairChange& change : ranks[place].take_changes()) changes.push_back(std::move(change));
  }
  if (!checked.set.files.groups.empty()) {
    const fs::path name = fs::path(checked.set.files.name).filename();
    std::error_code error;
    fs::copy_file(checked.set.files.groups, target / (name.string() + ".json"), error);
    if (error) fail_run("{}: {}", (target / name).string(), error.message());
  }
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
