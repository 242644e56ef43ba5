#include "emulator/traces/trace_learning.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace rankwire {
namespace {

/// "tp_3" and "tp_17" are of one sort, "tp_#".
std::string without_numbers(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) text += c;
    if (is_digit && (text.empty() || text.back() != '#')) text += '#';
  }
  return text;
}

/// What makes two operations one, in an order that has no meaning.
auto identity(const ModelOperation& o, const std::string& sort) {
  return std::make_tuple(sort, o.type, o.on_cpu, o.collective, o.size, o.tensor, o.operations, o.stream, o.role, o.root,
                         o.peer, o.ahead, o.after);
}
using OperationIdentity = decltype(identity({}, {}));

class SetLearner {
 public:
  SetLearner(const RankSet& set, const Matches& matches) : set_(set), matches_(matches) {
    check();
    family_.ranks = static_cast<uint32_t>(set.ranks.size());
    find_roles();
    number_messages();
    std::map<std::vector<uint32_t>, size_t> known;
    for (uint32_t place = 0; place < set.ranks.size(); ++place) {
      std::vector<uint32_t> operations = operations_of(place);
      const auto [at, is_new] = known.try_emplace(operations, family_.programs.size());
      if (is_new) family_.programs.push_back({.steps = folded(operations)});
      family_.programs[at->second].ranks.push_back(place);
    }
  }

  ModelFamily take_family() { return std::move(family_); }
  /// Durations by operation, us.
  std::vector<std::vector<double>> take_observed() { return std::move(observed_); }

 private:
  void check() const {
    for (uint32_t place = 0; place < set_.ranks.size(); ++place) {
      const RankFacts& facts = set_.ranks[place];
      if (!facts.unreadable.empty()) fail_input("{}", facts.unreadable);
      if (facts.rank != place) fail_input("{}: the trace of rank {} is missing", set_.files.name, place);
      if (facts.nodes.empty()) fail_input("{}: has no nodes", facts.path);
      if (!facts.splits.empty()) fail_input("{}: uneven splits (comm_splits) cannot be learned", facts.path);
      for (const NodeFacts& node : facts.nodes) {
        if (!chakra::NodeType_IsValid(static_cast<int>(node.type)))
          fail_input("{}: node {}: type {} is none of Chakra's", facts.path, node_text(node), node.type);
        // Zeros, as a full disk or a crash leaves them at the end of a file, read as nodes without anything.
        if (node.type == chakra::INVALID_NODE)
          fail_input("{}: node {} has no type; see rankwire trace check", facts.path, node_text(node));
      }
    }
    if (!matches_.unmatched.empty()) {
      fail_input("{}: has no counterpart; see rankwire trace check --repair --unmatched",
                 set_.where(matches_.unmatched.front()));
    }
  }

  /// By the sort of the name, the form, and a number, so that no rank is in two groups of a role.
  void find_roles() {
    using Form = std::tuple<bool, std::string, std::vector<int64_t>, uint32_t>;
    std::map<Form, uint32_t> roles;
    std::set<std::pair<uint32_t, uint32_t>> taken;  // by role and rank
    role_of_.resize(set_.groups.size());
    for (uint32_t g = 0; g < set_.groups.size(); ++g) {
      const Group& group = set_.groups[g];
      std::vector<int64_t> offsets;
      std::vector<uint32_t> members;
      for (const RankId member : group.members) {
        if (member.value >= set_.ranks.size())
          fail_input("group \"{}\": rank {} has no trace", group.name, member.value);
        offsets.push_back(int64_t{member.value} - group.members.front().value);
        members.push_back(member.value);
      }
      const std::string sort = without_numbers(group.name);
      const bool named = is_named(g);
      uint32_t role = 0;
      for (uint32_t number = 0;; ++number) {
        const auto [at, is_new] =
            roles.try_emplace({named, sort, offsets, number}, static_cast<uint32_t>(family_.roles.size()));
        if (is_new) family_.roles.push_back({.named = named});
        role = at->second;
        if (std::ranges::none_of(members, [&](uint32_t m) { return taken.contains({role, m}); })) break;
      }
      for (const uint32_t member : members) taken.insert({role, member});
      family_.roles[role].members.push_back(std::move(members));
      role_of_[g] = role;
    }
  }

  /// Whether some node calls the group by its name: that of all ranks may have none.
  bool is_named(uint32_t g) const {
    for (uint32_t place = 0; place < set_.ranks.size(); ++place) {
      const RankFacts& facts = set_.ranks[place];
      for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
        if (set_.group_of[place][i] == g) return facts.group_names[facts.nodes[i].group] == set_.groups[g].name;
      }
    }
    return true;
  }

  /// The n-th message of two ranks is that of the n-th SEND in the file.
  void number_messages() {
    for (const RankFacts& facts : set_.ranks) number_.emplace_back(facts.nodes.size(), 0);
    std::map<std::pair<uint32_t, uint32_t>, std::vector<std::pair<uint32_t, NodeRef>>> sends;
    for (const auto& [send, receive] : matches_.messages)
      sends[{send.place, receive.place}].emplace_back(send.node, receive);
    for (auto& [pair, list] : sends) {
      std::ranges::sort(list, {}, [](const auto& message) { return message.first; });
      for (size_t n = 0; n < list.size(); ++n)
        number_[list[n].second.place][list[n].second.node] = static_cast<int64_t>(n);
    }
  }

  std::vector<uint32_t> operations_of(uint32_t place) {
    const RankFacts& facts = set_.ranks[place];
    std::vector<uint32_t> row(facts.nodes.size(), 0);  // in the program
    uint32_t rows = 0;
    for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
      row[i] = rows;
      rows += facts.nodes[i].type == chakra::METADATA_NODE ? 0 : 1;
    }
    std::map<int64_t, int64_t> received;  // RECVs so far, by source
    std::vector<uint32_t> operations;
    for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
      const NodeFacts& node = facts.nodes[i];
      if (node.type == chakra::METADATA_NODE) continue;
      ModelOperation operation = operation_of({place, i});
      if (node.kind == NodeKind::kReceive) operation.ahead = number_[place][i] - received[*node.source]++;
      for (const uint64_t id : facts.carried().of(i)) {
        const auto parent = facts.find(id);
        if (!parent || *parent == i || facts.nodes[*parent].type == chakra::METADATA_NODE) continue;
        operation.after.push_back(int64_t{row[i]} - row[*parent]);
      }
      std::ranges::sort(operation.after);
      const uint32_t number = number_of(operation, without_numbers(node.name));
      const Duration recorded = node.recorded();
      if (recorded > Duration()) observed_[number].push_back(static_cast<double>(recorded.ps) * 1e-6);
      operations.push_back(number);
    }
    return operations;
  }

  ModelOperation operation_of(NodeRef at) const {
    const NodeFacts& node = set_.node(at);
    ModelOperation operation{.type = node.type, .on_cpu = node.on_cpu};
    operation.stream = node.stream;
    operation.tensor = node.tensor;
    operation.operations = node.operations;
    if (node.kind == NodeKind::kCollective) {
      const uint32_t g = set_.group_of[at.place][at.node];
      if (g == RankSet::kNone) fail_input("{}: its group is unknown", set_.where(at));
      operation.collective = node.collective;
      operation.size = node.size;
      operation.role = role_of_[g];
      const auto& members = set_.groups[g].members;
      const auto root = std::ranges::find(members, node.root.value_or(-1), [](RankId m) { return int64_t{m.value}; });
      if (root != members.end()) operation.root = root - members.begin();
    } else if (node.kind == NodeKind::kSend || node.kind == NodeKind::kReceive) {
      const auto& peer = node.kind == NodeKind::kSend ? node.destination : node.source;
      if (!peer) fail_input("{}: its peer is unknown", set_.where(at));
      operation.size = node.size;
      operation.peer = *peer - int64_t{at.place};
    }
    return operation;
  }

  uint32_t number_of(const ModelOperation& operation, const std::string& sort) {
    const auto [at, is_new] =
        numbers_.try_emplace(identity(operation, sort), static_cast<uint32_t>(family_.operations.size()));
    if (is_new) {
      family_.operations.push_back(operation);
      observed_.emplace_back();
    }
    return at->second;
  }

  const RankSet& set_;
  const Matches& matches_;
  ModelFamily family_;
  std::vector<std::vector<double>> observed_;  ///< by operation
  std::vector<uint32_t> role_of_;              ///< by group
  std::vector<std::vector<int64_t>> number_;   ///< of a RECV by place and node: which message of the two ranks it takes
  std::map<OperationIdentity, uint32_t> numbers_;
};

bool equal_steps(const std::vector<ModelStep>& a, const std::vector<ModelStep>& b) {
  return std::ranges::equal(a, b, [](const ModelStep& x, const ModelStep& y) {
    return x.operation == y.operation && x.repeat == y.repeat && equal_steps(x.parts, y.parts);
  });
}

/// Operations are numbered in the order of the files, so that equal structures have equal numbers.
bool same_structure(const ModelFamily& a, const ModelFamily& b) {
  return a.ranks == b.ranks && a.operations == b.operations &&
         std::ranges::equal(
             a.roles, b.roles,
             [](const ModelRole& x, const ModelRole& y) { return x.named == y.named && x.members == y.members; }) &&
         std::ranges::equal(a.programs, b.programs, [](const ModelProgram& x, const ModelProgram& y) {
           return x.ranks == y.ranks && equal_steps(x.steps, y.steps);
         });
}

}  // namespace

void TraceLearner::add(const RankSet& set, const Matches& matches) {
  SetLearner learner(set, matches);
  ModelFamily family = learner.take_family();
  std::vector<std::vector<double>> observed = learner.take_observed();
  for (Learned& known : learned_) {
    if (!same_structure(known.family, family)) continue;
    ++known.family.sets;
    for (size_t i = 0; i < observed.size(); ++i)
      known.observed[i].insert(known.observed[i].end(), observed[i].begin(), observed[i].end());
    return;
  }
  learned_.push_back({std::move(family), std::move(observed)});
}

TraceModel TraceLearner::model() const {
  if (learned_.empty()) fail_input("there is no set of traces to learn from");
  TraceModel model;
  for (const Learned& known : learned_) {
    ModelFamily family = known.family;
    for (size_t i = 0; i < family.operations.size(); ++i) family.operations[i].micros = quantiles(known.observed[i]);
    model.families.push_back(std::move(family));
  }
  std::ranges::stable_sort(model.families, std::greater<>(), &ModelFamily::sets);
  return model;
}

std::vector<double> quantiles(std::vector<double> values) {
  constexpr size_t kMost = 21;  // each twentieth
  std::ranges::sort(values);
  if (values.empty()) return {};
  if (values.front() == values.back()) return {values.front()};
  const size_t count = std::min(kMost, values.size());
  std::vector<double> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(values[i * (values.size() - 1) / (count - 1)]);
  return chosen;
}

}  // namespace rankwire
