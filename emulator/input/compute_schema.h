// The keys of `compute`; see schema.h.
#pragma once

#include <string>

#include "emulator/input/compute_config.h"
#include "emulator/input/syntax.h"
#include "emulator/simulator/compute_device.h"

namespace rankwire {

/// "7" or "4-7".
struct Numbers {
  NumberRange parse(const Tree& scalar) const;
  ConfigJson print(NumberRange value) const {
    if (value.first == value.last) return value.first;
    return fmt::format("{}-{}", value.first, value.last);
  }
};

/// A number of 0 or more with up to three decimals, in thousandths.
struct Thousandths {
  int64_t parse(const Tree& scalar) const;
  ConfigJson print(int64_t value) const;
};

/// A factor of 1 or more: "1.5", "2" or "3/2".
struct Factor {
  Scale parse(const Tree& scalar) const;
  ConfigJson print(Scale value) const { return print_fraction(value); }
};

/// A share above 0.
struct PositiveShare {
  uint32_t parse(const Tree& scalar) const {
    const uint32_t share = parse_share(scalar.text);
    if (share == 0) throw ValueError("must be above 0%");
    return share;
  }
  ConfigJson print(uint32_t parts_per_million) const { return print_share(parts_per_million); }
};

inline Choice<std::string> device_names() {
  Choice<std::string> names;
  for (const DevicePreset& preset : device_presets()) names.words.emplace_back(preset.name, std::string(preset.name));
  return names;
}

inline Choice<DataType> data_types() {
  Choice<DataType> types;
  for (const DataType type : kDataTypes) types.words.emplace_back(to_string(type), type);
  return types;
}

inline constexpr const char* kAsDefault = "default";

template <class Visitor>
void describe_store(Visitor& visit, StoreConfig& store) {
  visit.field("bandwidth", store.bandwidth, Or{kAsDefault, Rate{}});
  visit.field("latency", store.latency, Or{kAsDefault, Interval{Duration(), seconds(1)}});
}

template <class Visitor>
void describe_variation(Visitor& visit, ComputeKeys& compute) {
  visit.section("jitter", [&](auto& keys) {
    keys.field("distribution", compute.jitter,
               Or{kAsDefault, Choice<JitterDistribution>{{{"none", JitterDistribution::kNone},
                                                          {"normal", JitterDistribution::kNormal},
                                                          {"lognormal", JitterDistribution::kLognormal},
                                                          {"uniform", JitterDistribution::kUniform},
                                                          {"gamma", JitterDistribution::kGamma}}}});
    keys.field("deviation", compute.jitter_deviation_ppm, Or{kAsDefault, Share{}});
  });
  visit.section("noise", [&](auto& keys) {
    keys.field("period", compute.noise_period, Or{kAsDefault, Interval{nanoseconds(1), seconds(1'000)}});
    keys.field("duration", compute.noise_duration, Or{kAsDefault, Interval{Duration(), seconds(1'000)}});
  });
}

template <class Visitor>
void describe_compute_keys(Visitor& visit, ComputeKeys& compute) {
  visit.field("source", compute.source,
              Or{kAsDefault, Choice<ComputeSource>{{{"auto", ComputeSource::kAuto},
                                                    {"recorded", ComputeSource::kRecorded},
                                                    {"roofline", ComputeSource::kRoofline}}}});
  visit.field("device", compute.device, Or{kAsDefault, device_names()});
  visit.field("data_type", compute.data_type, Or{kAsDefault, data_types()});
  visit.field("peak", compute.peak, Or{kAsDefault, Flops{}});
  visit.section("peaks", [&](auto& keys) {
    for (const DataType type : kDataTypes)
      keys.field(to_string(type), compute.peaks[static_cast<size_t>(type)], Or{kAsDefault, Flops{}});
  });
  visit.field("memory_bandwidth", compute.memory_bandwidth, Or{kAsDefault, Rate{}});
  visit.field("latency", compute.latency, Or{kAsDefault, Interval{Duration(), seconds(1)}});
  visit.section("efficiency", [&](auto& keys) {
    using Axis = EfficiencyCurve::Axis;
    keys.field(
        "by", compute.efficiency_axis,
        Or{kAsDefault,
           Choice<Axis>{{{"intensity", Axis::kIntensity}, {"operations", Axis::kWork}, {"bytes", Axis::kBytes}}}});
    keys.items("points", compute.efficiency, [](auto& point, EfficiencyCurve::Point& value) {
      point.field("at", value.at_thousandths, Thousandths{});
      point.field("share", value.share_ppm, PositiveShare{});
    });
  });
  visit.field("kernels", compute.kernels_file, FilePathOrNone{});
  describe_variation(visit, compute);
  visit.section("memory", [&](auto& keys) {
    keys.field("location", compute.memory_location,
               Or{kAsDefault, Choice<MemoryLocation>{{{"local", MemoryLocation::kLocal},
                                                      {"remote", MemoryLocation::kRemote},
                                                      {"pool", MemoryLocation::kPool}}}});
    keys.section("local", [&](auto& store) { describe_store(store, compute.local); });
    keys.section("remote", [&](auto& store) { describe_store(store, compute.remote); });
    keys.section("pool", [&](auto& store) { describe_store(store, compute.pool); });
  });
  visit.section("storage", [&](auto& keys) { describe_store(keys, compute.storage); });
}

template <class Visitor>
void describe_rank_choice(Visitor& visit, RankChoice& who) {
  visit.list("ranks", who.ranks, Numbers{});
  visit.list("hosts", who.hosts, Numbers{});
  visit.list("groups", who.groups, Text{});
  visit.list("ports", who.ports, Text{});
}

template <class Visitor>
void describe_compute(Visitor& visit, ComputeConfig& compute) {
  describe_compute_keys(visit, compute);
  visit.items("overrides", compute.overrides, [](auto& keys, ComputeOverride& item) {
    describe_rank_choice(keys, item.who);
    describe_compute_keys(keys, item.keys);
  });
  visit.items("stragglers", compute.stragglers, [](auto& keys, StragglerConfig& item) {
    const Interval time{Duration(), seconds(1'000'000)};
    describe_rank_choice(keys, item.who);
    keys.field("from", item.from, time);
    keys.field("until", item.until, Or{"none", time});
    keys.field("factor", item.factor, Or{"none", Factor{}});
    keys.field("pause", item.pause, on_or_off());
  });
}

}  // namespace rankwire
