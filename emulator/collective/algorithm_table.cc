#include "emulator/collective/algorithm_table.h"

#include <algorithm>
#include <utility>

#include "emulator/collective/algorithms.h"

namespace rankwire {
namespace {

struct Entry {
  Operation operation;
  Algorithm algorithm;
  AddChannel function;
  bool nccl = false;
};

// The first of an operation is the default.
constexpr Entry kTable[] = {
    {Operation::kAllReduce, Algorithm::kRing, ring_passes, true},
    {Operation::kAllReduce, Algorithm::kDoubleBinaryTree, double_binary_tree, true},
    {Operation::kAllReduce, Algorithm::kHalvingDoubling, halving_doubling},
    {Operation::kAllReduce, Algorithm::kHalvingDoublingElimination, halving_doubling_elimination},
    {Operation::kAllReduce, Algorithm::kRecursiveDoubling, recursive_doubling_all_reduce},
    {Operation::kAllReduce, Algorithm::kDirect, direct_all_reduce},
    {Operation::kAllReduce, Algorithm::kHierarchical, hierarchical_all_reduce},
    {Operation::kAllReduce, Algorithm::kInNetwork, in_network_all_reduce},
    {Operation::kReduceScatter, Algorithm::kRing, ring_passes, true},
    {Operation::kReduceScatter, Algorithm::kRecursiveHalving, recursive_halving_reduce_scatter},
    {Operation::kReduceScatter, Algorithm::kPat, pat_reduce_scatter, true},
    {Operation::kReduceScatter, Algorithm::kDirect, direct_reduce_scatter},
    {Operation::kReduceScatter, Algorithm::kHierarchical, hierarchical_reduce_scatter},
    {Operation::kReduceScatter, Algorithm::kInNetwork, in_network_reduce_scatter},
    {Operation::kAllGather, Algorithm::kRing, ring_passes, true},
    {Operation::kAllGather, Algorithm::kRecursiveDoubling, recursive_doubling_all_gather},
    {Operation::kAllGather, Algorithm::kBruck, bruck_all_gather},
    {Operation::kAllGather, Algorithm::kPat, pat_all_gather, true},
    {Operation::kAllGather, Algorithm::kDirect, direct_all_gather},
    {Operation::kAllGather, Algorithm::kHierarchical, hierarchical_all_gather},
    {Operation::kBroadcast, Algorithm::kRing, ring_broadcast, true},
    {Operation::kBroadcast, Algorithm::kBinomialTree, binomial_broadcast},
    {Operation::kBroadcast, Algorithm::kInNetwork, in_network_broadcast},
    {Operation::kReduce, Algorithm::kRing, ring_reduce, true},
    {Operation::kReduce, Algorithm::kBinomialTree, binomial_reduce},
    {Operation::kReduce, Algorithm::kHalvingDoubling, halving_doubling},
    {Operation::kReduce, Algorithm::kHalvingDoublingElimination, halving_doubling_elimination},
    {Operation::kReduce, Algorithm::kInNetwork, in_network_reduce},
    {Operation::kAllToAll, Algorithm::kDirect, direct_all_to_all, true},
    {Operation::kAllToAll, Algorithm::kPairwise, pairwise_all_to_all},
    {Operation::kAllToAll, Algorithm::kBruck, bruck_all_to_all},
    {Operation::kAllToAll, Algorithm::kHierarchical, hierarchical_all_to_all},
    {Operation::kAllToAll, Algorithm::kPxn, pxn_all_to_all, true},
    {Operation::kGather, Algorithm::kDirect, direct_gather, true},
    {Operation::kGather, Algorithm::kBinomialTree, binomial_gather},
    {Operation::kScatter, Algorithm::kDirect, direct_scatter, true},
    {Operation::kScatter, Algorithm::kBinomialTree, binomial_scatter},
    {Operation::kBarrier, Algorithm::kAuto, dissemination_barrier, true},
    {Operation::kPointToPoint, Algorithm::kAuto, point_to_point, true},
};

constexpr std::pair<Algorithm, std::string_view> kAlgorithmNames[] = {
    {Algorithm::kAuto, "auto"},
    {Algorithm::kRing, "ring"},
    {Algorithm::kDoubleBinaryTree, "double_binary_tree"},
    {Algorithm::kHalvingDoubling, "halving_doubling"},
    {Algorithm::kHalvingDoublingElimination, "halving_doubling_elimination"},
    {Algorithm::kRecursiveDoubling, "recursive_doubling"},
    {Algorithm::kRecursiveHalving, "recursive_halving"},
    {Algorithm::kBruck, "bruck"},
    {Algorithm::kPat, "pat"},
    {Algorithm::kDirect, "direct"},
    {Algorithm::kPairwise, "pairwise"},
    {Algorithm::kBinomialTree, "binomial_tree"},
    {Algorithm::kHierarchical, "hierarchical"},
    {Algorithm::kPxn, "pxn"},
    {Algorithm::kInNetwork, "in_network"},
    {Algorithm::kCustom, "custom"},
};

constexpr std::pair<Operation, std::string_view> kOperationNames[] = {
    {Operation::kAllReduce, "all_reduce"}, {Operation::kReduceScatter, "reduce_scatter"},
    {Operation::kAllGather, "all_gather"}, {Operation::kBroadcast, "broadcast"},
    {Operation::kReduce, "reduce"},        {Operation::kAllToAll, "all_to_all"},
    {Operation::kGather, "gather"},        {Operation::kScatter, "scatter"},
    {Operation::kBarrier, "barrier"},      {Operation::kPointToPoint, "point_to_point"},
};

template <class Condition>
std::vector<Algorithm> listed(Operation operation, Condition condition) {
  std::vector<Algorithm> result{Algorithm::kAuto};
  for (const Entry& entry : kTable)
    if (entry.operation == operation && entry.algorithm != Algorithm::kAuto && condition(entry))
      result.push_back(entry.algorithm);
  return result;
}

}  // namespace

std::string_view to_string(Operation operation) {
  return std::ranges::find(kOperationNames, operation, &std::pair<Operation, std::string_view>::first)->second;
}

std::string_view to_string(Algorithm algorithm) {
  return std::ranges::find(kAlgorithmNames, algorithm, &std::pair<Algorithm, std::string_view>::first)->second;
}

std::optional<Operation> operation_named(std::string_view name) {
  for (const auto& [operation, word] : kOperationNames)
    if (word == name && operation != Operation::kBarrier && operation != Operation::kPointToPoint) return operation;
  return std::nullopt;
}

std::vector<Algorithm> algorithms_for(Operation operation) {
  return listed(operation, [](const Entry&) { return true; });
}

std::vector<Algorithm> nccl_algorithms_for(Operation operation) {
  return listed(operation, [](const Entry& entry) { return entry.nccl; });
}

bool asks_for_hosts(Algorithm algorithm) {
  return algorithm == Algorithm::kDoubleBinaryTree || algorithm == Algorithm::kHierarchical ||
         algorithm == Algorithm::kPxn;
}

std::string names_of(const std::vector<Algorithm>& algorithms) {
  std::string names;
  for (const Algorithm algorithm : algorithms) names.append(names.empty() ? "" : ", ").append(to_string(algorithm));
  return names;
}

Algorithm default_algorithm(Operation operation) {
  return std::ranges::find(kTable, operation, &Entry::operation)->algorithm;
}

AddChannel function_of(Operation operation, Algorithm algorithm) {
  for (const Entry& entry : kTable)
    if (entry.operation == operation && entry.algorithm == algorithm) return entry.function;
  return nullptr;
}

}  // namespace rankwire
