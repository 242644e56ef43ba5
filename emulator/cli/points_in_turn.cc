#include "emulator/cli/points_in_turn.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/pci_address.h"
#include "dataplane/dpdk/environment.h"
#include "emulator/assembly/dpdk_demand.h"
#include "emulator/cli/commands.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/progress.h"

namespace rankwire {
namespace {

/// Those that DPDK must be told of when it starts; all others are made later.
std::set<std::string> pci_devices(const DpdkOptions& options) {
  std::set<std::string> devices;
  std::ranges::copy_if(options.devices, std::inserter(devices, devices.end()), is_pci_address);
  return devices;
}

bool has_server(const RunConfig& config) {
  return std::ranges::any_of(config.ports,
                             [](const PortConfig& port) { return port.device.find("server=1") != std::string::npos; });
}

/// One point, as `rankwire run` would run it. What it could not be run for; empty: its folder has a record.
std::string run_point(const PointRun& run, const std::filesystem::path& folder, OpenPorts& open) {
  RunRequest request;
  request.config = run.config;
  request.settings = run.settings;
  request.out = folder;
  request.overwrite = true;
  request.silent = true;
  request.open = &open;
  try {
    run_emulation(request);
    return {};
  } catch (const std::exception& error) {
    if (open.dpdk != nullptr) open.dpdk->close_kept();
    return error.what();
  }
}

void read_point(SweepPoint& point, const PointRunOptions& options, const std::string& trouble) {
  try {
    read_sweep_point(point, options.folder / point.folder, options.columns);
  } catch (const Error& error) {
    if (interrupt_flag()) return;
    point.verdict = "failed";
    point.reason = trouble.empty() ? error.what() : trouble;
  }
}

}  // namespace

std::string obstacle_to_one_process(const std::vector<PointRun>& runs) {
  std::optional<DpdkOptions> first;
  for (const PointRun& run : runs) {
    const RunConfig config = load_config(run.config, run.settings);
    if (has_server(config)) return "a virtio-user server is among them, which a process can open once";
    if (dpdk_devices(config) == 0) continue;
    const DpdkOptions options = dpdk_options(config);
    if (!first) first = options;
    if (options.memory != first->memory) return "dpdk.memory is not the same for all";
    if (options.extra != first->extra) return "dpdk.eal_arguments are not the same for all";
    if (pci_devices(options) != pci_devices(*first)) return "not all have the same PCI devices";
  }
  return {};
}

size_t run_points_in_turn(const PointRunOptions& options, const std::vector<PointRun>& runs) {
  OpenPorts own;
  OpenPorts& open = options.open != nullptr ? *options.open : own;
  open.for_any_window = true;
  std::atomic<uint64_t> ended = 0;
  const Progress progress(
      "runs", runs.size(), [&ended] { return ended.load(); }, "points");
  for (const PointRun& run : runs) {
    if (interrupt_flag()) return runs.size();
    const std::filesystem::path folder = options.folder / run.point->folder;
    std::filesystem::remove_all(folder);
    const std::string trouble = run_point(run, folder, open);
    read_point(*run.point, options, trouble);
    ++ended;
    const bool lacks_dpdk = !trouble.empty() && open.dpdk == nullptr;
    if (lacks_dpdk && dpdk_devices(load_config(run.config, run.settings)) > 0) return ended;
  }
  return ended;
}

}  // namespace rankwire
