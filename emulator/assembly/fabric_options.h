// The embedded switch or fabric as the configuration describes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/switch/virtual_fabric.h"
#include "emulator/assembly/setup.h"

namespace rankwire {

/// What a VirtualFabric behind embedded ports is made from.
struct FabricPlan {
  Topology topology;
  std::vector<FabricSwitchOptions> devices;  ///< one a switch
  FabricOptions options;                     ///< its stations are `stations`
  std::vector<FabricStation> stations;
};

/// By which the fabric's switches tell priorities; absent without the key `fabric`.
std::optional<ClassOptions> fabric_classes(const RunConfig& config);

/// Only with the key `fabric`. Every NIC of the plan is a station. Throws Error(kInput).
FabricPlan fabric_plan(const Setup& setup);

/// What each port of the fabric counted, by port number, named "SWITCH.NEIGHBOUR". Those towards hosts have the id of
/// the host's port, the others ids of their own behind them.
std::vector<PortCounters> fabric_ports(const VirtualFabric& fabric, const RunConfig& config);

/// By port number, as fabric_ports names them.
std::vector<std::string> fabric_port_names(const VirtualFabric& fabric, const RunConfig& config);

/// Of the keys `record.fabric_interval` and `record.fabric_rows`; absent without the first.
std::optional<SeriesOptions> series_options(const RunConfig& config);
/// What was sampled of the fabric; absent where nothing was to be.
std::optional<QueueSampling> queue_sampling(const VirtualFabric& fabric, const RunConfig& config);

/// When the cables of `fabric.failures` fail and come back, in the order of time.
std::vector<CableEvent> cable_schedule(const RunConfig& config, const Topology& topology);

/// What the fabric's watchdogs did.
std::vector<StormRow> storm_rows(const VirtualFabric& fabric, const RunConfig& config);

/// "s1.s2 priority 3, s2.s3 priority 3, s3.s1 priority 3" when the fabric has deadlocked; else empty.
std::string deadlock_text(const VirtualFabric& fabric, const RunConfig& config);

}  // namespace rankwire
