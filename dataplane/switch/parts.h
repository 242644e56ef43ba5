// All parts of a virtual fabric.
#pragma once

#include <memory>
#include <span>

#include "dataplane/ports/frame_port.h"
#include "dataplane/switch/admission.h"
#include "dataplane/switch/agenda.h"
#include "dataplane/switch/cable_schedule.h"
#include "dataplane/switch/forwarder.h"
#include "dataplane/switch/frame_reader.h"
#include "dataplane/switch/hosts.h"
#include "dataplane/switch/options.h"
#include "dataplane/switch/outputs.h"
#include "dataplane/switch/pauses.h"
#include "dataplane/switch/series.h"
#include "dataplane/switch/storms.h"
#include "dataplane/switch/tables.h"
#include "fabric/topology.h"

namespace rankwire {

/// Each part is made from some of those before it and knows no others. Its fabric's own, in that thread; all memory is
/// taken by the constructor.
struct FabricParts {
  /// As VirtualFabric, which has checked all of it.
  FabricParts(const Topology& topology, std::span<FramePort* const> host_ports,
              std::span<const FabricSwitchOptions> devices, const FabricOptions& options);
  FabricParts(const FabricParts&) = delete;
  FabricParts& operator=(const FabricParts&) = delete;

  // What is known.
  FabricTables tables;
  FabricStorms storms;
  std::unique_ptr<FabricSeries> series;  ///< with FabricOptions::series
  FabricAgenda agenda;                   ///< of the switches
  CableSchedule cables;
  FrameReader reader;

  // What becomes of frames.
  FabricPauses pauses;
  FabricAdmission admission;
  FabricHosts hosts;
  FabricOutputs outputs;
  FabricForwarder forwarder;
};

}  // namespace rankwire
