// The ports of a run and what stands behind them: the embedded switch, or devices of the machine.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/device.h"
#include "base/transport.h"
#include "dataplane/roce_transport.h"
#include "dataplane/verbs_options.h"
#include "emulator/cli/setup.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Owns ports, switch and their memory. Outlives the transport that uses the ports.
class Testbed {
 public:
  virtual ~Testbed() = default;
  /// Those that carry frames, by PortId; each for one transport.
  virtual std::vector<PortBinding> ports() = 0;
  /// Rung for those, by place, when something arrives at them; null when nobody rings.
  virtual Doorbells* arrivals() { return nullptr; }
  /// Those that are RDMA devices.
  virtual std::span<const VerbsPort> verbs_ports() { return {}; }
  /// How DPDK devices are set for the run, in port order.
  virtual std::vector<PortSettingRow> settings() const { return {}; }
  /// What the run loop must drive. Empty when the switch has a thread of its own or the device is a real one.
  virtual std::span<Device* const> devices() = 0;
  /// The run begins: starts the switch's thread, if it is to have one. `clock` outlives the testbed.
  virtual void start(Clock& clock) = 0;
  /// Ends the switch's thread, if it has one, and returns what each of its ports counted, named "switch.PORT", or in a
  /// fabric "SWITCH.NEIGHBOUR". Empty for real devices.
  virtual std::vector<PortCounters> finish() = 0;
  /// After `finish`: the sampled queues of the embedded switch; absent where none are.
  virtual std::optional<QueueSampling> queue_samples() const { return std::nullopt; }
  /// After `finish`: writes the captured frames of the embedded switch to a file, if any are captured, and returns how
  /// many found no room.
  virtual uint64_t save_capture(const std::filesystem::path&) const { return 0; }
  /// After `finish`: why the device under test passes nothing any more, as far as it can be seen; empty otherwise.
  virtual std::string diagnosis() const { return {}; }
};

/// All ports in memory on the embedded switch, driven by the loop: what virtual time needs.
std::unique_ptr<Testbed> make_memory_testbed(const Setup& setup);

/// The ports that the configuration names, for real time; gives the NICs behind RDMA devices these devices' addresses.
/// Throws Error naming the device and what to do.
std::unique_ptr<Testbed> make_testbed(Setup& setup);

}  // namespace rankwire
