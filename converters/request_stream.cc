#include "converters/request_stream.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/random.h"
#include "converters/request_file.h"

namespace rankwire {
namespace {

constexpr double kMillion = 1e6;

/// A stream of random numbers of its own for each purpose, so that one choice does not change another.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t purpose) : random_(mix64(seed) + purpose) {}

  /// In (0, 1).
  double uniform() { return (static_cast<double>(random_.next() >> 11) + 0.5) * 0x1p-53; }
  double exponential() { return -std::log(uniform()); }
  /// Box and Muller 1958.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  /// Of scale 1 (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000).
  double gamma(double shape) {
    if (shape < 1) return gamma(shape + 1) * std::pow(uniform(), 1 / shape);
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    while (true) {
      const double x = normal(), root = 1 + c * x;
      if (root <= 0) continue;
      const double v = root * root * root;
      if (std::log(uniform()) < x * x / 2 + d * (1 - v + std::log(v))) return d * v;
    }
  }
  int64_t between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_.below(static_cast<uint64_t>(most - least) + 1));
  }
  bool chance(uint32_t parts_per_million) { return random_.chance(parts_per_million); }

 private:
  Random random_;
};

int64_t token_count(const TokenCounts& counts, Draws& draws) {
  const auto mean = static_cast<double>(counts.mean);
  double drawn = mean;
  switch (counts.shape) {
    case TokenCounts::Shape::kFixed:
      break;
    case TokenCounts::Shape::kUniform:
      return draws.between(counts.least, counts.most);
    case TokenCounts::Shape::kExponential:
      drawn = mean * draws.exponential();
      break;
    case TokenCounts::Shape::kLognormal: {
      const double variance = std::log1p(counts.cv * counts.cv);
      drawn = mean * std::exp(std::sqrt(variance) * draws.normal() - variance / 2);
      break;
    }
  }
  const double bounded = std::clamp(drawn, static_cast<double>(counts.least), static_cast<double>(counts.most));
  return std::llround(bounded);
}

/// In units of the mean gap.
double gap(const RequestModel& model, Draws& draws) {
  if (model.process == ArrivalProcess::kPoisson) return draws.exponential();
  const double variance = model.cv * model.cv;
  return draws.gamma(1 / variance) * variance;
}

void check_counts(const char* what, const TokenCounts& counts) {
  if (counts.least < 1) fail_input("inference: {} tokens of at least {}, must be 1 or more", what, counts.least);
  if (counts.most < counts.least)
    fail_input("inference: {} tokens of at least {} and at most {}", what, counts.least, counts.most);
  if (counts.shape != TokenCounts::Shape::kUniform && counts.mean < 1)
    fail_input("inference: {} tokens have a mean of {}, must be 1 or more", what, counts.mean);
  if (!(counts.cv > 0)) fail_input("inference: the cv of {} tokens is {}, must be above 0", what, counts.cv);
}

void check_requests(const RequestModel& model) {
  if (model.requests < 1 || model.requests > kMostRequests)
    fail_input("inference: {} requests, must be 1 to {}", model.requests, kMostRequests);
  if (model.process == ArrivalProcess::kFile) return;
  if (!(model.rate > 0)) fail_input("inference: a rate of {} requests a second, must be above 0", model.rate);
  if (!(model.cv > 0)) fail_input("inference: the cv of arrivals is {}, must be above 0", model.cv);
  check_counts("input", model.input);
  check_counts("output", model.output);
}

std::vector<ServedRequest> drawn_requests(const RequestModel& model) {
  Draws arrivals(model.seed, 1), input(model.seed, 2), output(model.seed, 3);
  std::vector<ServedRequest> requests;
  double seconds = 0;
  while (requests.size() < model.requests) {
    seconds += gap(model, arrivals) / model.rate;
    const double micros = std::round(seconds * kMillion);
    if (micros > kMillion * kMillion)
      fail_input("inference.arrivals.rate: requests arrive later than after 10^6 s; raise it");
    const Duration arrival = microseconds(static_cast<int64_t>(micros));
    if (model.duration && arrival > *model.duration) break;
    requests.push_back(
        {.arrival = arrival, .input = token_count(model.input, input), .output = token_count(model.output, output)});
  }
  return requests;
}

std::vector<ServedRequest> requests_of_file(const RequestModel& model) {
  std::vector<ServedRequest> requests = read_requests(model.file, model.requests);
  if (model.duration) std::erase_if(requests, [&](const ServedRequest& r) { return r.arrival > *model.duration; });
  return requests;
}

}  // namespace

std::vector<ServedRequest> make_requests(const RequestModel& model) {
  check_requests(model);
  std::vector<ServedRequest> requests =
      model.process == ArrivalProcess::kFile ? requests_of_file(model) : drawn_requests(model);
  if (requests.empty()) fail_input("inference.arrivals.duration: no request arrives within it; raise it, or the rate");
  Draws hits(model.seed, 4), near(model.seed, 5);
  for (ServedRequest& request : requests) {
    const bool hit = hits.chance(model.hit_ppm);
    request.near = near.chance(model.local_ppm);
    if (!hit && !request.near) continue;
    const __int128 prefix = static_cast<__int128>(request.input) * model.prefix_ppm / 1'000'000;
    request.cached = std::min(static_cast<int64_t>(prefix), request.input - 1);
  }
  return requests;
}

}  // namespace rankwire
