// A NIC on a bench that is driven by stock perftest: its programs are started on the NIC's host, one for each case, and
// rankwire's end answers them and keeps the wire.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "emulator/nic_check/case_record.h"
#include "emulator/nic_check/config.h"
#include "emulator/nic_check/perftest_wire.h"
#include "emulator/peer/perftest_session.h"

namespace rankwire {

/// What a program of perftest is told, and what happens to its packets.
struct PerftestRun {
  std::string program;               ///< "ib_write_bw"
  std::string options;               ///< beside those of all: device, GID, path MTU, time-out, traffic class, port
  uint64_t messages = 0;             ///< that it sends, or reads, by these options
  std::optional<uint32_t> mtu = {};  ///< path MTU; absent: PerftestBench::mtu
  WireScript script = {};
  Ecn ecn = Ecn::kCapable0;  ///< of the data that rankwire sends
};

/// One thread. Times are of `clock`.
class PerftestBench : public CaseRecord {
 public:
  static constexpr uint8_t kTrafficClass = 26 << 2 | 2;  ///< of the NIC's queue pairs: DSCP 26, ECT(0)
  static constexpr uint32_t kQueuePairs = 16;            ///< of a program, at most

  /// Is given the command line of a program that a person is to start on the NIC's host.
  using Ask = std::function<void(const std::string& command)>;

  /// `config` with PerftestDriver. `port` and `clock` outlive it. Throws Error where `listen` cannot be listened to.
  PerftestBench(const NicCheckConfig& config, FramePort& port, Clock& clock, Ask ask);

  const BenchLimits& limits() const { return config_.limits; }
  /// Path MTU of cases that are not about it, bytes.
  uint32_t mtu() const { return std::min(1024u, config_.mtu); }

  /// Each case begins with an empty log. `interrupted` outlives the case.
  void begin(const std::atomic<bool>& interrupted);
  void end() { wire_.follow({}); }

  /// Answers the program until it has gone. Fails the case where the program fails, or another number of messages was
  /// delivered; skips it where the wire does not carry the path MTU. Throws Error(kRun) where the program cannot be
  /// started, or does not come.
  PerftestResult run(const PerftestRun& run);

  /// Packets of the NIC: data and READ requests; CNPs.
  std::vector<size_t> requests() const;
  std::vector<size_t> notifications() const;

 private:
  std::string command_for(const PerftestRun& run) const;
  PerftestOptions options_for(const PerftestRun& run);
  PerftestResult serve(const PerftestOptions& options, const std::string& command);
  std::vector<size_t> select(const std::function<bool(const ParsedPacket&)>& wanted) const;

  const NicCheckConfig config_;
  FramePort& port_;
  Clock& clock_;
  const Ask ask_;
  PerftestWire wire_;
  TcpListener listener_;
  uint64_t seed_ = 1;
  const std::atomic<bool>* interrupted_ = nullptr;
};

}  // namespace rankwire
