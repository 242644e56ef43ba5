// What VerbsTransport asks of RDMA hardware: the verbs of libibverbs that it uses, in our own types. Tests have
// hardware of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/event.h"
#include "dataplane/verbs/device.h"

namespace rankwire {

enum class WorkKind : uint8_t { kWrite, kWriteImmediate, kSend, kSendImmediate, kRead };

/// A work request of a send queue, of at most one piece of memory.
struct SendWork {
  uint64_t id = 0;
  uint64_t address = 0;  ///< here
  uint64_t remote_address = 0;
  uint32_t bytes = 0;
  uint32_t local_key = 0;
  uint32_t remote_key = 0;
  uint32_t immediate = 0;  ///< host order
  WorkKind kind = WorkKind::kWrite;
  bool signalled = false;
  bool by_value = false;  ///< inline: the memory may be used again at once
};

/// A receive of one piece of memory, or of none when `bytes` is 0.
struct ReceiveWork {
  uint64_t id = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t local_key = 0;
};

/// The values of enum ibv_wc_status.
enum class WorkStatus : uint8_t {
  kSuccess,
  kLocalLength,
  kLocalQueuePair,
  kLocalEndToEnd,
  kLocalProtection,
  kFlushed,
  kMemoryWindow,
  kBadResponse,
  kLocalAccess,
  kRemoteInvalid,
  kRemoteAccess,
  kRemoteOperation,
  kRetryExceeded,
  kNotReadyExceeded,
  kLocalDomain,
  kRemoteDomain,
  kRemoteAborted,
  kEndToEndNumber,
  kEndToEndState,
  kFatal,
  kResponseTimeout,
  kGeneral,
};
constexpr size_t kWorkStatuses = 22;

/// "transport retry counter exceeded", as libibverbs says it.
const char* to_string(WorkStatus status);
/// A name for a counter: "status_retry_exceeded".
std::string_view counter_name(WorkStatus status);
/// What the engine is told. An error of our own end, which only a defect can cause, counts as kRemoteInvalid does.
Failure failure_of(WorkStatus status);

struct WorkCompletion {
  uint64_t id = 0;  ///< of the SendWork or ReceiveWork: with `queue_pair` and `status` all that an error leaves valid
  uint32_t queue_pair = 0;
  uint32_t bytes = 0;         ///< of a receive
  uint32_t immediate = 0;     ///< host order
  uint32_t vendor_error = 0;  ///< means something to the vendor only
  WorkStatus status = WorkStatus::kSuccess;
  bool has_immediate = false;  ///< only of a receive that succeeded
};

struct QueuePairSize {
  uint32_t sends = 0, receives = 0;  ///< work requests
  uint32_t inline_bytes = 0;         ///< the most of a SendWork by value
};

/// What takes a queue pair from INIT to RTR and RTS (IBTA 11.2.5.2): the attributes of ibv_modify_qp.
struct QueuePairPath {
  uint32_t port = 1;
  uint32_t gid_index = 0;
  IpAddress remote_gid;
  uint32_t remote_queue_pair = 0;
  uint32_t remote_psn = 0;
  uint32_t local_psn = 0;
  uint32_t mtu = 0;
  uint32_t flow_label = 0;
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 0;
  uint8_t service_level = 0;
  uint8_t timeout_exponent = 0;
  uint8_t retry_count = 0;
  uint8_t not_ready_retry_count = 0;
  uint8_t not_ready_code = 0;
  uint8_t initiated_reads = 0;  ///< max_rd_atomic
  uint8_t answered_reads = 0;   ///< max_dest_rd_atomic
};

/// What became of an attempt to connect.
struct ConnectOutcome {
  enum class Kind : uint8_t { kConnected, kNoNeighbour, kRefused };
  Kind kind = Kind::kConnected;
  std::string reason;  ///< empty when connected
};

/// The values of enum ibv_event_type (IBTA 11.6.3).
enum class DeviceEventKind : uint8_t {
  kCompletionQueueError,
  kQueuePairFatal,
  kRequestError,
  kAccessError,
  kEstablished,
  kSendQueueDrained,
  kPathMigrated,
  kPathMigrationError,
  kDeviceFatal,
  kPortActive,
  kPortError,
  kLidChange,
  kPartitionKeyChange,
  kSubnetManagerChange,
  kSharedReceivesError,
  kSharedReceivesLimit,
  kLastReceive,
  kClientReregister,
  kGidChange,
  kWorkQueueFatal,
  kOther,  ///< of a later libibverbs
};
constexpr size_t kDeviceEventKinds = 21;

/// "the port had an error (PORT_ERR)".
const char* to_string(DeviceEventKind kind);
/// A name for a counter: "event_port_error".
std::string_view counter_name(DeviceEventKind kind);

/// What a device says by itself.
struct DeviceEvent {
  DeviceEventKind kind = DeviceEventKind::kOther;
  uint32_t subject = 0;  ///< the number of the queue pair or port that it is about; 0: of neither
};

/// Objects of this kind and those below belong to the context that made them, which outlives them, as a completion
/// queue and a shared receive queue outlive their queue pairs. One thread. Calls that are not noexcept throw
/// Error(kRun) that says what was asked for and what the system answered.
class VerbsRegion {
 public:
  virtual ~VerbsRegion() = default;
  virtual uint32_t local_key() const noexcept = 0;
  virtual uint32_t remote_key() const noexcept = 0;
};

class VerbsCompletionQueue {
 public:
  virtual ~VerbsCompletionQueue() = default;
  /// Never blocks. Returns how many there are, or none when the queue cannot be read, now or later.
  virtual std::optional<size_t> poll(std::span<WorkCompletion> completions) noexcept = 0;
};

class VerbsReceiveQueue {
 public:
  virtual ~VerbsReceiveQueue() = default;
  /// Returns how many of the leading ones were taken.
  virtual size_t post(std::span<const ReceiveWork> receives) noexcept = 0;
};

/// An RC queue pair in the state INIT. Its own receives are posted through it, shared ones are not.
class VerbsQueuePair : public VerbsReceiveQueue {
 public:
  virtual uint32_t number() const noexcept = 0;
  /// To RTR and RTS. May block for a second or so, while the kernel looks for the neighbour's link address.
  virtual ConnectOutcome connect(const QueuePairPath& path) = 0;
  /// To the error state: everything posted is flushed, each with a completion. False when the device refuses, and
  /// nothing can be expected of what is posted.
  [[nodiscard]] virtual bool fail() noexcept = 0;
  /// Posts as one chain, with one doorbell. Returns how many of the leading ones were taken.
  virtual size_t send(std::span<const SendWork> work) noexcept = 0;
};

/// An opened device and a protection domain of it.
class VerbsContext {
 public:
  virtual ~VerbsContext() = default;
  /// For reading and writing by both ends. `memory` outlives the region.
  virtual std::unique_ptr<VerbsRegion> register_memory(std::span<uint8_t> memory) = 0;
  virtual std::unique_ptr<VerbsCompletionQueue> make_completion_queue(uint32_t entries) = 0;
  virtual std::unique_ptr<VerbsReceiveQueue> make_shared_receive_queue(uint32_t receives) = 0;
  /// `shared`: null, or where its receives come from; then `size.receives` means nothing.
  virtual std::unique_ptr<VerbsQueuePair> make_queue_pair(uint32_t port, const QueuePairSize& size,
                                                          VerbsCompletionQueue& completions,
                                                          VerbsReceiveQueue* shared) = 0;
  /// The next that the device has to say by itself, and acknowledges it. Never blocks; a system call.
  virtual std::optional<DeviceEvent> next_event() noexcept = 0;
};

class VerbsApi {
 public:
  /// The most work requests that one call of VerbsQueuePair::send and completions that one poll is given.
  static constexpr size_t kBatch = 64;

  virtual ~VerbsApi() = default;
  virtual std::unique_ptr<VerbsContext> open(const VerbsDeviceInfo& device) = 0;
  virtual std::vector<VerbsCounter> counters(const std::string& device, uint32_t port) const = 0;
};

/// libibverbs. Where rankwire was built without it, throws Error(kInput) that says so.
std::unique_ptr<VerbsApi> make_verbs_api();

}  // namespace rankwire
