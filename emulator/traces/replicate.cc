#include "emulator/traces/replicate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "emulator/traces/groups_file.h"
#include "emulator/traces/new_set.h"
#include "emulator/traces/trace_copy.h"

namespace rankwire {
namespace {

class Replication {
 public:
  Replication(const RankSet& set, const ReplicateOptions& options)
      : set_(set), options_(options), originals_(static_cast<uint32_t>(set.ranks.size())) {
    result_.ranks = originals_ * options.replicas;
    check_ranks();
    for (const Group& group : set.groups) used_.insert(group.name);
    for (const std::string& name : options.across) {
      if (!used_.contains(name)) fail_input("--across {}: no collective is of that group", name);
    }
    for (const RankFacts& facts : set.ranks) find_names(facts);
    for (uint32_t g = 0; g < set.groups.size(); ++g) add_group(g);
  }

  ReplicatedSet write() {
    for (uint32_t replica = 0; replica < options_.replicas; ++replica) {
      for (uint32_t place = 0; place < originals_; ++place) write_rank(replica, place);
    }
    if (!result_.groups.empty()) write_groups_file(files_.add(options_.prefix + ".json"), result_.groups);
    files_.keep();
    return std::move(result_);
  }

 private:
  void check_ranks() const {
    for (uint32_t place = 0; place < originals_; ++place) {
      const RankFacts& facts = set_.ranks[place];
      if (!facts.unreadable.empty()) fail_input("{}", facts.unreadable);
      if (facts.nodes.empty()) fail_input("{}: has no nodes", facts.path);
      if (facts.rank != place) fail_input("{}: the trace of rank {} is missing", set_.files.name, place);
    }
    if (uint64_t{originals_} * options_.replicas > INT32_MAX) fail_input("{} replicas are too many", options_.replicas);
  }

  /// By what name each group is called; "" where it has none.
  void find_names(const RankFacts& facts) {
    names_.resize(set_.groups.size());
    for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
      const uint32_t g = set_.group_of[facts.rank][i];
      if (g == RankSet::kNone) continue;
      called_.insert(g);
      // A group of all ranks that nobody has defined stays without a name.
      const std::string& name = facts.group_names[facts.nodes[i].group];
      if (set_.groups[g].name == name) names_[g] = name;
    }
  }

  bool spans_replicas(uint32_t g) const {
    const Group& group = set_.groups[g];
    const bool incomplete = std::ranges::any_of(group.members, [&](RankId m) { return m.value >= originals_; });
    const bool named = std::ranges::find(options_.across, group.name) != options_.across.end();
    return names_[g].empty() || incomplete || named;
  }

  void add_group(uint32_t g) {
    const bool spans = spans_replicas(g);
    name_of_.emplace_back(options_.replicas);
    if (names_[g].empty()) {
      if (called_.contains(g)) result_.across.emplace_back("");
      return;
    }
    for (uint32_t replica = 0; replica < (spans ? 1 : options_.replicas); ++replica) {
      Group group{.name = new_name(names_[g], replica)};
      for (uint32_t from = replica; from < (spans ? options_.replicas : replica + 1); ++from) {
        for (const RankId member : set_.groups[g].members) {
          if (member.value < originals_) group.members.push_back(RankId(from * originals_ + member.value));
        }
      }
      name_of_[g][replica] = group.name;
      if (spans) std::ranges::fill(name_of_[g], group.name);
      result_.groups.push_back(std::move(group));
    }
    if (spans) result_.across.push_back(name_of_[g].front());
  }

  /// Names that are numbers stay numbers: some consumers read them so.
  std::string new_name(const std::string& name, uint32_t replica) {
    if (replica == 0 && given_.insert(name).second) return name;
    const bool number = std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
    std::string fresh = number ? std::to_string(next_number_) : fmt::format("{}_r{}", name, replica);
    while (!used_.insert(fresh).second) fresh = number ? std::to_string(++next_number_) : fresh + "_";
    return fresh;
  }

  void write_rank(uint32_t replica, uint32_t place) {
    const uint32_t rank = replica * originals_ + place;
    TraceCopy copy;
    copy.from = set_.ranks[place].path;
    copy.to = files_.add(fmt::format("{}.{}.et", options_.prefix, rank));
    copy.edit = [&](uint32_t index, chakra::Node& node) {
      edit(replica, {place, index}, node);
      ++result_.nodes;
      return true;
    };
    copy_trace(copy);
    result_.file_names.push_back(copy.to);
  }

  void edit(uint32_t replica, NodeRef at, chakra::Node& node) {
    const NodeFacts& facts = set_.node(at);
    const uint32_t first = replica * originals_;
    if (const uint32_t g = set_.group_of[at.place][at.node]; g != RankSet::kNone) {
      const std::string& name = name_of_[g][replica];
      if (!name.empty()) set_text(node, "pg_name", name);
      if (facts.has_splits && spans_replicas(g))
        fail_input("{}: comm_splits name the members of one replica, but group \"{}\" would span {}", set_.where(at),
                   set_.groups[g].name, options_.replicas);
      if (facts.root && !spans_replicas(g)) set_integer(node, "root", *facts.root + first);
    }
    if (facts.kind == NodeKind::kSend || facts.kind == NodeKind::kReceive) {
      for (const auto& [name, peer] : {std::pair{"comm_src", facts.source}, std::pair{"comm_dst", facts.destination}}) {
        if (!peer) continue;
        if (*peer < 0 || *peer >= originals_) {
          fail_input("{}: {} is {}, which has no trace; replicas cannot stand in for it", set_.where(at), name, *peer);
        }
        set_integer(node, name, *peer + first);
      }
    }
    if (defines_groups(node))
      node.mutable_inputs()->set_values(groups_metadata(result_.groups, RankId(first + at.place)));
  }

  const RankSet& set_;
  const ReplicateOptions& options_;
  const uint32_t originals_;
  std::vector<std::string> names_;  ///< by group
  std::set<uint32_t> called_;
  std::vector<std::vector<std::string>> name_of_;  ///< by group and replica
  std::set<std::string> used_, given_;
  uint64_t next_number_ = 1;
  NewSet files_;
  ReplicatedSet result_;
};

}  // namespace

ReplicatedSet replicate(const RankSet& set, const ReplicateOptions& options) {
  return Replication(set, options).write();
}

}  // namespace rankwire
