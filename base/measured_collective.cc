#include "base/measured_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace rankwire {
namespace {

constexpr int64_t kPartMultiple = 16;  // bytes

constexpr std::array kTraits = {
    MeasuredTraits{MeasuredCollective::kAllReduce, "all_reduce", false, true, false},
    MeasuredTraits{MeasuredCollective::kAllGather, "all_gather", true, false, false},
    MeasuredTraits{MeasuredCollective::kReduceScatter, "reduce_scatter", true, true, false},
    MeasuredTraits{MeasuredCollective::kBroadcast, "broadcast", false, false, true},
    MeasuredTraits{MeasuredCollective::kReduce, "reduce", false, true, true},
    MeasuredTraits{MeasuredCollective::kAllToAll, "all_to_all", true, false, false},
    MeasuredTraits{MeasuredCollective::kAllToAllV, "all_to_all_v", true, false, false},
    MeasuredTraits{MeasuredCollective::kGather, "gather", true, false, true},
    MeasuredTraits{MeasuredCollective::kScatter, "scatter", true, false, true},
    MeasuredTraits{MeasuredCollective::kSendRecv, "sendrecv", false, false, false},
    MeasuredTraits{MeasuredCollective::kHypercube, "hypercube", true, false, false},
};

constexpr std::array kTypes = {
    MeasuredType{"int8", Bytes(1)},     MeasuredType{"uint8", Bytes(1)},  MeasuredType{"int32", Bytes(4)},
    MeasuredType{"uint32", Bytes(4)},   MeasuredType{"int64", Bytes(8)},  MeasuredType{"uint64", Bytes(8)},
    MeasuredType{"half", Bytes(2)},     MeasuredType{"float", Bytes(4)},  MeasuredType{"double", Bytes(8)},
    MeasuredType{"bfloat16", Bytes(2)}, MeasuredType{"f8e4m3", Bytes(1)}, MeasuredType{"f8e5m2", Bytes(1)},
};

constexpr std::array kReductions = {"sum", "prod", "max", "min", "avg"};

constexpr std::string_view kSizeMark = " size=", kWarmUp = " warmup ", kIteration = " iteration ";

/// Letters alone, small.
std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c != '_' && c != '-') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

template <class T>
bool take_number(std::string_view& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  return true;
}

MeasuredSize size_of(const MeasuredSeries& series, Bytes wanted) {
  const int64_t element = series.element.count;
  if (!traits_of(series.collective).divided) {
    const int64_t count = wanted.count / element;
    return {Bytes(count * element), count};
  }
  const int64_t part = wanted.count / series.ranks / kPartMultiple * kPartMultiple;
  if (series.collective != MeasuredCollective::kAllToAllV) return {Bytes(part * series.ranks), part / element};
  MeasuredSize size{Bytes(0), part / element};
  for (uint32_t distance = 0; distance < series.ranks; ++distance)
    size.size += spread_part(series, size.count, distance);
  return size;
}

}  // namespace

std::span<const MeasuredTraits> measured_collectives() {
  return kTraits;
}

const MeasuredTraits& traits_of(MeasuredCollective collective) {
  return kTraits[static_cast<size_t>(collective)];
}

std::optional<MeasuredCollective> find_measured(std::string_view name) {
  std::string wanted = plain(name);
  if (wanted.ends_with("perf")) wanted.resize(wanted.size() - 4);
  for (const MeasuredTraits& traits : kTraits) {
    if (plain(traits.name) == wanted) return traits.collective;
  }
  return std::nullopt;
}

std::span<const MeasuredType> measured_types() {
  return kTypes;
}

Bytes element_of(std::string_view type) {
  const auto found = std::ranges::find_if(kTypes, [&](const MeasuredType& known) { return known.name == type; });
  return found == kTypes.end() ? Bytes(0) : found->element;
}

std::span<const char* const> measured_reductions() {
  return kReductions;
}

std::span<const char* const> measured_averages() {
  static constexpr const char* kAverages[] = {"rank0", "mean", "min", "max"};
  return kAverages;
}

std::vector<MeasuredSize> measured_sizes(const MeasuredSeries& series) {
  std::vector<MeasuredSize> sizes;
  for (Bytes wanted = series.smallest; wanted <= series.largest;) {
    const MeasuredSize size = size_of(series, wanted);
    if (size.size > Bytes(0) && (sizes.empty() || sizes.back().size < size.size)) sizes.push_back(size);
    const bool is_last = series.step > Bytes(0) ? wanted > series.largest - series.step
                                                : wanted.count > series.largest.count / series.factor;
    if (is_last) break;
    wanted = series.step > Bytes(0) ? wanted + series.step : Bytes(wanted.count * series.factor);
  }
  return sizes;
}

Bytes spread_part(const MeasuredSeries& series, int64_t count, uint32_t distance) {
  const __int128 n = series.ranks, total = n * count * series.element.count, whole = 1'000'000;
  // ((1 - s) / n + s d / (n (n - 1) / 2)) of the total, over the common denominator.
  const __int128 share = (whole - series.spread) * (n - 1) + 2 * __int128{series.spread} * distance;
  const __int128 bytes = total * share / (n * (n - 1) * whole);
  return Bytes(static_cast<int64_t>(bytes) / kPartMultiple * kPartMultiple);
}

Bytes least_sent(const MeasuredSeries& series, const MeasuredSize& size) {
  const int64_t n = series.ranks, part = size.size.count / n;
  switch (series.collective) {
    case MeasuredCollective::kAllReduce:
      return Bytes(2 * (n - 1) * part);
    case MeasuredCollective::kBroadcast:
    case MeasuredCollective::kReduce:
    case MeasuredCollective::kSendRecv:
      return size.size;
    case MeasuredCollective::kAllToAllV:
      return size.size - spread_part(series, size.count, 0);
    default:
      return Bytes((n - 1) * part);  // a gather's root receives that
  }
}

MeasuredBandwidth measured_bandwidth(MeasuredCollective collective, uint32_t ranks, Bytes size, Duration time) {
  // Bytes per picosecond are TB/s.
  const double rate = 1000 * static_cast<double>(size.count) / static_cast<double>(time.ps);
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case MeasuredCollective::kAllReduce:
      return {rate, rate * 2 * others};
    case MeasuredCollective::kBroadcast:
    case MeasuredCollective::kReduce:
    case MeasuredCollective::kSendRecv:
      return {rate, rate};
    case MeasuredCollective::kHypercube:
      return {rate * others, rate * others};
    default:
      return {rate, rate * others};
  }
}

std::string measured_name(MeasuredCollective collective, Bytes size, bool is_warm_up, uint32_t number) {
  return fmt::format("{}{}{}{}{}", traits_of(collective).name, kSizeMark, size.count, is_warm_up ? kWarmUp : kIteration,
                     number);
}

std::optional<MeasuredCall> measured_call(std::string_view name) {
  MeasuredCall call;
  const size_t mark = name.find(kSizeMark);
  if (mark == std::string_view::npos) return std::nullopt;
  name.remove_prefix(mark + kSizeMark.size());
  if (!take_number(name, call.size.count)) return std::nullopt;
  call.is_warm_up = take(name, kWarmUp);
  if (!call.is_warm_up && !take(name, kIteration)) return std::nullopt;
  if (!take_number(name, call.number) || !name.empty()) return std::nullopt;
  return call;
}

}  // namespace rankwire
