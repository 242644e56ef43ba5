#include "emulator/traces/representatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();

/// Of all pairs.
class SetDistances {
 public:
  explicit SetDistances(std::span<const SetFeatures> sets) : size_(sets.size()), between_(size_ * size_) {
    const std::vector<std::vector<double>> vectors = vectors_of(sets);
    for (size_t a = 0; a < size_; ++a) {
      for (size_t b = 0; b < a; ++b) {
        double squares = 0;
        for (size_t i = 0; i < vectors[a].size(); ++i) {
          const double difference = vectors[a][i] - vectors[b][i];
          squares += difference * difference;
        }
        between_[a * size_ + b] = between_[b * size_ + a] = std::sqrt(squares);
      }
    }
  }

  size_t size() const { return size_; }
  double operator()(size_t a, size_t b) const { return between_[a * size_ + b]; }

 private:
  static std::vector<std::vector<double>> vectors_of(std::span<const SetFeatures> sets) {
    std::set<std::string> names;
    for (const SetFeatures& set : sets)
      for (const auto& [name, value] : set.values) names.insert(name);
    std::vector<std::vector<double>> vectors(sets.size());
    for (size_t s = 0; s < sets.size(); ++s) {
      for (const std::string& name : names) {
        const auto found = sets[s].values.find(name);
        vectors[s].push_back(found == sets[s].values.end() ? 0 : std::log2(1 + found->second));
      }
    }
    return vectors;
  }

  const size_t size_;
  std::vector<double> between_;
};

/// Some sets, and of each set which of them are the nearest and how far the second one is.
class Medoids {
 public:
  explicit Medoids(const SetDistances& distances) : distances_(distances), is_medoid_(distances.size()) { assign(); }

  const std::vector<size_t>& sets() const { return medoids_; }
  size_t nearest(size_t set) const { return nearest_[set].medoid; }
  double distance(size_t set) const { return nearest_[set].first; }
  double sum() const {
    double sum = 0;
    for (const Nearest& of : nearest_) sum += of.first;
    return sum;
  }

  /// The one with which the sum becomes the smallest.
  void add_best() {
    size_t best = 0;
    double least = kFar;
    for (size_t candidate = 0; candidate < distances_.size(); ++candidate) {
      if (is_medoid_[candidate] != 0) continue;
      double sum = 0;
      for (size_t s = 0; s < distances_.size(); ++s) sum += std::min(nearest_[s].first, distances_(candidate, s));
      if (sum < least) least = sum, best = candidate;
    }
    medoids_.push_back(best);
    is_medoid_[best] = 1;
    assign();
  }

  /// The exchange that makes the sum smaller by most; false where none does.
  bool exchange_best() {
    std::vector<double> removal(medoids_.size());  // what the sum grows by without each
    for (const Nearest& of : nearest_) removal[of.medoid] += of.second - of.first;
    double best = -kRounding * (1 + sum());
    size_t out = 0, in = distances_.size();
    for (size_t candidate = 0; candidate < distances_.size(); ++candidate) {
      if (is_medoid_[candidate] != 0) continue;
      std::vector<double> change = removal;
      double gain = 0;  // whichever is removed
      for (size_t s = 0; s < distances_.size(); ++s) {
        const Nearest& of = nearest_[s];
        const double d = distances_(candidate, s);
        if (d < of.first) {
          gain += d - of.first;
          change[of.medoid] += of.first - of.second;
        } else if (d < of.second) {
          change[of.medoid] += d - of.second;
        }
      }
      const auto least = std::ranges::min_element(change);
      if (*least + gain < best) {
        best = *least + gain, in = candidate;
        out = static_cast<size_t>(least - change.begin());
      }
    }
    if (in == distances_.size()) return false;
    is_medoid_[medoids_[out]] = 0, is_medoid_[in] = 1;
    medoids_[out] = in;
    assign();
    return true;
  }

 private:
  /// Smaller changes are rounding, and could go on for ever.
  static constexpr double kRounding = 1e-12;

  struct Nearest {
    size_t medoid = 0;  ///< place among them
    double first = kFar, second = kFar;
  };

  void assign() {
    nearest_.assign(distances_.size(), {});
    for (size_t s = 0; s < distances_.size(); ++s) {
      Nearest& of = nearest_[s];
      for (size_t m = 0; m < medoids_.size(); ++m) {
        const double d = distances_(medoids_[m], s);
        if (d < of.first) {
          of = {m, d, of.first};
        } else {
          of.second = std::min(of.second, d);
        }
      }
    }
  }

  const SetDistances& distances_;
  std::vector<size_t> medoids_;
  std::vector<uint8_t> is_medoid_;
  std::vector<Nearest> nearest_;
};

Representatives described(const Medoids& medoids, size_t sets, double with_one) {
  Representatives result;
  for (const size_t set : medoids.sets()) result.chosen.push_back({.set = set, .stands_for = {}});
  for (size_t s = 0; s < sets; ++s) {
    Representative& of = result.chosen[medoids.nearest(s)];
    of.stands_for.push_back(s);
    of.mean_distance += medoids.distance(s);
    of.largest_distance = std::max(of.largest_distance, medoids.distance(s));
  }
  for (Representative& of : result.chosen) of.mean_distance /= static_cast<double>(of.stands_for.size());
  std::ranges::stable_sort(result.chosen, [](const Representative& a, const Representative& b) {
    return std::pair(b.stands_for.size(), a.set) < std::pair(a.stands_for.size(), b.set);
  });
  result.mean_distance = medoids.sum() / static_cast<double>(sets);
  result.coverage = with_one > 0 ? 1 - medoids.sum() / with_one : 1;
  return result;
}

/// Chosen are sets one by one until `enough` says so, or all are; then they are exchanged.
template <class Enough>
Representatives choose_until(std::span<const SetFeatures> sets, const Enough& enough) {
  if (sets.empty()) fail_input("there are no sets of traces to choose from");
  if (sets.size() > kMostChoosableSets)
    fail_input("{} sets of traces; at most {} can be chosen from", sets.size(), kMostChoosableSets);
  const SetDistances distances(sets);
  Medoids medoids(distances);
  medoids.add_best();  // the best one there is: nothing is left to exchange
  const double with_one = medoids.sum();
  Representatives result = described(medoids, sets.size(), with_one);
  while (!enough(result) && medoids.sets().size() < sets.size()) {
    medoids.add_best();
    while (medoids.exchange_best()) continue;
    result = described(medoids, sets.size(), with_one);
  }
  return result;
}

}  // namespace

SetFeatures features_of(const Inspection& inspection) {
  SetFeatures features{.name = inspection.name, .values = {}, .bytes = {}};
  const double ranks = static_cast<double>(std::max<size_t>(inspection.ranks.size(), 1));
  const auto add = [&](const std::string& name, double of_all) { features.values[name] += of_all / ranks; };
  const auto nanoseconds_of = [](Duration time) { return static_cast<double>(time.ps) / 1e3; };
  for (const auto& [key, tally] : inspection.communication.operations()) {
    add(fmt::format("{} {} bytes", key.kind, key.name), static_cast<double>(tally.bytes.count));
    add(fmt::format("{} {} operations", key.kind, key.name), static_cast<double>(tally.count));
    features.bytes += tally.bytes;
  }
  for (const auto& [key, tally] : inspection.operations.operations()) {
    add(key.kind + " operations", static_cast<double>(tally.count));
    add(key.kind + " time", nanoseconds_of(tally.total));
  }
  if (const std::optional<RankTimes> times = inspection.sum_of_times()) {
    add("computation", nanoseconds_of(times->compute));
    add("communication", nanoseconds_of(times->communication));
    add("both", nanoseconds_of(times->both));
  }
  features.values["ranks"] = ranks;
  return features;
}

double Representatives::weighted_bytes(std::span<const SetFeatures> sets) const {
  double bytes = 0;
  for (const Representative& of : chosen)
    bytes += static_cast<double>(of.stands_for.size()) * static_cast<double>(sets[of.set].bytes.count);
  return bytes;
}

Representatives choose_representatives(std::span<const SetFeatures> sets, size_t count) {
  if (count > sets.size()) fail_input("{} of {} sets of traces cannot be chosen", count, sets.size());
  return choose_until(sets, [&](const Representatives& now) { return now.chosen.size() >= count; });
}

Representatives choose_by_coverage(std::span<const SetFeatures> sets, double coverage) {
  return choose_until(sets, [&](const Representatives& now) { return now.coverage >= coverage; });
}

nlohmann::ordered_json to_json(const Representatives& representatives, std::span<const SetFeatures> sets) {
  double all_bytes = 0;
  for (const SetFeatures& set : sets) all_bytes += static_cast<double>(set.bytes.count);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Representative& of : representatives.chosen) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const size_t set : of.stands_for) names.push_back(sets[set].name);
    list.push_back({{"set", sets[of.set].name},
                    {"weight", static_cast<double>(of.stands_for.size()) / static_cast<double>(sets.size())},
                    {"mean_distance", of.mean_distance},
                    {"largest_distance", of.largest_distance},
                    {"stands_for", names}});
  }
  return {{"sets", sets.size()},
          {"coverage", representatives.coverage},
          {"mean_distance", representatives.mean_distance},
          {"bytes", all_bytes},
          {"weighted_bytes", representatives.weighted_bytes(sets)},
          {"representatives", list}};
}

std::string to_text(const Representatives& representatives, std::span<const SetFeatures> sets) {
  std::string text = fmt::format("{:>7} {:>6} {:>8} {:>8}  {}\n", "weight", "sets", "mean", "farthest", "set");
  Bytes all_bytes;
  for (const SetFeatures& set : sets) all_bytes += set.bytes;
  for (const Representative& of : representatives.chosen) {
    text += fmt::format("{:>7.4f} {:>6} {:>8.3f} {:>8.3f}  {}\n",
                        static_cast<double>(of.stands_for.size()) / static_cast<double>(sets.size()),
                        of.stands_for.size(), of.mean_distance, of.largest_distance, sets[of.set].name);
  }
  text += fmt::format("{} of {} sets, coverage {:.1f} %; all have {}, these by their weights {}\n",
                      representatives.chosen.size(), sets.size(), 100 * representatives.coverage, readable(all_bytes),
                      readable(Bytes(std::llround(representatives.weighted_bytes(sets)))));
  return text;
}

}  // namespace rankwire
