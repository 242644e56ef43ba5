// Messages through RDMA NICs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/index_queue.h"
#include "base/spsc_ring.h"
#include "base/transport.h"
#include "dataplane/protocol/message_assembly.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/protocol/rendezvous.h"
#include "dataplane/verbs/api.h"
#include "dataplane/verbs/end.h"
#include "dataplane/verbs/memory.h"
#include "dataplane/verbs/options.h"

namespace rankwire {

/// Has the ends of those Path::kWire connections whose NICs stand behind the given ports, and speaks with them to
/// others of its kind and to RoceTransports. An emulated NIC has the port's address, or its own where the port has a
/// GID of it. The plan must have the sizes of messages, which hardware does not always tell a receiver.
///
/// A control message is a plain WRITE, of which a receiver hears nothing: its end has a slot for each message that can
/// be under way, and `poll` looks at the next one.
///
/// Errors: prepare throws kInput for options, ports and plans that cannot work together and for what exceeds the
/// limits of a device, kRun for what the system refuses. A completion with an error ends its queue pair and those that
/// carry parts of the same messages, at both ends if both are here; no others. So does what the device says of a queue
/// pair by itself; an error of the port, of the device or of a completion queue ends all that are there (kDevice). Of
/// a device that cannot be polled, and of a queue pair that it does not end, no completions are awaited. Messages
/// posted to a queue pair that has ended or was never connected fail with kFlushed, those to a peer without link
/// address with kUnreachable.
class VerbsTransport final : public Transport {
 public:
  /// `api` outlives the transport.
  VerbsTransport(const VerbsOptions& options, VerbsApi& api, std::vector<VerbsPort> ports);
  ~VerbsTransport() override;
  VerbsTransport(const VerbsTransport&) = delete;
  VerbsTransport& operator=(const VerbsTransport&) = delete;

  std::vector<EndPoint> prepare(const TransportPlan& plan) override;
  /// Blocks while the kernel resolves next hops, some seconds for each that does not answer, until
  /// `VerbsOptions::connect_deadline` has passed or the run is interrupted: the question under way is the last.
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override;
  std::vector<ConnectFailure> not_ready() const override { return unconnected_; }
  size_t post(Time now, std::span<const Message> messages) noexcept override;
  size_t poll(Time now, std::span<Event> events) noexcept override;
  Time next_event() const noexcept override;
  uint64_t activity() const noexcept override { return details_.completions + details_.doorbells + reported_; }
  /// Packets are the hardware's: those counters are 0.
  TransportCounters counters() const override;
  std::vector<FlowCounters> flows_of(ConnectionRange range) const override;
  /// What the kernel shows of the ports, since `prepare`. Reads files.
  std::vector<PortCounters> ports() const override;
  std::vector<NamedCounter> details() const override;
  std::string describe(ConnectionId connection) const override;
  std::vector<QueuePairState> states(ConnectionId connection) const override;
  void close() noexcept override;

  /// Bytes registered with each device. After `prepare`.
  uint64_t registered_bytes() const noexcept { return memory_.bytes().size(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint64_t kReceiveBit = uint64_t{1} << 63;
  using Purpose = VerbsRequest::Purpose;

  /// What stands behind a port. Whatever it made is destroyed before its context.
  struct Device {
    std::unique_ptr<VerbsContext> context;
    std::unique_ptr<VerbsRegion> region;
    std::vector<std::unique_ptr<VerbsCompletionQueue>> completions;
    std::unique_ptr<VerbsReceiveQueue> shared_receives;
    uint64_t longest_work = 0;                    ///< bytes
    bool lost = false;                            ///< nothing can be expected of it any more
    std::unordered_map<uint32_t, uint32_t> ends;  ///< by queue pair number, with shared receives
  };
  struct ConnectionEnds {
    uint32_t source = kNone;       ///< first of the queue pairs here that send its messages
    uint32_t destination = kNone;  ///< first of those that receive them
    bool control = false;
    uint64_t first_message = 0;  ///< in TransportPlan::message_bytes
  };
  struct Details {
    uint64_t completions = 0, polls = 0, doorbells = 0, receive_doorbells = 0;
    uint64_t work_requests = 0, signalled = 0, by_value = 0;
    uint64_t unexpected = 0;  ///< receives that name no message
    uint64_t refused = 0;     ///< work requests that the device did not take although there was room
    uint64_t receives_refused = 0;
    uint64_t polls_failed = 0;
    uint64_t ends_refused = 0;  ///< queue pairs that the device did not take to the error state
    uint64_t turns = 0;         ///< of `poll`
  };

  // options.cc
  uint64_t longest_work(const VerbsPort& port) const noexcept;
  void check_plan() const;
  void check_port(const VerbsPort& port) const;
  void check_queues(uint32_t device) const;
  void check_completions(uint32_t device, uint64_t pairs) const;

  // layout.cc
  void place_ends(const Connection& connection, Side side);
  void lay_out_memory();
  void lay_out_end(MemoryLayout& layout, uint32_t end);
  void lay_out_receives(MemoryLayout& layout);
  ReceivePool receive_pool(MemoryLayout& layout, uint32_t device, uint32_t depth) const;
  MessageSlots inbox_of(MemoryLayout& layout, uint32_t end) const;
  uint32_t control_slots(const Connection& connection) const;
  uint64_t largest_part(ConnectionId connection) const;
  bool needs_receives(const VerbsEnd& end) const;
  bool is_split(const ConnectionEnds& ends) const noexcept;
  void make_pools();

  // connection.cc
  void open_devices();
  /// Entries of a completion queue: for each of its queue pairs, and once.
  struct CompletionNeed {
    uint64_t each, once;
  };
  CompletionNeed completion_need(uint32_t device) const;
  uint32_t pairs_each(uint32_t device) const;
  void make_completion_queues(uint32_t device);
  void make_queue_pairs();
  void post_first_receives();
  const VerbsGid& gid_of(const VerbsEnd& end) const;
  const Nic& nic_of(const VerbsEnd& end) const;
  EndPoint end_point(uint32_t end) const;
  QueuePairPath path_of(uint32_t end, const EndPoint& peer) const;
  ConnectOutcome connect_end(uint32_t end, const EndPoint* peer);

  // post.cc
  void take(Time now, const Message& message) noexcept;
  void post_part(uint32_t end, VerbsRequest part, uint32_t transfer) noexcept;
  void enqueue(uint32_t end, uint32_t request) noexcept;
  void transmit() noexcept;
  void transmit(uint32_t end) noexcept;
  bool begin(VerbsEnd& end) noexcept;
  bool stage(VerbsEnd& end, VerbsRequest& request) noexcept;
  bool find_landing(VerbsEnd& end, VerbsRequest& request) noexcept;
  void write_words(const VerbsEnd& end, VerbsRequest& request, uint32_t slot) noexcept;
  uint32_t work_requests_of(const VerbsEnd& end, const VerbsRequest& request) const noexcept;
  SendWork next_work(uint32_t end) noexcept;
  bool hears_nothing(const VerbsEnd& end) const noexcept;
  WorkKind kind_of(const VerbsRequest& request, uint32_t work, uint32_t works) const noexcept;

  // complete.cc
  void complete() noexcept;
  void complete(uint32_t device, VerbsCompletionQueue& queue) noexcept;
  void on_completion(uint32_t device, const WorkCompletion& completion) noexcept;
  void on_send_error(uint32_t end, const WorkCompletion& completion) noexcept;
  void on_receive_error(uint32_t end, const WorkCompletion& completion) noexcept;
  void fail_receiving(uint32_t end, const WorkCompletion& completion) noexcept;
  void retire(uint32_t end, uint32_t serial) noexcept;
  void finish(uint32_t end, uint32_t request, Failure failure) noexcept;
  void end_part(uint32_t transfer, Failure failure) noexcept;
  void close_offer(uint32_t offer, Failure failure) noexcept;
  void note_failure(uint32_t end, const WorkCompletion& completion) noexcept;
  void fail_refused(uint32_t end, uint32_t serial) noexcept;
  void fail_connection(uint32_t end) noexcept;
  void fail_end(uint32_t end) noexcept;
  void fail_offers(uint32_t end) noexcept;
  size_t report_ended(std::span<Event> events) noexcept;

  // events.cc
  void look_at_devices() noexcept;
  void take_device_events() noexcept;
  void on_device_event(uint32_t device, const DeviceEvent& event) noexcept;
  /// Those of the device, or that with the number.
  void fail_by_device(uint32_t device, std::optional<uint32_t> number, const char* reason) noexcept;
  void lose_device(uint32_t device, const char* reason) noexcept;
  void abandon(uint32_t end) noexcept;

  // deliver.cc
  void on_receive(uint32_t end, const WorkCompletion& completion) noexcept;
  void on_message(uint32_t end, uint32_t receive, const WorkCompletion& completion) noexcept;
  void on_rendezvous(uint32_t end, std::span<const uint8_t> payload) noexcept;
  bool take_up(uint32_t end, const ReadyToSend& ready) noexcept;
  bool end_offer(uint32_t end, uint32_t cookie) noexcept;
  void on_fetched(uint32_t end, uint32_t request) noexcept;
  void fail_get(uint32_t end, uint32_t request, Failure failure) noexcept;
  void look_for_control() noexcept;
  bool take_control(uint32_t end) noexcept;
  uint32_t message_bytes(ConnectionId connection, uint32_t index) const noexcept;
  struct PartPlace {
    uint32_t offset, bytes;
  };
  PartPlace part_of(const VerbsEnd& end, uint32_t index) const noexcept;
  void check_payload(ReceivedPart& part, uint64_t place, uint32_t bytes) noexcept;
  void deliver(uint32_t end, uint32_t index, const ReceivedPart& part, uint32_t receive) noexcept;
  bool complete_part(uint32_t end, uint32_t index, const ReceivedPart& part) noexcept;
  void report(ConnectionId connection, uint32_t index, const ReceivedPart& message) noexcept;
  void give_back(uint32_t end, uint32_t receive) noexcept;
  void post_receives() noexcept;
  void post_receives(ReceivePool& pool) noexcept;
  void fail_pool(const ReceivePool& pool) noexcept;

  // describe.cc
  std::string describe_end(uint32_t end, Side side) const;
  std::string describe_failure(const VerbsEnd& end) const;
  std::string describe_side(uint32_t first, Side side) const;

  uint64_t address_of(uint64_t place) const noexcept {
    return reinterpret_cast<uint64_t>(memory_.bytes().data()) + place;
  }
  uint8_t* at(uint64_t place) const noexcept { return memory_.bytes().data() + place; }

  const VerbsOptions options_;
  VerbsApi& api_;
  const std::vector<VerbsPort> ports_;
  const uint32_t receive_depth_;
  TransportPlan plan_;
  PinnedMemory memory_;
  std::vector<Device> devices_;                    // in the order of ports_
  std::vector<std::vector<VerbsCounter>> before_;  // of each port, before the run
  std::vector<ReceivePool> receive_pools_;
  std::vector<VerbsEnd> ends_;
  std::vector<ConnectionEnds> connections_;  // by connection
  std::vector<uint32_t> control_ends_;       // those that receive control messages
  std::vector<ConnectFailure> unconnected_;

  // Memory, as offsets.
  MessageSlots pattern_;        // pattern mode: what all payloads are read from
  MessageSlots landing_;        // pattern mode: where all messages are written to
  MessageSlots words_;          // by request: what is neither the pattern nor a checked payload
  uint64_t control_bytes_ = 0;  // of the longest control message

  // Messages.
  uint32_t messages_taken_ = 0;  // posted and not reported
  SlotPool<Transfer> transfers_;
  IndexQueue ended_transfers_;  // not reported
  SlotPool<VerbsRequest> requests_;
  SlotPool<Offer> offers_;
  SlotPool<VerbsGet> gets_;
  MessageAssembly assembly_{0};
  IndexQueue sending_;    // ends with requests that wait and that there may be room for
  IndexQueue receiving_;  // receive pools with receives to be posted
  std::optional<SpscRing<Event>> delivered_;
  std::array<SendWork, VerbsApi::kBatch> chain_;
  std::array<WorkCompletion, VerbsApi::kBatch> completed_;
  std::array<ReceiveWork, VerbsApi::kBatch> receives_;

  Time last_now_ = Time::long_ago();
  TransportCounters counters_;
  uint64_t reported_ = 0;  // events
  Details details_;
  std::array<uint64_t, kWorkStatuses> statuses_{};    // completions by status
  std::array<uint64_t, kDeviceEventKinds> events_{};  // of devices, by kind
};

}  // namespace rankwire
