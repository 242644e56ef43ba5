#include "converters/missing_ranks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "converters/call_writer.h"
#include "converters/equal_groups.h"
#include "proto/attributes.h"
#include "proto/trace_stream.h"

namespace rankwire {
namespace {

using Ranks = std::vector<int64_t>;

/// A group as a rank uses it.
struct UsedGroup {
  Ranks members;
  uint32_t kind = 0;     ///< see GroupNames
  bool defined = false;  ///< else it is of all ranks
  bool by_place =
      false;           ///< the rank sends, receives, has a root or parts of its own: what it does depends on its place
  uint64_t calls = 0;  ///< a digest of its collectives, kinds and sizes, in their order
};

/// A recorded rank with what its trace shows.
struct Original {
  uint32_t rank = 0;
  uint64_t unknown = 0;  ///< as of RecordedRank
  std::string file;
  uint64_t bytes = 0;
  std::map<std::string, UsedGroup> used;  ///< by name
};

/// Which groups of an original a copy gets: names and members by the original's name.
using CopiedGroups = std::map<std::string, ProcessGroup>;

/// "0" stands for all ranks where no group has the tag.
const std::string& group_of_tag(const Original& original, int64_t tag) {
  static const std::string all = "0";
  for (const auto& [name, group] : original.used) {
    if (message_tag(name) == tag) return name;
  }
  return all;
}

class RankCopies {
 public:
  RankCopies(const std::vector<RecordedRank>& recorded, uint32_t ranks, Conversion& conversion)
      : ranks_(ranks), conversion_(conversion) {
    for (const RecordedRank& rank : recorded) {
      names_.add(rank.groups);
      originals_.push_back(read(rank));
    }
  }

  void write(const std::vector<uint32_t>& missing, bool force) {
    std::map<uint32_t, Ranks> copies;  // by the place of the original
    uint64_t bytes = 0;
    for (const uint32_t rank : missing) {
      const uint32_t original = original_of(rank);
      copies[original].push_back(rank);
      bytes += originals_[original].bytes;
    }
    if (bytes > kMostCopied && !force) {
      fail_input("copies for {} ranks take {} MiB; --force writes more than {}", missing.size(), bytes >> 20,
                 kMostCopied >> 20);
    }
    for (const auto& [original, of] : copies) {
      for (const int64_t rank : of) copy(originals_[original], static_cast<uint32_t>(rank));
      conversion_.assumptions.push_back(
          fmt::format("ranks {} do what rank {} does", ranks_text(of), originals_[original].rank));
      if (const uint64_t unknown = originals_[original].unknown; unknown > 0) {
        conversion_.warnings.push_back(
            fmt::format("ranks {} lack communication as rank {} does, of which {} operations are computations: what is "
                        "sent is less than in the job, and a run of these traces is faster than it",
                        ranks_text(of), originals_[original].rank, unknown));
      }
    }
  }

 private:
  Original read(const RecordedRank& rank) const {
    Original original{
        .rank = rank.rank, .unknown = rank.unknown, .file = trace_file(conversion_.prefix, rank.rank), .used = {}};
    original.bytes = std::filesystem::file_size(original.file);
    std::map<uint32_t, std::string> name_of_tag = {{message_tag("0"), "0"}};
    for (const ProcessGroup& group : rank.groups) name_of_tag.emplace(message_tag(group.name), group.name);
    const auto used = [&](const std::string& name) -> UsedGroup& {
      const auto [at, added] = original.used.try_emplace(name);
      const auto group = std::ranges::find(rank.groups, name, &ProcessGroup::name);
      if (!added) return at->second;
      at->second.defined = group != rank.groups.end() && !group->ranks.empty();
      at->second.members = at->second.defined ? group->ranks : all_ranks(ranks_);
      at->second.kind = GroupNames::kind(rank.groups, name);
      return at->second;
    };
    TraceReader reader(original.file);
    for (TraceNode node; reader.next(node);) {
      if (node.type == chakra::COMM_COLL_NODE) {
        UsedGroup& group = used(string_attribute(node, "pg_name").value_or("0"));
        const auto kind = static_cast<uint64_t>(integer_attribute(node, "comm_type").value_or(0));
        const auto size = static_cast<uint64_t>(integer_attribute(node, "comm_size").value_or(0));
        group.by_place = group.by_place || integer_attribute(node, "root") || string_attribute(node, "comm_splits");
        group.calls = ((group.calls * 1099511628211u) ^ kind) * 1099511628211u ^ size;
      } else if (node.type == chakra::COMM_SEND_NODE || node.type == chakra::COMM_RECV_NODE) {
        const auto tag = static_cast<uint32_t>(integer_attribute(node, "comm_tag").value_or(0));
        const auto name = name_of_tag.find(tag);
        used(name == name_of_tag.end() ? "0" : name->second).by_place = true;
      }
    }
    return original;
  }

  /// The place of the recorded rank that `rank` can be a copy of.
  uint32_t original_of(uint32_t rank) const {
    std::string first;
    for (uint32_t i = 0; i < originals_.size(); ++i) {
      std::string reason = why_not(originals_[i], rank);
      if (reason.empty()) return i;
      if (first.empty()) first = fmt::format("not of rank {}, {}", originals_[i].rank, reason);
    }
    fail_input("rank {} has no trace and can be a copy of no recorded rank: {}", rank, first);
  }

  /// What is against `rank` as a copy; "" if nothing is.
  std::string why_not(const Original& original, uint32_t rank) const {
    std::set<std::pair<Ranks, uint32_t>> own;
    for (const auto& [name, group] : original.used) {
      const auto to = equal_group(group.members, rank, ranks_);
      if (!to) return fmt::format("whose group \"{}\" has no equal with it", name);
      if (group.by_place && place_in(*to, rank) != place_in(group.members, original.rank)) {
        return fmt::format("which is at another place of its group \"{}\" and sends, receives or has roots there",
                           name);
      }
      own.emplace(*to, group.kind);
      for (const Original& other : originals_) {
        for (const auto& [others_name, others] : other.used) {
          if (others.kind != group.kind || others.members != *to) continue;
          if (others.calls == group.calls || group.by_place) continue;
          return fmt::format("whose calls in group \"{}\" are not those of rank {} in \"{}\"", name, other.rank,
                             others_name);
        }
      }
    }
    for (const Original& other : originals_) {
      for (const auto& [name, group] : other.used) {
        const bool member = std::ranges::find(group.members, int64_t{rank}) != group.members.end();
        if (member && !own.contains({group.members, group.kind})) {
          return fmt::format("which has no counterpart of group \"{}\" of rank {}", name, other.rank);
        }
      }
    }
    return "";
  }

  CopiedGroups groups_of(const Original& original, uint32_t rank) const {
    CopiedGroups groups;
    for (const auto& [name, group] : original.used) {
      Ranks to = *equal_group(group.members, rank, ranks_);
      std::string called = group.defined ? names_.name(to, group.kind) : name;
      groups[name] = {std::move(called), std::move(to)};
    }
    return groups;
  }

  void copy(const Original& original, uint32_t rank) {
    const auto groups = groups_of(original, rank);
    TraceReader reader(original.file);
    TraceWriter writer(trace_file(conversion_.prefix, rank));
    chakra::GlobalMetadata metadata;
    if (reader.metadata()) metadata.set_version(reader.metadata()->version);
    writer.write(metadata);
    chakra::Node node;
    for (TraceNode read; reader.next(read);) {
      if (!node.ParseFromArray(reader.frame().data(), static_cast<int>(reader.frame().size()))) {
        fail_run("{}: node {} cannot be read again", original.file, read.id);
      }
      edit(original, rank, groups, node);
      writer.write(node);
      count(node);
    }
    writer.close();
    ++conversion_.ranks;
  }

  static void edit(const Original& original, uint32_t rank, const CopiedGroups& groups, chakra::Node& node) {
    if (node.type() == chakra::METADATA_NODE) {
      std::vector<ProcessGroup> defined;
      for (const auto& [name, group] : groups) {
        if (original.used.at(name).defined) defined.push_back(group);
      }
      node.mutable_inputs()->set_values(print_groups(defined));
      return;
    }
    const bool moves = node.type() == chakra::COMM_SEND_NODE || node.type() == chakra::COMM_RECV_NODE;
    if (!moves && node.type() != chakra::COMM_COLL_NODE) return;
    std::string name = "0";
    for (const chakra::AttributeProto& attribute : node.attr()) {
      if (attribute.name() == "pg_name") name = attribute.string_val();
      if (attribute.name() == "comm_tag") name = group_of_tag(original, attribute.int32_val());
    }
    const ProcessGroup& group = groups.at(name);
    const auto counterpart = [&](int64_t member) {
      if (member == original.rank) return int64_t{rank};
      const size_t place = place_in(original.used.at(name).members, member);
      if (place == group.ranks.size()) fail_input("{}: peer {} is no member of \"{}\"", original.file, member, name);
      return group.ranks[place];
    };
    for (chakra::AttributeProto& attribute : *node.mutable_attr()) {
      const std::string& key = attribute.name();
      if (key == "pg_name") attribute.set_string_val(group.name);
      if (key == "comm_tag") attribute.set_int32_val(static_cast<int32_t>(message_tag(group.name)));
      if (key == "root") attribute.set_int64_val(counterpart(attribute.int64_val()));
      if (key != "comm_src" && key != "comm_dst") continue;
      attribute.set_int32_val(static_cast<int32_t>(counterpart(attribute.int32_val())));
    }
  }

  void count(const chakra::Node& node) {
    NodeCounts counts{.nodes = 1};
    counts.collectives = node.type() == chakra::COMM_COLL_NODE ? 1 : 0;
    counts.sends = node.type() == chakra::COMM_SEND_NODE ? 1 : 0;
    counts.receives = node.type() == chakra::COMM_RECV_NODE ? 1 : 0;
    for (const chakra::AttributeProto& attribute : node.attr()) {
      if (attribute.name() == "comm_size" && counts.receives == 0) {
        counts.bytes = static_cast<uint64_t>(attribute.int64_val());
      }
    }
    conversion_.counts += counts;
  }

  const uint32_t ranks_;
  Conversion& conversion_;
  std::vector<Original> originals_;
  GroupNames names_;
};

}  // namespace

void complete_ranks(const std::vector<RecordedRank>& recorded, uint32_t ranks, const FillOptions& options,
                    Conversion& conversion) {
  std::set<uint32_t> have;
  for (const RecordedRank& rank : recorded) have.insert(rank.rank);
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    if (!have.contains(rank)) missing.push_back(rank);
  }
  if (missing.empty()) return;
  if (options.fill_missing) {
    RankCopies(recorded, ranks, conversion).write(missing, options.force);
    return;
  }
  conversion.warnings.push_back(fmt::format(
      "no trace is of ranks {} of {}, and a run takes the traces of all: record them as well, or take copies "
      "of ranks that do the same, by --fill-missing",
      ranks_text(Ranks(missing.begin(), missing.end())), ranks));
}

}  // namespace rankwire
