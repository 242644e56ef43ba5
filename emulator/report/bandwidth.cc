#include "emulator/report/bandwidth.h"

#include <array>

namespace rankwire {
namespace {

enum class Factor { kAllReduce, kShared, kOne };

struct Rule {
  std::string_view kind;
  bool basis_is_gathered;  // S = n x input
  Factor factor;
};

constexpr std::array kRules = {
    Rule{"all_reduce", false, Factor::kAllReduce},
    Rule{"all_gather", true, Factor::kShared},
    Rule{"gather", true, Factor::kShared},
    Rule{"reduce_scatter", false, Factor::kShared},
    Rule{"reduce_scatter_block", false, Factor::kShared},
    Rule{"all_to_all", false, Factor::kShared},
    Rule{"scatter", false, Factor::kShared},
    Rule{"broadcast", false, Factor::kOne},
    Rule{"reduce", false, Factor::kOne},
    Rule{"send", false, Factor::kOne},
    Rule{"receive", false, Factor::kOne},
};

const Rule* rule_of(std::string_view kind) {
  for (const Rule& rule : kRules) {
    if (rule.kind == kind) return &rule;
  }
  return nullptr;
}

}  // namespace

Bytes bandwidth_basis(const NodeInfo& node) {
  const Rule* rule = rule_of(node.kind);
  if (rule == nullptr) return Bytes(0);
  return Bytes(node.bytes.count * (rule->basis_is_gathered ? node.group_size : 1));
}

double bus_factor(std::string_view kind, uint32_t members) {
  const Rule* rule = rule_of(kind);
  if (rule == nullptr || members == 0) return 0;
  const double others = static_cast<double>(members - 1) / members;
  switch (rule->factor) {
    case Factor::kAllReduce:
      return 2 * others;
    case Factor::kShared:
      return others;
    case Factor::kOne:
      return 1;
  }
  return 0;
}

std::optional<OperationBandwidth> operation_bandwidth(const NodeInfo& node, Duration time) {
  const Bytes basis = bandwidth_basis(node);
  if (basis <= Bytes(0) || time <= Duration(0)) return std::nullopt;
  // Bits per picosecond are Tbit/s.
  const double algorithm = static_cast<double>(basis.count) * 8 / static_cast<double>(time.ps) * 1000;
  return OperationBandwidth{algorithm, algorithm * bus_factor(node.kind, node.group_size)};
}

}  // namespace rankwire
