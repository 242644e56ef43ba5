// How many tokens go from each rank to the experts of each other one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace rankwire {

/// How tokens choose their experts.
struct RoutingModel {
  /// All experts as often; the i-th most popular one in proportion to 1 / i^exponent; as in a file.
  enum class Popularity : uint8_t { kBalanced, kZipf, kRecorded };

  Popularity popularity = Popularity::kBalanced;
  double exponent = 1;  ///< of kZipf, >= 0
  std::string file;     ///< of kRecorded
  uint32_t drift = 0;   ///< of kZipf: micro-batches until experts are as popular as in another order; 0: they stay so
  uint64_t seed = 1;    ///< equal seeds give equal tokens on every machine
  double capacity = 0;  ///< tokens that an expert takes from a rank, of those of an even share; 0: all
  uint32_t node_limit = 0;  ///< nodes that a token goes to, in each of which are as many of its experts; 0: any
  uint32_t node_ranks = 8;  ///< ranks of an expert-parallel group that are one node, with node_limit

  bool operator==(const RoutingModel&) const = default;
};

/// A key of `routing` that contradicts the others, and why.
struct WrongRouting {
  std::string key, text;
};
std::optional<WrongRouting> wrong_routing(const RoutingModel& model);

/// What is routed.
struct RoutedTokens {
  uint32_t ranks = 1;    ///< of an expert-parallel group, p
  uint32_t experts = 1;  ///< E, a multiple of p; rank i has those from i E / p on
  uint32_t per_token = 1;
  int64_t tokens = 0;  ///< of a rank; 0: each exchange has its own, and of a recorded matrix proportions count alone
  uint32_t other_ranks = 0;  ///< of groups of another size, which the same file is for; 0: there are none
};

/// The tokens of one exchange, from rank to rank of its group.
class TokenMatrix {
 public:
  TokenMatrix(uint32_t ranks, std::vector<int64_t> tokens) : ranks_(ranks), tokens_(std::move(tokens)) {}

  int64_t at(uint32_t from, uint32_t to) const { return tokens_[size_t{from} * ranks_ + to]; }
  /// What a rank sends to each, and what it has from each.
  std::vector<int64_t> sent(uint32_t from) const;
  std::vector<int64_t> received(uint32_t to) const;

 private:
  uint32_t ranks_;
  std::vector<int64_t> tokens_;
};

/// Chances of experts by weights w: min(1, c w) with c such that they sum up to `chosen`, which is at most the number
/// of weights that are not 0; so that no expert is chosen twice.
std::vector<double> inclusion_chances(const std::vector<double>& weights, double chosen);

/// How often each expert is chosen by `tokens` tokens, each of which chooses as many as the chances sum up to, a whole
/// number, and none twice (systematic sampling; Madow, Annals of Mathematical Statistics 20, 1949): of a uniform u in
/// [0, 1) those in whose part of the cumulated chances one of u, u + 1, u + 2 ... falls.
std::vector<int64_t> sample_counts(const std::vector<double>& chances, int64_t tokens, Random& random);

/// The matrices of a training step, or of the batches of a service. They depend on the model and on what is asked for
/// alone, so that both ends of an exchange have the same.
class ExpertRouting {
 public:
  /// Reads the file of kRecorded: E numbers, the tokens that each expert had, or a p x p matrix of tokens from rank to
  /// rank, lines of numbers between commas. Throws Error(kInput) for another one and for rows above the tokens that a
  /// rank has, k for each.
  ExpertRouting(const RoutingModel& model, const RoutedTokens& routed);

  /// Whether all tokens are routed and every rank sends as much to every other one, so that no matrix says anything.
  bool even() const {
    return model_.popularity == RoutingModel::Popularity::kBalanced && (model_.capacity == 0 || model_.capacity >= 1);
  }

  /// `first_source` names the first rank of the group among all sources of tokens: the others follow, `stride` apart.
  TokenMatrix tokens(uint32_t layer, uint32_t micro_batch, uint64_t first_source, uint64_t stride) const {
    return tokens(layer, micro_batch, first_source, stride, routed_.tokens);
  }
  /// The same of an exchange in which each rank has `of_rank` tokens.
  TokenMatrix tokens(uint32_t layer, uint32_t micro_batch, uint64_t first_source, uint64_t stride,
                     int64_t of_rank) const;

 private:
  void read_file();
  void check_rows(const std::vector<std::vector<int64_t>>& rows) const;
  TokenMatrix scaled(int64_t of_rank) const;
  std::vector<double> popularity(uint32_t layer, uint32_t micro_batch) const;
  std::vector<int64_t> choices(const std::vector<double>& popularity, int64_t tokens, Random& random) const;
  std::vector<int64_t> limited_choices(const std::vector<double>& popularity, int64_t tokens, Random& random) const;

  RoutingModel model_;
  RoutedTokens routed_;
  int64_t most_ = 0;               ///< that an expert takes from a rank
  std::vector<double> weights_;    ///< by expert or, of kZipf, by place
  std::vector<int64_t> recorded_;  ///< the matrix of a file
};

}  // namespace rankwire
