#include "converters/expert_routing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "converters/text_lines.h"

namespace rankwire {
namespace {

/// In [0, 1), of 53 bits.
double uniform(Random& random) {
  return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

/// Of what is asked for, a stream of its own.
Random stream(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
  return Random(mix64(mix64(mix64(seed) + a) + b) + c);
}

/// The experts from the most to the least popular one.
std::vector<uint32_t> order_of(uint32_t experts, Random random) {
  std::vector<uint32_t> order(experts);
  std::iota(order.begin(), order.end(), 0u);
  for (uint32_t i = experts; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

/// The lines of numbers between commas.
std::vector<std::vector<int64_t>> read_numbers(const std::string& path) {
  const std::string text = read_text_file(path);
  TextLines lines(path, text);
  std::vector<std::vector<int64_t>> rows;
  for (std::string_view line; lines.next(line);) {
    if (line.empty()) continue;
    std::vector<int64_t>& row = rows.emplace_back();
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find(',', begin), line.size());
      const std::vector<std::string_view> words = words_of(line.substr(begin, end - begin));
      const auto number = words.size() == 1 ? number_in<int64_t>(words.front()) : std::nullopt;
      if (!number || *number < 0) lines.fail("'{}' is no number of tokens from 0 on", line.substr(begin, end - begin));
      row.push_back(*number);
      begin = end + 1;
    }
    if (row.size() != rows.front().size())
      lines.fail("{} numbers, but the first line has {}", row.size(), rows.front().size());
  }
  return rows;
}

}  // namespace

std::optional<WrongRouting> wrong_routing(const RoutingModel& model) {
  const bool recorded = model.popularity == RoutingModel::Popularity::kRecorded;
  if (recorded && model.file.empty()) return WrongRouting{"file", "is required by 'popularity: matrix'"};
  if (!recorded && !model.file.empty()) return WrongRouting{"file", "is for 'popularity: matrix'"};
  if (model.popularity != RoutingModel::Popularity::kZipf && model.drift > 0)
    return WrongRouting{"drift", "is for 'popularity: zipf'"};
  return std::nullopt;
}

std::vector<int64_t> TokenMatrix::sent(uint32_t from) const {
  const auto begin = tokens_.begin() + static_cast<ptrdiff_t>(size_t{from} * ranks_);
  return {begin, begin + ranks_};
}

std::vector<int64_t> TokenMatrix::received(uint32_t to) const {
  std::vector<int64_t> column(ranks_);
  for (uint32_t from = 0; from < ranks_; ++from) column[from] = at(from, to);
  return column;
}

std::vector<double> inclusion_chances(const std::vector<double>& weights, double chosen) {
  std::vector<double> chances(weights.size());
  std::vector<uint8_t> certain(weights.size());
  for (bool found = true; found;) {
    found = false;
    double rest = chosen, sum = 0;
    for (size_t e = 0; e < weights.size(); ++e) {
      if (certain[e] != 0) {
        rest -= 1;
      } else {
        sum += weights[e];
      }
    }
    for (size_t e = 0; e < weights.size(); ++e) {
      chances[e] = certain[e] != 0 ? 1 : sum > 0 ? rest * weights[e] / sum : 0;
      if (chances[e] > 1) certain[e] = 1, found = true;
    }
  }
  return chances;
}

std::vector<int64_t> sample_counts(const std::vector<double>& chances, int64_t tokens, Random& random) {
  std::vector<double> draws(static_cast<size_t>(tokens));
  for (double& draw : draws) draw = uniform(random);
  std::ranges::sort(draws);
  // Draws below x, for x in [0, 1]; of the cumulated chances, each whole number counts all of them.
  const auto below = [&](double x) { return std::ranges::lower_bound(draws, x) - draws.begin(); };
  std::vector<int64_t> counts(chances.size());
  double cumulated = 0;
  int64_t before = 0;
  const double all = std::round(std::accumulate(chances.begin(), chances.end(), 0.0));
  for (size_t e = 0; e < chances.size(); ++e) {
    cumulated = e + 1 == chances.size() ? all : std::min(cumulated + chances[e], all);
    const double whole = std::floor(cumulated);
    const int64_t until = static_cast<int64_t>(whole) * tokens + below(cumulated - whole);
    counts[e] = until - before;
    before = until;
  }
  return counts;
}

ExpertRouting::ExpertRouting(const RoutingModel& model, const RoutedTokens& routed) : model_(model), routed_(routed) {
  const int64_t choices = routed.tokens * routed.per_token;
  most_ = model.capacity == 0
              ? std::numeric_limits<int64_t>::max()
              : static_cast<int64_t>(std::ceil(static_cast<double>(choices) / routed.experts * model.capacity));
  if (model.popularity == RoutingModel::Popularity::kRecorded) {
    read_file();
    return;
  }
  const double exponent = model.popularity == RoutingModel::Popularity::kZipf ? model.exponent : 0;
  for (uint32_t i = 1; i <= routed.experts; ++i) weights_.push_back(std::pow(i, -exponent));
}

void ExpertRouting::read_file() {
  const std::vector<std::vector<int64_t>> rows = read_numbers(model_.file);
  const size_t lines = rows.size(), columns = rows.empty() ? 0 : rows.front().size();
  if (lines * columns == routed_.experts && (lines == 1 || columns == 1)) {
    for (const std::vector<int64_t>& row : rows) weights_.insert(weights_.end(), row.begin(), row.end());
    const auto used = routed_.experts - std::ranges::count(weights_, 0.0);
    if (used < routed_.per_token)
      fail_input("{}: {} experts have tokens, but each token goes to {}", model_.file, used, routed_.per_token);
    return;
  }
  if (routed_.other_ranks != 0)
    fail_input(
        "{}: {} lines of {} numbers; it must have {} numbers in one line (tokens of each expert), since no matrix from "
        "rank to rank suits both expert_parallel {} and {}",
        model_.file, lines, columns, routed_.experts, routed_.ranks, routed_.other_ranks);
  if (lines != routed_.ranks || columns != routed_.ranks)
    fail_input(
        "{}: {} lines of {} numbers; it must have {} (tokens of each expert) or {} lines of {} (from rank to rank)",
        model_.file, lines, columns, routed_.experts, routed_.ranks, routed_.ranks);
  check_rows(rows);
  for (const std::vector<int64_t>& row : rows) recorded_.insert(recorded_.end(), row.begin(), row.end());
}

void ExpertRouting::check_rows(const std::vector<std::vector<int64_t>>& rows) const {
  if (routed_.tokens == 0) {
    for (size_t from = 0; from < rows.size(); ++from) {
      if (std::ranges::all_of(rows[from], [](int64_t tokens) { return tokens == 0; }))
        fail_input("{}: row {} has no tokens, so nothing says where those of rank {} go", model_.file, from + 1, from);
    }
    return;
  }
  for (size_t from = 0; from < rows.size(); ++from) {
    // One by one, since sums could be too large.
    int64_t left = routed_.tokens * routed_.per_token;
    for (const int64_t tokens : rows[from]) {
      if (tokens > left)
        fail_input("{}: row {} has more than the {} tokens of a rank, {} for each of {}", model_.file, from + 1,
                   routed_.tokens * routed_.per_token, routed_.per_token, routed_.tokens);
      left -= tokens;
    }
  }
}

std::vector<double> ExpertRouting::popularity(uint32_t layer, uint32_t micro_batch) const {
  if (model_.popularity != RoutingModel::Popularity::kZipf) return weights_;
  const uint32_t epoch = model_.drift == 0 ? 0 : micro_batch / model_.drift;
  const double share = model_.drift == 0 ? 0 : static_cast<double>(micro_batch % model_.drift) / model_.drift;
  const std::vector<uint32_t> now = order_of(routed_.experts, stream(model_.seed, 1, layer, epoch));
  const std::vector<uint32_t> next = order_of(routed_.experts, stream(model_.seed, 1, layer, epoch + 1));
  std::vector<double> popularity(routed_.experts);
  for (uint32_t i = 0; i < routed_.experts; ++i) {
    popularity[now[i]] += (1 - share) * weights_[i];
    popularity[next[i]] += share * weights_[i];
  }
  return popularity;
}

std::vector<int64_t> ExpertRouting::choices(const std::vector<double>& popularity, int64_t tokens,
                                            Random& random) const {
  if (model_.popularity == RoutingModel::Popularity::kBalanced)
    return std::vector<int64_t>(routed_.experts, tokens * routed_.per_token / routed_.experts);
  if (model_.node_limit > 0) return limited_choices(popularity, tokens, random);
  return sample_counts(inclusion_chances(popularity, routed_.per_token), tokens, random);
}

/// Nodes first, by the popularity of all their experts, then experts in each (after DeepSeek-V3, section 2.1.2, which
/// takes nodes by the affinity of their best k / M experts).
std::vector<int64_t> ExpertRouting::limited_choices(const std::vector<double>& popularity, int64_t tokens,
                                                    Random& random) const {
  const uint32_t nodes = routed_.ranks / model_.node_ranks;
  const size_t of_node = routed_.experts / nodes;
  std::vector<double> of_nodes(nodes);
  for (size_t e = 0; e < popularity.size(); ++e) of_nodes[e / of_node] += popularity[e];
  const std::vector<int64_t> visitors = sample_counts(inclusion_chances(of_nodes, model_.node_limit), tokens, random);
  const double chosen = static_cast<double>(routed_.per_token) / model_.node_limit;
  std::vector<int64_t> counts;
  for (uint32_t n = 0; n < nodes; ++n) {
    const auto first = popularity.begin() + static_cast<ptrdiff_t>(n * of_node);
    const std::vector<double> weights(first, first + static_cast<ptrdiff_t>(of_node));
    const std::vector<int64_t> part = sample_counts(inclusion_chances(weights, chosen), visitors[n], random);
    counts.insert(counts.end(), part.begin(), part.end());
  }
  return counts;
}

/// The recorded matrix with as many tokens in each row as a rank sends. What is left of whole tokens goes to those with
/// the largest remainders, of equal ones to the first.
TokenMatrix ExpertRouting::scaled(int64_t of_rank) const {
  const __int128 sent = static_cast<__int128>(of_rank) * routed_.per_token;
  std::vector<int64_t> matrix(recorded_.size());
  std::vector<std::pair<__int128, size_t>> remainders(routed_.ranks);
  for (size_t first = 0; first < recorded_.size(); first += routed_.ranks) {
    __int128 sum = 0, left = sent;
    for (size_t i = first; i < first + routed_.ranks; ++i) sum += recorded_[i];
    for (size_t i = first; i < first + routed_.ranks; ++i) {
      matrix[i] = static_cast<int64_t>(sent * recorded_[i] / sum);
      remainders[i - first] = {-(sent * recorded_[i] % sum), i};
      left -= matrix[i];
    }
    std::ranges::sort(remainders);
    for (size_t k = 0; k < static_cast<size_t>(left); ++k) ++matrix[remainders[k].second];
  }
  return {routed_.ranks, std::move(matrix)};
}

TokenMatrix ExpertRouting::tokens(uint32_t layer, uint32_t micro_batch, uint64_t first_source, uint64_t stride,
                                  int64_t of_rank) const {
  if (!recorded_.empty()) return routed_.tokens == 0 ? scaled(of_rank) : TokenMatrix(routed_.ranks, recorded_);
  const std::vector<double> popular = popularity(layer, micro_batch);
  const uint32_t held = routed_.experts / routed_.ranks;  // experts of a rank
  std::vector<int64_t> matrix(size_t{routed_.ranks} * routed_.ranks);
  for (uint32_t from = 0; from < routed_.ranks; ++from) {
    Random random = stream(model_.seed, 2 + first_source + from * stride, layer, micro_batch);
    const std::vector<int64_t> counts = choices(popular, of_rank, random);
    for (uint32_t e = 0; e < routed_.experts; ++e)
      matrix[size_t{from} * routed_.ranks + e / held] += std::min(counts[e], most_);
  }
  return {routed_.ranks, std::move(matrix)};
}

}  // namespace rankwire
