// `check`: everything that can be known of a run before a device is touched.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/affinity.h"
#include "base/error.h"
#include "base/log.h"
#include "emulator/assembly/certification.h"
#include "emulator/assembly/dilation.h"
#include "emulator/assembly/dpdk_demand.h"
#include "emulator/assembly/run.h"
#include "emulator/assembly/workers.h"
#include "emulator/cli/background_table.h"
#include "emulator/cli/commands.h"
#include "emulator/cli/device_table.h"
#include "emulator/cli/embedding_report.h"
#include "emulator/cli/hybrid_table.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/machine_table.h"
#include "emulator/cli/memory_table.h"
#include "emulator/cli/scratch_folder.h"
#include "emulator/cli/traffic_split.h"
#include "emulator/cli/worker_table.h"
#include "emulator/input/key_places.h"
#include "emulator/machines/clock_source.h"
#include "emulator/report/certification.h"

namespace rankwire {
namespace {

/// What one port carries in one iteration.
struct PortLoad {
  uint64_t queue_pairs = 0, messages_tx = 0, messages_rx = 0;
  int64_t bytes_tx = 0, bytes_rx = 0;
};

std::vector<PortLoad> port_loads(const Setup& setup) {
  std::vector<PortLoad> loads(setup.config.ports.size());
  for (const Connection& c : setup.plan.transport.connections) {
    if (c.path != Path::kWire) continue;
    PortLoad& from = loads[setup.placement.nics[c.source_nic.value].port.value];
    PortLoad& to = loads[setup.placement.nics[c.destination_nic.value].port.value];
    if (!c.control) {
      from.queue_pairs += setup.config.transport.queue_pairs;
      to.queue_pairs += setup.config.transport.queue_pairs;
    }
    from.messages_tx += c.messages_per_iteration, to.messages_rx += c.messages_per_iteration;
    from.bytes_tx += c.bytes_per_iteration.count, to.bytes_rx += c.bytes_per_iteration.count;
  }
  return loads;
}

/// "rxe0 port 1", the RDMA device, or the DPDK device.
std::string device_of(const PortConfig& port) {
  if (port.modelled) return "modelled";
  return port.is_rdma_device() ? fmt::format("{} port {}", port.verbs, port.verbs_port) : port.device;
}

/// Addresses behind an RDMA device are its own, and not known before it is touched: null.
nlohmann::ordered_json rank_json(const Setup& setup, uint32_t rank) {
  const Place& place = setup.placement.ranks[rank];
  const PortConfig& port = setup.config.ports[place.port.value];
  nlohmann::ordered_json json = {
      {"rank", rank},   {"host", place.host}, {"npu", place.npu},         {"nic", place.nic}, {"port", port.name},
      {"mac", nullptr}, {"ip", nullptr},      {"prefix_length", nullptr}, {"vlan", nullptr},  {"gateway", nullptr}};
  if (!setup.workload.jobs.empty()) {
    const Job& job = setup.workload.jobs[setup.workload.ranks[rank].job.value];
    json["job"] = job.name;
    json["rank_of_job"] = rank - job.first_rank;
  }
  if (port.is_rdma_device()) return json;
  const Nic& nic = setup.placement.nics[setup.placement.nic[rank].value];
  json["mac"] = to_string(nic.mac);
  json["ip"] = to_string(nic.ip);
  json["prefix_length"] = nic.prefix_length;
  if (nic.vlan) json["vlan"] = *nic.vlan;
  if (!nic.gateway.is_none()) json["gateway"] = to_string(nic.gateway);
  return json;
}

/// Of a configuration with `jobs`; else null.
nlohmann::ordered_json checked_jobs(const Setup& setup) {
  if (setup.workload.jobs.empty()) return nullptr;
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (const Job& job : setup.workload.jobs)
    jobs.push_back(
        {{"name", job.name}, {"first_rank", job.first_rank}, {"ranks", job.ranks}, {"iterations", job.iterations}});
  return jobs;
}

/// "2 iteration(s)", "2 iteration(s) of a, 3 of b".
std::string iterations_text(const nlohmann::ordered_json& j) {
  if (j["jobs"].is_null()) return fmt::format("{} iteration(s)", j["iterations"].get<uint32_t>());
  std::string text;
  for (const auto& job : j["jobs"])
    text += fmt::format("{}{}{} of {}", text.empty() ? "" : ", ", job["iterations"].get<uint32_t>(),
                        text.empty() ? " iteration(s)" : "", job["name"].get<std::string>());
  return text;
}

nlohmann::ordered_json as_json(const Setup& setup, const std::vector<GroupTraffic>& groups,
                               const nlohmann::ordered_json& memory, const nlohmann::ordered_json& machines) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array(), ports = nlohmann::ordered_json::array();
  // Ends of the background stand behind the ranks.
  for (uint32_t r = 0; r < std::min(setup.workload.ranks.size(), setup.placement.ranks.size()); ++r)
    ranks.push_back(rank_json(setup, r));
  const bool one_job = setup.workload.jobs.empty();
  // Of several machines each has its own.
  const bool has_workers = !setup.config.ports.empty() && machines.empty();
  const std::vector<PortLoad> loads = port_loads(setup);
  for (size_t p = 0; p < loads.size(); ++p) {
    const PortConfig& port = setup.config.ports[p];
    ports.push_back({{"port", port.name},
                     {"device", device_of(port)},
                     {"kind", port.modelled           ? "modelled"
                              : port.embedded()       ? "embedded"
                              : port.is_rdma_device() ? "rdma"
                                                      : "dpdk"},
                     {"queue_pairs", loads[p].queue_pairs},
                     {"messages_tx", loads[p].messages_tx},
                     {"messages_rx", loads[p].messages_rx},
                     {"bytes_tx", loads[p].bytes_tx},
                     {"bytes_rx", loads[p].bytes_rx}});
  }
  return {{"config", nlohmann::ordered_json::parse(resolved_json(setup.config))},
          {"ranks", ranks},
          {"ports", ports},
          {"workers", has_workers ? workers_json(setup) : nlohmann::ordered_json::array()},
          {"machines", machines},
          {"hybrid", checked_hybrid(setup)},
          {"groups", group_traffic_json(groups)},
          {"transfers", transfer_traffic_json(transfer_traffic(setup))},
          {"iterations", one_job ? nlohmann::ordered_json(setup.config.workload.iterations) : nlohmann::ordered_json()},
          {"jobs", checked_jobs(setup)},
          {"background", checked_background(setup)},
          {"messages_per_iteration", setup.plan.messages_per_iteration},
          {"control_messages_per_iteration", setup.plan.control_messages},
          {"control_bytes_per_iteration", setup.plan.control_bytes.count},
          {"bytes_wire_per_iteration", setup.plan.bytes_wire.count},
          {"bytes_local_per_iteration", setup.plan.bytes_local.count},
          {"memory", memory},
          {"warnings", setup.warnings}};
}

void print_groups(const nlohmann::ordered_json& groups, const std::string& advice) {
  fmt::print("\n{:<28} {:>6} {:>7} {:>6} {:>18} {:>18}\n", "kind of group", "groups", "members", "stride",
             "bytes on the wire", "bytes local");
  for (const auto& g : groups) {
    const uint64_t count = g["groups"].get<uint64_t>();
    fmt::print("{:<28} {:>6} {:>7} {:>6} {:>18} {:>18}\n", g["group"].get<std::string>(),
               count == 0 ? "-" : fmt::to_string(count), g["members"].get<uint32_t>(),
               g["stride"].is_null() ? "-" : fmt::to_string(g["stride"].get<uint32_t>()),
               g["bytes_wire_per_iteration"].get<int64_t>(), g["bytes_local_per_iteration"].get<int64_t>());
  }
  if (!advice.empty()) fmt::print("{}\n", advice);
}

/// The largest of what is point-to-point.
void print_transfers(const nlohmann::ordered_json& transfers) {
  constexpr size_t kPrinted = 8;
  fmt::print("\n{:<42} {:>8} {:>18} {:>18}\n", "SENDs", "messages", "bytes on the wire", "bytes local");
  for (size_t i = 0; i < std::min(kPrinted, transfers.size()); ++i) {
    const auto& t = transfers[i];
    fmt::print("{:<42} {:>8} {:>18} {:>18}\n", t["name"].get<std::string>(), t["messages"].get<uint64_t>(),
               t["bytes_wire_per_iteration"].get<int64_t>(), t["bytes_local_per_iteration"].get<int64_t>());
  }
  if (transfers.size() > kPrinted) fmt::print("and {} more names; all are in --json\n", transfers.size() - kPrinted);
}

/// "dense:3", or "3" where there are no jobs.
std::string rank_label(const nlohmann::ordered_json& rank) {
  if (!rank.contains("job")) return fmt::to_string(rank["rank"].get<uint32_t>());
  return fmt::format("{}:{}", rank["job"].get<std::string>(), rank["rank_of_job"].get<uint32_t>());
}

/// With `hybrid` those on wires alone: the others may be thousands.
bool is_shown(const nlohmann::ordered_json& hybrid, const char* list, const nlohmann::ordered_json& item) {
  return hybrid.is_null() || std::ranges::find(hybrid[list], item) != hybrid[list].end();
}

void print_ranks(const nlohmann::ordered_json& ranks, const nlohmann::ordered_json& hybrid) {
  size_t width = 6;
  for (const auto& r : ranks) width = std::max(width, rank_label(r).size());
  fmt::print("{:>{}} {:>5} {:>4} {:>4} {:<8} {:<18} {}\n", "rank", width, "host", "npu", "nic", "port", "mac", "ip");
  for (const auto& r : ranks) {
    if (!is_shown(hybrid, "ranks", r["rank"])) continue;
    fmt::print("{:>{}} {:>5} {:>4} {:>4} {:<8} ", rank_label(r), width, r["host"].get<uint32_t>(),
               r["npu"].get<uint32_t>(), r["nic"].get<uint32_t>(), r["port"].get<std::string>());
    if (r["ip"].is_null()) {
      fmt::print("of the RDMA device\n");
      continue;
    }
    const std::string ip = fmt::format("{}/{}", r["ip"].get<std::string>(), r["prefix_length"].get<uint32_t>());
    const std::string vlan = r["vlan"].is_null() ? "" : fmt::format(" vlan {}", r["vlan"].get<uint16_t>());
    const std::string gateway = r["gateway"].is_null() ? "" : fmt::format(" via {}", r["gateway"].get<std::string>());
    fmt::print("{:<18} {}{}{}\n", r["mac"].get<std::string>(), ip, vlan, gateway);
  }
}

void print_tables(const nlohmann::ordered_json& j, const std::string& advice) {
  if (j["ports"].empty()) {
    fmt::print("no ports: `rankwire simulate` runs the model alone; {}\n", iterations_text(j));
    return;
  }
  print_ranks(j["ranks"], j["hybrid"]);
  fmt::print("\nan iteration:\n{:<8} {:<28} {:>6} {:>12} {:>12} {:>15} {:>15}\n", "port", "device", "QPs",
             "messages tx", "messages rx", "bytes tx", "bytes rx");
  for (const auto& p : j["ports"]) {
    if (!is_shown(j["hybrid"], "ports", p["port"])) continue;
    fmt::print("{:<8} {:<28} {:>6} {:>12} {:>12} {:>15} {:>15}\n", p["port"].get<std::string>(),
               p["device"].get<std::string>(), p["queue_pairs"].get<uint64_t>(), p["messages_tx"].get<uint64_t>(),
               p["messages_rx"].get<uint64_t>(), p["bytes_tx"].get<int64_t>(), p["bytes_rx"].get<int64_t>());
  }
  print_hybrid(j["hybrid"]);
  print_background(j["background"]);
  print_workers(j["workers"]);
  print_machines(j["machines"]);
  if (!j["groups"].empty()) print_groups(j["groups"], advice);
  if (!j["transfers"].empty()) print_transfers(j["transfers"]);
  if (const uint64_t control = j["control_messages_per_iteration"].get<uint64_t>(); control > 0)
    fmt::print("\n{} of the messages clear others to be sent", control);
  fmt::print("\n{} messages, {} bytes on the wire, {} bytes local; {}\n", j["messages_per_iteration"].get<uint64_t>(),
             j["bytes_wire_per_iteration"].get<int64_t>(), j["bytes_local_per_iteration"].get<int64_t>(),
             iterations_text(j));
}

/// What is here and is no clock will be none on any machine; what is not here may be there.
void check_clock_source(const RunConfig& config) {
  const std::string& source = config.clock.source;
  if (source == "ping" || source == "realtime") return;
  const bool is_file = source.starts_with("/");
  try {
    const ClockSource here(source);
  } catch (const Error& error) {
    if (is_file && access(source.c_str(), R_OK) == 0) fail_key(config.places, "clock.source", "{}", error.what());
    log_warning(fmt::format("{}: on this machine {}; each machine of the run opens it when that starts",
                            config.places.of("clock.source"), error.what()));
  }
}

/// Of the ports that a run would have.
std::vector<PortCertificate> measured_ports(const RunRequest& request, const std::filesystem::path& folder,
                                            const std::atomic<bool>& interrupted) {
  PreparedRun prepared(resolve(request.config, request.settings, RunKind::kEmulated),
                       {.out = folder, .standard = {}, .overwrite = true});
  return prepared.measure_ports({interrupted});
}

}  // namespace

int check_configuration(const RunRequest& request) {
  const std::atomic<bool>& interrupted = interrupt_flag();
  stop_files_on_signal();
  const ResolvedRun resolved = resolve(request.config, request.settings, RunKind::kModels);
  check_clock_source(resolved.config);
  std::optional<ScratchFolder> scratch(std::in_place);
  Setup setup;
  setup.folds = true;
  prepare(setup, resolved.config, scratch->path());
  if (interrupted) fail_run("stopped by a signal");
  const nlohmann::ordered_json machines = machines_json(setup);
  const nlohmann::ordered_json memory = memory_json(setup, machines);
  for (std::string& overload : background_overloads(setup)) setup.warnings.push_back(std::move(overload));
  for (std::string& note : unstretched(setup.config)) setup.warnings.push_back(std::move(note));
  for (const std::string& warning : setup.warnings) log_warning(warning);
  require_cpus(setup.config);
  const std::vector<uint32_t> cores = one_of_each_core(allowed_cpus());
  if (!setup.config.ports.empty()) {
    const WorkerThreads threads = worker_threads(setup.config, cores);
    if (const auto finding = core_finding(setup.config, threads, cores.size())) log_warning(*finding);
  }
  if (!setup.config.ports.empty() && machines.empty()) require_room_in_dpdk(setup);
  const std::vector<GroupTraffic> groups = group_traffic(setup);
  const EmbeddingReport embedding = report_embedding(resolved.config, scratch->path() / "embedding", request.measure);
  AskedDevices devices;
  if (request.ask_devices) devices = ask_devices(resolved.config, interrupted);
  std::optional<Certificate> certificate;
  if (request.certify) certificate = certify(resolved.config, scratch->path() / "certified", interrupted);
  if (request.certify_ports && !interrupted)
    certificate->ports = measured_ports(request, scratch->path() / "ports", interrupted);
  if (interrupted) fail_run("stopped by a signal");
  scratch.reset();  // nobody may be there any more to read what is printed
  for (const std::string& warning : embedding.warnings) log_warning(warning);
  for (const std::string& warning : devices.warnings) log_warning(warning);
  nlohmann::ordered_json j = as_json(setup, groups, memory, machines);
  j["embedding"] = embedding.json;
  j["device_counters"] = devices.json;
  j["certification"] = certificate ? certification_json(*certificate, certificate->time) : nlohmann::ordered_json();
  if (request.form == OutputForm::kJson) {
    fmt::print("{}\n", j.dump(2));
  } else {
    print_tables(j, setup.config.ports.empty() ? "" : mapping_advice(setup, groups));
    print_memory(memory);
    for (const std::string& line : embedding.lines) fmt::print("{}\n", line);
    for (const std::string& line : devices.lines) fmt::print("{}\n", line);
    if (certificate) fmt::print("{}\n", certification_text(*certificate, certificate->time));
  }
  return 0;
}

}  // namespace rankwire
