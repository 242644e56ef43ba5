// What a campaign must have met beside transitions: opcodes, answers, failures and counters by name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace rankwire::testing {

/// Counts what is named. One thread.
class Sightings {
 public:
  Sightings();

  /// What is noted from now on belongs to `seed`.
  void begin(uint64_t seed) { seed_ = seed; }
  void note(std::string_view name, uint64_t times = 1);
  /// A line each: name, times, first seed.
  void print() const;
  /// How many are asked for, and how many of these were never met.
  size_t asked_for() const;
  size_t missing() const;

 private:
  struct Sighting {
    uint64_t times = 0, first_seed = 0;
    bool asked_for = false;
  };

  std::map<std::string, Sighting, std::less<>> sightings_;
  uint64_t seed_ = 0;
};

Sightings& sightings();

}  // namespace rankwire::testing
