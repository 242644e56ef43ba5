#include "emulator/assembly/collective_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "emulator/input/nearest_key.h"
#include "emulator/input/tree.h"
#include "emulator/input/units.h"

namespace rankwire {
namespace {

constexpr const char* kSeries = "workload.generate.collective.";
constexpr uint32_t kMostOwnPorts = 16;  // DPDK has 32 devices, and a ring port is two
constexpr uint64_t kMostNpus = 1024;    // as `hosts.npus`

MeasuredCollective measured_operation(const CollectiveSpec& spec) {
  if (const auto found = find_measured(spec.operation)) return *found;
  std::vector<std::string> names;
  std::string all;
  for (const MeasuredTraits& traits : measured_collectives()) {
    names.emplace_back(traits.name);
    all += fmt::format("{}{}", all.empty() ? "" : ", ", traits.name);
  }
  const std::string near = nearest_name(spec.operation, names);
  if (near.empty()) fail_input("there is no collective '{}'; there are {}", spec.operation, all);
  fail_input("there is no collective '{}'; did you mean '{}'? There are {}", spec.operation, near, all);
}

/// The key of `collectives.algorithms`.
std::string algorithm_key(MeasuredCollective operation) {
  if (operation == MeasuredCollective::kAllToAllV) return traits_of(MeasuredCollective::kAllToAll).name;
  if (operation == MeasuredCollective::kSendRecv || operation == MeasuredCollective::kHypercube)
    fail_input("--algorithm: {} is made of SENDs and RECVs, which have none", traits_of(operation).name);
  return traits_of(operation).name;
}

struct NamedDevice {
  std::string name, device;
  bool is_embedded() const { return device == "ring" || device == "memory"; }
};

NamedDevice named_device(std::string_view text, const char* option) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    fail_input("{}: '{}' is not NAME=DEVICE, such as p0=ring or p0=0000:81:00.0", option, text);
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::vector<NamedDevice> named_devices(const CollectiveSpec& spec) {
  std::vector<NamedDevice> devices;
  for (std::string_view list : spec.ports) {
    while (!list.empty()) {
      const size_t comma = std::min(list.find(','), list.size());
      devices.push_back(named_device(list.substr(0, comma), "--ports"));
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }
  for (const std::string& one : spec.port) devices.push_back(named_device(one, "--port"));
  return devices;
}

/// `ports` of a configuration, as flow YAML; without devices one of the embedded switch for each of `users`.
std::string ports_setting(const CollectiveSpec& spec, std::span<const NamedDevice> devices, uint32_t users) {
  nlohmann::ordered_json ports;
  const std::string rate = spec.rate.value_or("1Gbps");
  if (devices.empty())
    return "ports=" +
           nlohmann::ordered_json{{"count", std::min(users, kMostOwnPorts)}, {"device", "ring"}, {"rate", rate}}.dump();
  for (const NamedDevice& port : devices) {
    if (!spec.rate && !port.is_embedded())
      fail_input("--rate: say what the line rate of port {} ({}) is, such as --rate 100Gbps", port.name, port.device);
    const std::string_view verbs = "verbs:";
    const bool is_rdma = port.device.starts_with(verbs);
    ports.push_back({{"name", port.name},
                     {is_rdma ? "verbs" : "device", is_rdma ? port.device.substr(verbs.size()) : port.device},
                     {"rate", rate}});
  }
  return "ports=" + ports.dump();
}

bool has_series(const std::string& file) {
  const Tree root = read_yaml_file(file);
  const Tree* workload = root.find("workload");
  const Tree* generate = workload == nullptr ? nullptr : workload->find("generate");
  const Tree* kind = generate == nullptr ? nullptr : generate->find("kind");
  return kind != nullptr && kind->text == "collective";
}

class Settings {
 public:
  void add(std::string setting) { list_.push_back(std::move(setting)); }
  template <class T>
  void add(const std::string& key, const std::optional<T>& value) {
    if (value) add(fmt::format("{}={}", key, *value));
  }
  /// Errors are to name `option` instead of the key.
  template <class T>
  void add(const std::string& key, const std::optional<T>& value, const char* option) {
    add(key, value);
    if (value) typed_.push_back({key, list_.back(), fmt::format("{} {}", option, *value)});
  }
  void size(const char* key, const std::optional<std::string>& text, const char* option) {
    if (!text) return;
    add(fmt::format("{}{}={}B", kSeries, key, parse_collective_size(*text, option).count));
    typed_.push_back({fmt::format("{}{}", kSeries, key), list_.back(), fmt::format("{} {}", option, *text)});
  }
  std::vector<std::string>& list() { return list_; }
  /// An error of load_config, by what was typed.
  std::string as_typed(const std::string& error) const {
    for (const Typed& typed : typed_) {
      const std::string place = fmt::format("--set {}: ", typed.setting), key = typed.key + ": ";
      if (!error.starts_with(place)) continue;
      const std::string rest = error.substr(place.size());
      return fmt::format("{}: {}", typed.text, rest.starts_with(key) ? rest.substr(key.size()) : rest);
    }
    return error;
  }

 private:
  struct Typed {
    std::string key, setting, text;
  };

  std::vector<std::string> list_;
  std::vector<Typed> typed_;
};

/// A smallest size above the default of the largest one is both.
std::optional<std::string> largest_of(const CollectiveSpec& spec) {
  const bool is_one = !spec.largest && spec.smallest && spec.config.empty() &&
                      parse_collective_size(*spec.smallest, "--min") > CollectiveSeriesConfig().largest;
  return is_one ? spec.smallest : spec.largest;
}

void add_series(Settings& settings, const CollectiveSpec& spec, MeasuredCollective operation) {
  const std::string series = kSeries;
  settings.add("workload.generate.kind=collective");
  settings.add(series + "operation=" + traits_of(operation).name);
  settings.size("min", spec.smallest, "--min");
  settings.size("max", largest_of(spec), "--max");
  if (spec.factor) settings.add(series + "step=none");
  settings.add(series + "factor", spec.factor, "--factor");
  if (spec.step) settings.add(fmt::format("{}factor={}", series, CollectiveSeriesConfig().factor));
  settings.size("step", spec.step, "--stepbytes");
  settings.add(series + "warmup", spec.warmup, "--warmup");
  settings.add(series + "iterations", spec.iterations, "--iterations");
  settings.add(series + "datatype", spec.datatype, "--datatype");
  settings.add(series + "redop", spec.redop, "--redop");
  settings.add(series + "root", spec.root, "--root");
  settings.add(series + "spread", spec.spread, "--spread");
  if (spec.barrier) settings.add(series + "barrier=on");
  if (spec.average) settings.add(series + "average=" + measured_averages()[*spec.average]);
}

void add_carrying(Settings& settings, const CollectiveSpec& spec, MeasuredCollective operation) {
  const bool is_nccl = spec.profile == "nccl";
  if (spec.algorithm)
    settings.add(fmt::format("collectives.algorithms.{}", algorithm_key(operation)), spec.algorithm, "--algorithm");
  settings.add("collectives.profile", spec.profile);
  settings.add(is_nccl ? "collectives.nccl.channels" : "collectives.channels", spec.channels, "--channels");
  settings.add("collectives.chunk", spec.chunk, "--chunk");
  if (spec.check > 0) settings.add("transport.checking=on");
}

void require_rate(const std::string& rate) {
  try {
    if (parse_quantity(rate, kRateScale) > 0) return;
  } catch (const ValueError&) {
  }
  fail_input("--rate: '{}' is no line rate; write for example 100Gbps", rate);
}

/// What is wrong with the spec's own numbers, by the names of options.
void check_spec(const CollectiveSpec& spec, MeasuredCollective operation) {
  const auto size = [&](const std::optional<std::string>& text, const char* option) {
    return text ? std::optional(parse_collective_size(*text, option)) : std::nullopt;
  };
  const CollectiveSeriesConfig defaults;
  const Bytes smallest = size(spec.smallest, "--min").value_or(defaults.smallest);
  const auto largest = size(spec.largest, "--max");
  if (largest && smallest > *largest && (spec.smallest || spec.config.empty()))
    fail_input("--min: {} B is above --max, {} B", smallest.count, largest->count);
  if (spec.factor && *spec.factor < 2) fail_input("--factor: {} is not 2 or more", *spec.factor);
  if (spec.factor && spec.step) fail_input("--stepbytes: adds, and --factor multiplies; only one of them is meant");
  if (size(spec.step, "--stepbytes") == Bytes(0)) fail_input("--stepbytes: 0 is not 1 or more");
  if (spec.ranks && *spec.ranks < 2) fail_input("--ranks: {} is not 2 or more", *spec.ranks);
  if (spec.iterations && *spec.iterations < 1) fail_input("--iterations: {} is not 1 or more", *spec.iterations);
  if (spec.average && *spec.average >= measured_averages().size())
    fail_input("--average: {} is none of 0 (rank 0), 1 (mean), 2 (min) and 3 (max)", *spec.average);
  if (spec.rate) require_rate(*spec.rate);
  if (spec.root && !traits_of(operation).rooted) fail_input("--root: {} has none", traits_of(operation).name);
  if (spec.spread && operation != MeasuredCollective::kAllToAllV)
    fail_input("--spread: is of all_to_all_v; the parts of {} are equal", traits_of(operation).name);
  if (spec.datatype && element_of(*spec.datatype) == Bytes(0)) {
    std::string known;
    for (const MeasuredType& type : measured_types()) known += fmt::format(" {}", type.name);
    fail_input("--datatype: there is no '{}'; there are{}", *spec.datatype, known);
  }
  if (!spec.config.empty() && (!spec.ports.empty() || !spec.port.empty() || spec.rate))
    fail_input("--config: has the ports and their rates; --ports, --port and --rate are for a run without it");
}

/// Ranks of a host where the spec says so, as nccl-tests has them in a process; else 0.
uint64_t ranks_of_host(const CollectiveSpec& spec) {
  if (!spec.threads && !spec.npus) return 0;
  const uint64_t threads = spec.threads.value_or(1), npus = spec.npus.value_or(1);
  if (threads < 1 || npus < 1 || threads * npus > kMostNpus)
    fail_input("--nthreads, --ngpus: {} x {} ranks of a host are not 1 to {}", threads, npus, kMostNpus);
  if (!spec.config.empty()) fail_input("--nthreads, --ngpus: the hosts and their NPUs are those of --config");
  return threads * npus;
}

/// The ranks of a spec without a file, and of which hosts they are where `of_host` is not 0.
uint64_t place_ranks(Settings& settings, const CollectiveSpec& spec, uint64_t ports, uint64_t of_host) {
  const uint64_t places = ports == 0 ? CollectiveSeriesConfig().ranks : ports;
  if (of_host == 0) return spec.ranks.value_or(places);
  const uint64_t ranks = spec.ranks.value_or(places * of_host);
  if (ranks % of_host != 0 || ranks == of_host)
    fail_input("--ranks: {} are no two hosts or more of {} ranks, which --nthreads and --ngpus say", ranks, of_host);
  settings.add(fmt::format("hosts={{count: {}, npus: {}}}", ranks / of_host, of_host));
  settings.add("mapping.policy=block");
  return ranks;
}

/// How many ranks the hosts of the file hold.
uint64_t places_of(const CollectiveSpec& spec) {
  std::vector<std::string> settings = {"workload=null", "jobs=null", "workload.generate.kind=collective",
                                       fmt::format("{}ranks=2", kSeries)};
  std::ranges::copy(spec.settings, std::back_inserter(settings));
  const RunConfig config = load_config(spec.config, settings);
  return uint64_t{config.hosts.count.value_or(static_cast<uint32_t>(config.ports.size()))} *
         config.hosts.npus.value_or(1);
}

/// Throws as load_config does, by the names of options.
RunConfig load_as_typed(const std::string& file, Settings& settings) {
  try {
    return load_config(file, settings.list());
  } catch (const Error& error) {
    throw Error(error.kind(), settings.as_typed(error.what()));
  }
}

/// The reference as a band also where its members cost more than a run that was not asked for one may spend on them.
RunConfig with_band(RunConfig config) {
  constexpr uint64_t kMembers = 16, kMostCost = 1'000'000;
  const uint64_t ranks = config.workload.generate->collective.ranks;
  // Links of messages, of which a rank has no more than it has partners and directions in most algorithms.
  const uint64_t cost = collective_demand(config).calls * ranks * ranks * 4;
  if (!config.simulation.ensemble && cost <= kMostCost) config.simulation.ensemble = kMembers;
  return config;
}

}  // namespace

Bytes parse_collective_size(std::string_view text, std::string_view option) {
  constexpr std::string_view kUnits = "KMGT";
  try {
    if (text.empty()) throw ValueError("is empty");
    const size_t unit = kUnits.find(text.back());
    if (unit != std::string_view::npos)
      return Bytes(parse_quantity(fmt::format("{}{}iB", text.substr(0, text.size() - 1), text.back()), kSizeScale));
    const bool is_plain = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    return Bytes(parse_quantity(fmt::format("{}{}", text, is_plain ? "B" : ""), kSizeScale));
  } catch (const ValueError& error) {
    fail_input("{}: {}; write for example 8, 64K, 128M or 1MiB", option, error.what());
  }
}

RunConfig collective_config(const CollectiveSpec& spec) {
  const MeasuredCollective operation = measured_operation(spec);
  check_spec(spec, operation);
  const uint64_t of_host = ranks_of_host(spec);
  const bool keeps_series = !spec.config.empty() && has_series(spec.config);
  uint64_t ranks = spec.ranks.value_or(0);  // 0: those of the series that the file has
  Settings settings;
  if (spec.config.empty()) {
    const std::vector<NamedDevice> devices = named_devices(spec);
    if (devices.size() == 1) fail_input("--ports: has one port; a collective that meets a device needs two or more");
    ranks = place_ranks(settings, spec, devices.size(), of_host);
    settings.add(fmt::format("name={}", traits_of(operation).name));
    settings.add(ports_setting(spec, devices, static_cast<uint32_t>(ranks / std::max<uint64_t>(of_host, 1))));
  } else if (!keeps_series) {
    settings.add("workload=null");
    settings.add("jobs=null");
    if (ranks == 0) ranks = places_of(spec);
  }
  add_series(settings, spec, operation);
  if (spec.ranks) {
    settings.add(fmt::format("{}ranks", kSeries), spec.ranks, "--ranks");
  } else if (ranks != 0) {
    settings.add(fmt::format("{}ranks={}", kSeries, ranks));
  }
  add_carrying(settings, spec, operation);
  std::ranges::copy(spec.settings, std::back_inserter(settings.list()));
  RunConfig config = load_as_typed(spec.config, settings);
  return spec.config.empty() ? with_band(std::move(config)) : config;
}

CollectiveDemand collective_demand(const RunConfig& config) {
  const CollectiveSeriesConfig& series = config.workload.generate->collective;
  CollectiveDemand demand;
  Bandwidth slowest = Bandwidth(INT64_MAX);
  for (const PortConfig& port : config.ports) slowest = std::min(slowest, port.rate);
  const auto ports = std::max<uint64_t>(config.ports.size(), 1);
  const int64_t ranks = series.ranks, of_port = static_cast<int64_t>((series.ranks + ports - 1) / ports);
  const int64_t calls = int64_t{series.warmup} + series.iterations;
  double picoseconds = 0, bytes = 0;
  for (const MeasuredSize& size : measured_sizes(series.series())) {
    const Bytes sent = least_sent(series.series(), size);
    ++demand.sizes;
    bytes += static_cast<double>(sent.count) * static_cast<double>(calls * ranks);
    picoseconds += static_cast<double>(sent.count) * static_cast<double>(calls * of_port) * 8e12 /
                   static_cast<double>(slowest.bits_per_second);
  }
  constexpr double kMost = 9e18;
  demand.calls = demand.sizes * static_cast<uint64_t>(calls);
  demand.bytes = Bytes(static_cast<int64_t>(std::min(bytes, kMost)));
  demand.time = Duration(static_cast<int64_t>(std::min(picoseconds, kMost)));
  return demand;
}

void require_moderate(const RunConfig& config, RunKind kind) {
  const CollectiveDemand demand = collective_demand(config);
  const uint64_t calls = demand.calls * config.workload.generate->collective.ranks;
  const bool is_long = kind == RunKind::kEmulated && demand.time > kMostCollectiveTime;
  if (!is_long && calls <= kMostCollectiveCalls && (kind == RunKind::kModels || demand.bytes <= kMostCollectiveBytes))
    return;
  fail_input(
      "{} sizes, {} calls of {} ranks are about {:.3g} GiB of payload and {:.3g} s at line rate; more than {} GiB, {} "
      "s "
      "or {} calls of all ranks need --force",
      demand.sizes, demand.calls, config.workload.generate->collective.ranks,
      static_cast<double>(demand.bytes.count) / 0x1p30, static_cast<double>(demand.time.ps) / 1e12,
      kMostCollectiveBytes.count >> 30, kMostCollectiveTime.ps / 1'000'000'000'000, kMostCollectiveCalls);
}

}  // namespace rankwire
