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
#include "dataplane/ports/frame_pool.h"
#include "dataplane/roce/transport.h"
#include "dataplane/verbs/options.h"
#include "emulator/assembly/open_ports.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/workers.h"
#include "emulator/record/live_measurements.h"
#include "emulator/record/run_record.h"

namespace rankwire {

class Machines;

/// Owns ports, switch and their memory. Outlives the transport that uses the ports.
class Testbed {
 public:
  virtual ~Testbed() = default;
  /// Those that carry frames, by PortId; each for one transport.
  virtual std::vector<PortBinding> ports() = 0;
  /// Rung for those of a worker, by place among them, when something arrives at them; null when nobody rings.
  virtual Doorbells* arrivals([[maybe_unused]] uint32_t worker) { return nullptr; }
  /// Those that are RDMA devices.
  virtual std::span<const VerbsPort> verbs_ports() { return {}; }
  /// How DPDK devices are set for the run, and what has become of their links since they were opened, in port order.
  virtual std::vector<PortSettingRow> settings() const { return {}; }
  /// Why nothing goes over a DPDK device now, as DevicePresence says it; empty where nothing is known against it.
  virtual std::string link_trouble([[maybe_unused]] PortId port) const { return {}; }
  /// What must be driven. Empty when the switch has a thread of its own or the device is a real one.
  virtual std::span<Device* const> devices() = 0;
  /// Of those the ones that a worker drives.
  virtual std::span<Device* const> devices_of(uint32_t worker) {
    return worker == 0 ? devices() : std::span<Device* const>();
  }
  /// The run begins: starts the switch's thread, if it is to have one. `clock` outlives the testbed.
  virtual void start(Clock& clock) = 0;
  /// Called by each thread that is to use the ports but the one that made them: what it returns lives as long as it
  /// does so. Throws Error(kRun).
  virtual std::shared_ptr<void> enter_thread() { return nullptr; }
  /// Ends the switch's thread, if it has one, and returns what each of its ports counted, named "switch.PORT", or in a
  /// fabric "SWITCH.NEIGHBOUR". Empty for real devices.
  virtual std::vector<PortCounters> finish() = 0;
  /// After `finish`: the sampled queues of the embedded switch; absent where none are.
  virtual std::optional<QueueSampling> queue_samples() const { return std::nullopt; }
  /// After `finish`: the pause storms of the embedded fabric.
  virtual std::vector<StormRow> storms() const { return {}; }
  /// After `finish`: storms for which there was no room.
  virtual uint64_t storms_lost() const { return 0; }
  /// Before the run: where captured frames go, if any are captured. Throws Error(kRun) when the file cannot be made.
  virtual void capture_to(const std::filesystem::path&) {}
  /// After `finish`: writes what is not in that file yet, and returns how many frames found no room. Throws Error(kRun)
  /// when not all could be written.
  virtual uint64_t complete_capture() { return 0; }
  /// What the embedded switch measures in memory; null when that is nothing.
  virtual LiveMeasurements* live() { return nullptr; }
  /// After `finish`: why the device under test passes nothing any more, as far as it can be seen; empty otherwise.
  virtual std::string diagnosis() const { return {}; }
};

/// Bytes of a frame of ports in memory.
uint32_t memory_frame_bytes(const Setup& setup, PoolUse use);

/// All ports in memory on the embedded switch, driven by the loop: what virtual time needs.
std::unique_ptr<Testbed> make_memory_testbed(const Setup& setup);

/// The ports that the configuration names, for real time and these workers; gives the NICs behind RDMA devices these
/// devices' addresses. DPDK's ports need `open.dpdk`, which is made where it is null, since a process can have it once;
/// one testbed at a time uses it. Its devices stay open for the next one; what others took of its memory is free again
/// when the testbed has gone. `machines`: of a run over several, which make theirs at the same time, and tell each
/// other the addresses of their RDMA devices. Throws Error naming the device and what to do, and as Machines does.
std::unique_ptr<Testbed> make_testbed(Setup& setup, const WorkerShares& shares, OpenPorts& open,
                                      Machines* machines = nullptr);

}  // namespace rankwire
