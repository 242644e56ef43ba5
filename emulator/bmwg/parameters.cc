#include "emulator/bmwg/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "emulator/input/units.h"

namespace rankwire {
namespace {

using Kind = ParameterKind;

constexpr std::array<ParameterType, 19> kTypes{{
    {"sizes", Kind::kSizes, "of messages, or of what a collective moves"},
    {"size", Kind::kSize, "of a message, or of what a collective moves"},
    {"thresholds", Kind::kSizes, "of a queue, from which on the device marks; an embedded switch is set to each"},
    {"queue_pairs", Kind::kCounts, "of each pair of source and destination", 256},
    {"ratios", Kind::kCounts, "senders of an incast, of 1 receiver"},
    {"flows", Kind::kCounts, "that share a bottleneck before they are doubled"},
    {"accelerators", Kind::kCounts, "ranks of a collective; those that there are no NPUs for are left out"},
    {"duration", Kind::kDuration, "of one measurement"},
    {"interval", Kind::kDuration, "of one sample of a soak"},
    {"patience", Kind::kDuration, "without any progress, after which traffic stands still"},
    {"compute", Kind::kDurations, "of an iteration"},
    {"iterations", Kind::kCount, "of a collective or a job"},
    {"repetitions", Kind::kCount, "of each measurement"},
    {"resolution", Kind::kShare, "of a search: where it stops, as a share of the line rate"},
    {"load", Kind::kShare, "of the line rate, on every port"},
    {"loads", Kind::kShares, "the same, one after the other"},
    {"pairs", Kind::kCounts, "of a prefill and a decode port that transfer at a time"},
    {"tolerance", Kind::kShare, "by which a KPI may be worse than the reference; without it nothing is judged by that"},
    {"overlaps", Kind::kShares, "of the spine links that two jobs share"},
}};

const ParameterType& type_of(std::string_view name) {
  return *std::ranges::find(kTypes, name, &ParameterType::name);
}

bool is_list(Kind kind) {
  return kind == Kind::kSizes || kind == Kind::kCounts || kind == Kind::kDurations || kind == Kind::kShares;
}

/// The value as a number. Throws ValueError.
int64_t checked(const ParameterType& type, const std::string& text) {
  switch (type.kind) {
    case Kind::kSizes:
    case Kind::kSize: {
      const auto size = static_cast<int64_t>(parse_quantity(text, kSizeScale));
      if (size == 0) throw ValueError("a size is above 0");
      return size;
    }
    case Kind::kCounts:
    case Kind::kCount: {
      const uint64_t value = parse_integer(text);
      if (value < 1 || value > type.most) throw ValueError(fmt::format("{} is not 1 .. {}", value, type.most));
      return static_cast<int64_t>(value);
    }
    case Kind::kDurations:
    case Kind::kDuration: {
      const auto duration = static_cast<int64_t>(parse_quantity(text, kDurationScale));
      if (duration == 0) throw ValueError("a duration is above 0");
      return duration;
    }
    case Kind::kShares:
    case Kind::kShare:
      return static_cast<int64_t>(parse_share(text));
  }
  return 0;
}

std::vector<std::string> split_texts(std::string_view list) {
  std::vector<std::string> texts;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    texts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return texts;
}

template <class T, class Parse>
std::vector<T> parsed(const std::vector<std::string>& texts, Parse parse) {
  std::vector<T> values;
  for (const std::string& text : texts) values.push_back(parse(text));
  return values;
}

}  // namespace

std::span<const ParameterType> parameter_types() {
  return kTypes;
}

bool is_size(std::string_view parameter) {
  const auto type = std::ranges::find(kTypes, parameter, &ParameterType::name);
  return type != kTypes.end() && (type->kind == Kind::kSizes || type->kind == Kind::kSize);
}

BmwgParameters::BmwgParameters(std::span<const ParameterDefault> defaults, bool quick) {
  for (const ParameterDefault& parameter : defaults)
    values_[parameter.name] = split_texts(quick ? parameter.quick : parameter.draft);
}

bool BmwgParameters::set(std::string_view name, const Tree& value) {
  const auto own = values_.find(name);
  if (own == values_.end()) return false;
  const Kind kind = type_of(name).kind;
  std::set<int64_t> values;
  std::vector<std::string> texts;
  const auto add = [&](const Tree& item) {
    if (item.kind != Tree::Kind::kScalar) fail_at(item.origin, "{}: a value is expected", name);
    try {
      // Times of computing may be alike: of a prompt and of a token.
      if (!values.insert(checked(type_of(name), item.text)).second && kind != Kind::kDurations)
        throw ValueError(fmt::format("{} is there twice", item.text));
    } catch (const ValueError& error) {
      fail_at(item.origin, "{}: {}", name, error.what());
    }
    texts.push_back(item.text);
  };
  if (value.kind != Tree::Kind::kList) {
    add(value);
  } else if (!is_list(kind)) {
    fail_at(value.origin, "{}: one value is expected", name);
  } else if (value.items.empty()) {
    fail_at(value.origin, "{}: one value at least is expected", name);
  } else {
    std::ranges::for_each(value.items, add);
  }
  own->second = std::move(texts);
  set_.emplace(name);
  return true;
}

void BmwgParameters::set_count(std::string_view name, uint32_t value) {
  texts(name);
  values_.find(name)->second = {fmt::to_string(value)};
}

const std::vector<std::string>& BmwgParameters::texts(std::string_view name) const {
  const auto own = values_.find(name);
  if (own == values_.end()) fail_run("a test asks for '{}', which it has not declared", name);
  return own->second;
}

std::vector<Bytes> BmwgParameters::sizes(std::string_view name) const {
  return parsed<Bytes>(texts(name), [](const std::string& text) { return Bytes(parse_quantity(text, kSizeScale)); });
}

std::vector<uint32_t> BmwgParameters::counts(std::string_view name) const {
  return parsed<uint32_t>(texts(name),
                          [](const std::string& text) { return static_cast<uint32_t>(parse_integer(text)); });
}

std::vector<Duration> BmwgParameters::durations(std::string_view name) const {
  return parsed<Duration>(texts(name),
                          [](const std::string& text) { return Duration(parse_quantity(text, kDurationScale)); });
}

std::vector<double> BmwgParameters::shares(std::string_view name) const {
  return parsed<double>(texts(name), [](const std::string& text) { return parse_share(text) / 1e6; });
}

std::string BmwgParameters::text() const {
  std::vector<std::string> parts;
  for (const auto& [name, values] : values_)
    if (!values.empty()) parts.push_back(fmt::format("{}={}", name, fmt::join(values, ",")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string BmwgParameters::text(bool of_suite) const {
  std::vector<std::string> parts;
  for (const auto& [name, values] : values_)
    if (!values.empty() && set_.contains(name) == of_suite)
      parts.push_back(fmt::format("{}={}", name, fmt::join(values, ",")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace rankwire
