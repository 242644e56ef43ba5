// What a test varies: sizes, queue pairs, durations and so on, each a list of values as it is written in a suite.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "emulator/input/tree.h"

namespace rankwire {

enum class ParameterKind : uint8_t { kSizes, kSize, kCounts, kCount, kDurations, kDuration, kShares, kShare };

/// A parameter that tests know.
struct ParameterType {
  const char* name;
  ParameterKind kind;
  const char* meaning;
  uint64_t most = 1'000'000;  ///< of counts
};
std::span<const ParameterType> parameter_types();
/// Whether the values of a parameter are sizes. False for names that are none.
bool is_size(std::string_view parameter);

/// Of one test: what a parameter is unless the suite says otherwise, as the drafts have it and with `--quick`.
struct ParameterDefault {
  const char* name;
  const char* draft;
  const char* quick;
};

/// Values of the parameters of one test, by name. Getters are for what the test has declared, in the type that it has.
class BmwgParameters {
 public:
  BmwgParameters(std::span<const ParameterDefault> defaults, bool quick);

  /// Throws Error(kInput) at the value that is none of the parameter's kind. False where the test has no such one.
  bool set(std::string_view name, const Tree& value);

  /// Of a parameter that the test has.
  void set_count(std::string_view name, uint32_t value);

  bool has(std::string_view name) const { return !texts(name).empty(); }
  bool is_declared(std::string_view name) const { return values_.contains(name); }
  std::vector<Bytes> sizes(std::string_view name) const;
  std::vector<uint32_t> counts(std::string_view name) const;
  std::vector<Duration> durations(std::string_view name) const;
  std::vector<double> shares(std::string_view name) const;  ///< "20%" is 0.2
  Bytes size(std::string_view name) const { return sizes(name).at(0); }
  uint32_t count(std::string_view name) const { return counts(name).at(0); }
  Duration duration(std::string_view name) const { return durations(name).at(0); }
  double share(std::string_view name) const { return shares(name).at(0); }
  /// As they were written: "sizes=64B,1KiB; duration=60s". `of_suite`: those that `set` has changed, or the others.
  std::string text() const;
  std::string text(bool of_suite) const;

 private:
  const std::vector<std::string>& texts(std::string_view name) const;

  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::set<std::string, std::less<>> set_;
};

}  // namespace rankwire
