// What a transport over RDMA NICs can be told.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "dataplane/protocol/carriage.h"
#include "dataplane/verbs/device.h"
#include "dataplane/wire/headers.h"
#include "dataplane/wire/payload.h"
#include "dataplane/wire/source_port.h"

namespace rankwire {

struct VerbsOptions {
  uint32_t mtu = 4096;       ///< path MTU in bytes: 256, 512, 1024, 2048 or 4096, not above the ports' active MTU
  uint32_t queue_pairs = 1;  ///< of each connection that has its own, 1 .. 256
  Spread spread = Spread::kSplit;
  DataVerb verb = DataVerb::kWriteImm;  ///< not kWrite or kSend: nothing would name the message to its destination
  PayloadMode payload = PayloadMode::kPattern;

  /// Work requests that a queue pair has posted at most, 2 .. 32768.
  uint32_t send_queue = 64;
  /// Receives that each queue pair has posted, 1 .. 32768; with a shared receive queue, as many for each of its queue
  /// pairs together. In checking mode a receive is posted again when the payload that came with it has been compared,
  /// so this bounds what is not compared yet, and with it the memory. Absent: 64, in checking mode 3.
  std::optional<uint32_t> receive_queue;
  bool shared_receive_queue = false;  ///< one a port; not for WRITEs in checking mode, where it bounds no queue pair
  /// Every so many work requests of a queue pair one asks for a completion, 1 .. send_queue; and each that ends a
  /// message.
  uint32_t signal_every = 16;
  uint32_t inline_bytes = 64;  ///< payloads up to this length travel in the work request, 0 .. 1024; 0: none
  /// The longest work request, a multiple of 8; longer messages are segmented. Absent: what the port allows.
  std::optional<uint64_t> max_message;
  uint64_t memory = uint64_t{4} << 30;  ///< bytes that may be registered

  struct JobDscp {
    JobId job;
    uint8_t dscp = 0;  ///< 0 .. 63
  };

  uint8_t dscp = 26;               ///< 0 .. 63
  std::vector<JobDscp> job_dscps;  ///< of the queue pairs of these jobs instead; a job once at most
  Ecn ecn = Ecn::kCapable0;
  uint8_t service_level = 0;          ///< 0 .. 15; on Ethernet the low three bits are the 802.1p priority
  uint8_t hop_limit = 64;             ///< 1 .. 255
  uint8_t timeout_exponent = 14;      ///< 4.096 us x 2^n, 1 .. 31; 0: none
  uint8_t retry_count = 7;            ///< 0 .. 7
  uint8_t not_ready_retry_count = 7;  ///< 0 .. 7; 7: without end
  uint8_t not_ready_code = 12;        ///< RNR timer, 0 .. 31: 12 is 0.64 ms
  uint8_t max_reads = 16;             ///< READs outstanding and remembered, 1 .. 128
  SourcePortPolicy source_port = SourcePortPolicy::kLinux;  ///< kLinux (the driver's own rule) or kFixed
  uint16_t fixed_source_port = 0xC000;                      ///< 0xC000 .. 0xFFFF: what a flow label can bring about

  uint64_t seed = 1;  ///< of first PSNs

  /// `connect` tries no further queue pair after so long, nor once `interrupted` is true.
  Duration connect_deadline = seconds(600);
  const std::atomic<bool>* interrupted = nullptr;  ///< outlives the transport; null: never
};

/// A port of the plan.
struct VerbsPort {
  PortId id;
  std::string name;  ///< of its counters
  VerbsPlace place;
};

/// Throws Error(kInput) naming the first value out of its range, or that does not go with another.
void check_options(const VerbsOptions& options);

/// The traffic class byte of a job's queue pairs: DSCP above ECN (RFC 2474, RFC 3168).
constexpr uint8_t traffic_class(const VerbsOptions& options, JobId job) {
  const auto own = std::ranges::find(options.job_dscps, job, &VerbsOptions::JobDscp::job);
  const uint8_t dscp = own == options.job_dscps.end() ? options.dscp : own->dscp;
  return static_cast<uint8_t>(dscp << 2 | static_cast<uint8_t>(options.ecn));
}

/// The flow label, 20 bits, that makes Linux choose the wanted UDP source port (rdma_flow_label_to_udp_sport); 0 leaves
/// the choice to the driver.
constexpr uint32_t flow_label(const VerbsOptions& options) {
  if (options.source_port != SourcePortPolicy::kFixed) return 0;
  const uint32_t label = options.fixed_source_port & kEntropyPortMask;
  // The upper six bits are folded onto the lower 14: this label stands for the first port without being none.
  return label != 0 ? label : 0x4001;
}

}  // namespace rankwire
