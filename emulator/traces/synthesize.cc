#include "emulator/traces/synthesize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/random.h"
#include "emulator/traces/groups_file.h"
#include "emulator/traces/new_set.h"
#include "emulator/traces/trace_copy.h"

namespace rankwire {
namespace {

constexpr uint32_t kGone = UINT32_MAX;

class Synthesis {
 public:
  Synthesis(const ModelFamily& family, const SynthesisOptions& options) : family_(family), options_(options) {
    result_.ranks = options.ranks.value_or(family.ranks);
    choose_scale();
    number_ranks();
    for (uint32_t role = 0; role < family.roles.size(); ++role) add_groups(role);
    result_.groups = named_.size();
  }

  SynthesizedSet write() {
    for (const ModelProgram& program : family_.programs) {
      const std::vector<uint32_t> operations = unfolded(program.steps);
      if (const auto circle = circle_in(operations, family_.operations))
        fail_input(
            "{}operations[{}] waits for itself in the program of rank {}: the dependencies \"after\" form a circle; "
            "one of them must be a step further before it",
            options_.place, *circle, program.ranks.front());
      for (uint32_t copy = 0; copy < copies_; ++copy) {
        for (const uint32_t rank : program.ranks) {
          if (new_rank_[rank] != kGone) write_rank(operations, copy, rank);
        }
      }
    }
    if (!named_.empty()) write_groups_file(files_.add(options_.prefix + ".json"), named_);
    if (options_.check) options_.check();
    files_.keep();
    return std::move(result_);
  }

 private:
  void choose_scale() {
    if (options_.role && *options_.role >= family_.roles.size())
      fail_input("--role {}: the model has {} roles, counted from 0", *options_.role, family_.roles.size());
    if (result_.ranks == family_.ranks) return;
    if (result_.ranks == 0 || (result_.ranks % family_.ranks != 0 && family_.ranks % result_.ranks != 0)) {
      fail_input("--ranks {}: the model has {} ranks, of which it can make a multiple or a whole part", result_.ranks,
                 family_.ranks);
    }
    result_.role = options_.role ? options_.role : widest_role(family_);
    copies_ = std::max(1U, result_.ranks / family_.ranks);
    parts_ = std::max(1U, family_.ranks / result_.ranks);
    if (parts_ > 1 && !result_.role) fail_input("--ranks {}: no role has groups that could shrink", result_.ranks);
  }

  /// Which ranks stay, and as which.
  void number_ranks() {
    new_rank_.assign(family_.ranks, parts_ > 1 ? kGone : 0);
    if (parts_ > 1) {
      for (const std::vector<uint32_t>& members : family_.roles[*result_.role].members) {
        if (members.size() % parts_ != 0)
          fail_input("--ranks {}: groups of role {} have {} members, not a multiple of {}", result_.ranks,
                     *result_.role, members.size(), parts_);
        for (size_t i = 0; i < members.size() / parts_; ++i) new_rank_[members[i]] = 0;
      }
    }
    for (uint32_t& rank : new_rank_) rank = rank == kGone ? kGone : kept_++;
    if (kept_ * copies_ != result_.ranks)
      fail_input("--ranks {}: {} of {} ranks are in groups of role {}", result_.ranks, kept_ * parts_, family_.ranks,
                 *result_.role);
  }

  uint32_t rank_of(uint32_t copy, uint32_t original) const { return copy * kept_ + new_rank_[original]; }

  bool spans_copies(uint32_t role) const {
    const ModelRole& of = family_.roles[role];
    return role == result_.role || !of.named || of.members.front().size() == family_.ranks;
  }

  void add_groups(uint32_t role) {
    const ModelRole& of = family_.roles[role];
    RoleGroups& made = roles_.emplace_back();
    made.of_rank.assign(result_.ranks, kGone);
    const bool spans = !of.members.empty() && spans_copies(role);
    for (const std::vector<uint32_t>& members : of.members) {
      for (uint32_t copy = 0; copy < (spans ? 1 : copies_); ++copy) {
        Group group;
        for (uint32_t from = copy; from < (spans ? copies_ : copy + 1); ++from) {
          for (const uint32_t member : members) {
            if (new_rank_[member] != kGone) group.members.push_back(RankId(rank_of(from, member)));
          }
        }
        if (group.members.empty()) continue;
        if (of.named) group.name = fmt::format("role{}_{}", role, made.groups.size());
        for (const RankId member : group.members)
          made.of_rank[member.value] = static_cast<uint32_t>(made.groups.size());
        made.groups.push_back(std::move(group));
      }
    }
    for (const Group& group : made.groups) {
      if (of.named) named_.push_back(group);
    }
  }

  void write_rank(const std::vector<uint32_t>& operations, uint32_t copy, uint32_t original) {
    const uint32_t rank = rank_of(copy, original);
    TraceWriter writer(files_.add(fmt::format("{}.{}.et", options_.prefix, rank)));
    chakra::GlobalMetadata metadata;
    metadata.set_version("1.0.0");
    writer.write(metadata);
    std::vector<uint64_t> drawn(family_.operations.size(), 0);
    std::map<std::pair<uint32_t, int64_t>, int64_t> messages;  // so far, by type and peer
    for (size_t i = 0; i < operations.size(); ++i) {
      const ModelOperation& operation = family_.operations[operations[i]];
      chakra::Node node;
      node.set_id(i);
      node.set_name(fmt::format("{}_{}", name_of(operation), operations[i]));
      node.set_type(static_cast<chakra::NodeType>(operation.type));
      for (const int64_t back : operation.after) {
        const int64_t parent = static_cast<int64_t>(i) - back;
        if (parent >= 0 && parent < static_cast<int64_t>(operations.size()))
          node.add_data_deps(static_cast<uint64_t>(parent));
      }
      node.set_duration_micros(draw(operation, rank, operations[i], drawn[operations[i]]++));
      const bool shared = is_shared(operation);
      if (operation.on_cpu) set_integer(node, "is_cpu_op", 1);
      put(node, "stream", operation.stream);
      put(node, "tensor_size", shared ? share_of(operation.tensor) : operation.tensor);
      put(node, "num_ops", shared ? share_of(operation.operations) : operation.operations);
      put(node, "comm_type", operation.collective);
      if (operation.role) put_group(node, operation, rank);
      if (operation.peer) {
        const bool sends = operation.type == chakra::COMM_SEND_NODE;
        put(node, "comm_size", shared ? share_of(operation.size) : operation.size);
        set_integer(node, sends ? "comm_dst" : "comm_src", peer_of(operation, copy, original));
        set_integer(node, "comm_tag", messages[{operation.type, *operation.peer}]++ + (sends ? 0 : operation.ahead));
      }
      writer.write(node);
    }
    writer.close();
    result_.nodes += operations.size();
  }

  static const char* name_of(const ModelOperation& operation) {
    if (operation.type == chakra::COMM_COLL_NODE)
      return to_string(static_cast<CollectiveKind>(std::clamp<int64_t>(operation.collective.value_or(0), 0, 9)));
    if (operation.type == chakra::COMM_SEND_NODE) return "send";
    if (operation.type == chakra::COMM_RECV_NODE) return "receive";
    if (operation.type == chakra::COMP_NODE) return operation.on_cpu ? "host" : "compute";
    return operation.type == chakra::MEM_LOAD_NODE || operation.type == chakra::MEM_STORE_NODE ? "memory" : "other";
  }

  static void put(chakra::Node& node, const char* name, const std::optional<int64_t>& value) {
    if (value) set_integer(node, name, *value);
  }

  void put_group(chakra::Node& node, const ModelOperation& operation, uint32_t rank) const {
    const RoleGroups& role = roles_[*operation.role];
    const uint32_t number = role.of_rank[rank];
    if (number == kGone)
      fail_input("{}roles[{}]: no group has rank {}, but its program calls one", options_.place, *operation.role, rank);
    const Group& group = role.groups[number];
    if (!group.name.empty()) set_text(node, "pg_name", group.name);
    if (operation.root)
      set_integer(node, "root", group.members[static_cast<size_t>(*operation.root) % group.members.size()].value);
    if (!operation.size) return;
    const auto before = static_cast<int64_t>(family_.roles[*operation.role].members.front().size());
    const auto after = static_cast<int64_t>(group.members.size());
    const auto kind = static_cast<CollectiveKind>(operation.collective.value_or(0));
    const bool is_share = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kGather;
    const int64_t size = is_shared(operation) ? *share_of(operation.size) : *operation.size;
    set_integer(node, "comm_size", is_share ? scaled(size, before, after) : size);
  }

  /// `amount` times before / after, rounded up.
  static int64_t scaled(int64_t amount, int64_t before, int64_t after) {
    if (before == after || amount <= 0) return amount;
    return static_cast<int64_t>(
        std::ceil(static_cast<double>(amount) * static_cast<double>(before) / static_cast<double>(after)));
  }
  /// Whether more ranks leave less of it to each.
  bool is_shared(const ModelOperation& operation) const {
    return options_.same_work && !(operation.role && spans_copies(*operation.role));
  }
  /// What is left to a rank of what one of the model does, where all together do the same.
  std::optional<int64_t> share_of(const std::optional<int64_t>& amount) const {
    return amount ? std::optional(scaled(*amount, family_.ranks, result_.ranks)) : amount;
  }

  uint32_t peer_of(const ModelOperation& operation, uint32_t copy, uint32_t original) const {
    const int64_t peer = int64_t{original} + *operation.peer;
    if (peer < 0 || peer >= family_.ranks || new_rank_[static_cast<size_t>(peer)] == kGone)
      fail_input("{}programs: rank {} has a message with rank {}, which is not there", options_.place, original, peer);
    return rank_of(copy, static_cast<uint32_t>(peer));
  }

  uint64_t draw(const ModelOperation& operation, uint32_t rank, uint32_t number, uint64_t n) const {
    const std::vector<double>& micros = operation.micros;
    if (micros.empty()) return 0;
    constexpr double kGoldenSection = 0.6180339887498949;
    const uint64_t start = Random(options_.seed ^ (uint64_t{rank} << 32 | number)).next();
    const double first = std::ldexp(static_cast<double>(start >> 11), -53);
    const double share = std::fmod(first + static_cast<double>(n) * kGoldenSection, 1.0);
    const double place = share * static_cast<double>(micros.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, micros.size() - 1);
    double value = micros[below] + (micros[above] - micros[below]) * (place - static_cast<double>(below));
    if (is_shared(operation) && !operation.role && !operation.peer)
      value *= static_cast<double>(family_.ranks) / result_.ranks;
    return static_cast<uint64_t>(std::max<long long>(value > 0 ? 1 : 0, std::llround(value)));
  }

  struct RoleGroups {
    std::vector<Group> groups;
    std::vector<uint32_t> of_rank;  ///< kGone: of none
  };

  const ModelFamily& family_;
  const SynthesisOptions& options_;
  uint32_t copies_ = 1, parts_ = 1;
  uint32_t kept_ = 0;               ///< ranks of the model that stay
  std::vector<uint32_t> new_rank_;  ///< by rank of the model, within a copy; kGone
  std::vector<RoleGroups> roles_;
  std::vector<Group> named_;
  NewSet files_;
  SynthesizedSet result_;
};

}  // namespace

std::optional<uint32_t> widest_role(const ModelFamily& family) {
  std::vector<size_t> program_of(family.ranks, 0);
  for (size_t program = 0; program < family.programs.size(); ++program) {
    for (const uint32_t rank : family.programs[program].ranks) program_of[rank] = program;
  }
  std::optional<uint32_t> widest;
  uint32_t width = 0;
  for (uint32_t role = 0; role < family.roles.size(); ++role) {
    const ModelRole& of = family.roles[role];
    if (!of.named || of.members.empty() || of.members.front().size() < 2) continue;
    const std::vector<uint32_t>& members = of.members.front();
    const auto differs = [&](uint32_t rank) { return program_of[rank] != program_of[members.front()]; };
    if (std::ranges::any_of(members, differs)) continue;
    const auto [least, most] = std::ranges::minmax(members);
    const uint32_t step = (most - least) / static_cast<uint32_t>(members.size() - 1);
    if (step > width) widest = role;
    width = std::max(width, step);
  }
  return widest;
}

SynthesizedSet synthesize(const ModelFamily& family, const SynthesisOptions& options) {
  return Synthesis(family, options).write();
}

}  // namespace rankwire
