// Requests to an inference service: when they arrive, and how many tokens they have. Drawn from a seed, or read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// How many tokens requests have. What is drawn is rounded to the nearest and then brought within least .. most, which
/// shifts the mean where much is beyond them.
struct TokenCounts {
  enum class Shape : uint8_t { kFixed, kUniform, kExponential, kLognormal };

  Shape shape = Shape::kFixed;
  int64_t mean = 512;  ///< of no account to kUniform, which is spread evenly over least .. most
  int64_t least = 1, most = 1 << 20;
  double cv = 1;  ///< kLognormal: coefficient of variation, > 0

  bool operator==(const TokenCounts&) const = default;
};

enum class ArrivalProcess : uint8_t {
  kPoisson,  ///< gaps are exponential
  kGamma,    ///< gaps have a gamma distribution: bursts where cv > 1, more even than Poisson's where cv < 1
  kFile,     ///< arrivals, input and output tokens of a CSV file, see read_requests
};

struct RequestModel {
  ArrivalProcess process = ArrivalProcess::kPoisson;
  double rate = 10;  ///< requests a second, > 0
  double cv = 1;     ///< kGamma: coefficient of variation of the gaps, > 0
  std::string file;
  uint32_t requests = 16;            ///< at most
  std::optional<Duration> duration;  ///< and none that arrives later
  uint64_t seed = 1;
  TokenCounts input, output = {.mean = 128};
  uint32_t hit_ppm = 0;           ///< requests whose prefix is in the cache, of a million
  uint32_t prefix_ppm = 500'000;  ///< part of their input tokens that the prefix is, of a million
  uint32_t local_ppm = 0;         ///< requests whose prefix is near, of a million; `hit_ppm` is of the others

  bool operator==(const RequestModel&) const = default;
};

struct ServedRequest {
  Duration arrival;    ///< whole microseconds from the beginning of the job
  int64_t input = 0;   ///< tokens, >= 1
  int64_t output = 0;  ///< tokens, >= 1
  int64_t cached = 0;  ///< of the input, at its beginning; below `input`
  bool near = false;   ///< these are in the memory of the instance's own hosts

  bool operator==(const ServedRequest&) const = default;
};

/// More would not have tags of their own between two ranks.
inline constexpr uint32_t kMostRequests = 50'000;

/// In the order of their arrival; equal models give equal requests. Throws Error(kInput) for a model that has no
/// requests or values out of their ranges, and as read_requests does.
std::vector<ServedRequest> make_requests(const RequestModel& model);

}  // namespace rankwire
