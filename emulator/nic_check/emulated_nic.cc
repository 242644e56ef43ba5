#include "emulator/nic_check/emulated_nic.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "dataplane/protocol/queue_pair_numbers.h"
#include "dataplane/wire/source_port.h"
#include "emulator/nic_check/emulated_end.h"

namespace rankwire {
namespace {

constexpr uint64_t kRegionAddress = 0x7F00'1000'0000;
constexpr uint32_t kRegionKey = 0x1A2B3C;
constexpr uint8_t kNotificationDscp = 48;  // mlx5's

constexpr const char* kCounters[] = {
    "duplicate_request",    "implied_nak_seq_err", "local_ack_timeout_err",      "np_cnp_sent",
    "out_of_sequence",      "packet_seq_err",      "np_ecn_marked_roce_packets", "rnr_nak_retry_err",
    "rx_icrc_encapsulated", "rx_read_requests",    "rx_write_requests",          "rp_cnp_handled"};

std::vector<uint32_t> one_group_each(uint32_t count) {
  std::vector<uint32_t> groups(count);
  std::iota(groups.begin(), groups.end(), 0);
  return groups;
}

WorkStatus status_of(Failure failure) {
  switch (failure) {
    case Failure::kNone:
      return WorkStatus::kSuccess;
    case Failure::kRetryExceeded:
      return WorkStatus::kRetryExceeded;
    case Failure::kNotReadyExceeded:
      return WorkStatus::kNotReadyExceeded;
    case Failure::kRemoteInvalid:
      return WorkStatus::kRemoteInvalid;
    case Failure::kRemoteAccess:
      return WorkStatus::kRemoteAccess;
    case Failure::kRemoteOperational:
      return WorkStatus::kRemoteOperation;
    default:
      return WorkStatus::kFlushed;
  }
}

constexpr Verb verb_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::kWrite:
      return Verb::kWrite;
    case WorkKind::kWriteImmediate:
      return Verb::kWriteImmediate;
    case WorkKind::kSend:
      return Verb::kSend;
    case WorkKind::kSendImmediate:
      return Verb::kSendImmediate;
    case WorkKind::kRead:
      break;
  }
  return Verb::kRead;
}

}  // namespace

EmulatedNic::EmulatedNic(FramePort& port, const EmulatedNicOptions& options)
    : port_(port),
      options_(options),
      region_{kRegionAddress, options.region_bytes, kRegionKey},
      memory_(size_t{options.region_bytes} + kGuardBytes),
      contexts_(options.contexts),
      dcqcn_(dcqcn_preset(DcqcnPreset::kMlx5, options.line), std::vector<Bandwidth>(options.queue_pairs, options.line)),
      notifications_(options.mutant == NicMutant::kNotificationsUnpaced ? Duration() : options.notification_interval,
                     one_group_each(options.queue_pairs)),
      pauses_(options.line) {
  for (const char* name : kCounters) counters_[name] = 0;
}

EmulatedNic::~EmulatedNic() = default;

// What depends on the path is set by `connect`, which makes the queue pair anew.
uint32_t EmulatedNic::make_queue_pair(uint32_t depth) {
  if (ends_.size() == options_.queue_pairs && destroyed_.empty())
    fail_run("the emulated NIC has no more than {} queue pairs", options_.queue_pairs);
  if (ends_.size() == options_.queue_pairs) {
    const uint32_t number = destroyed_.front();
    destroyed_.pop_front();
    const size_t index = end_of(number).index;
    ends_[index] = std::make_unique<End>(number, index, ReliableOptions{}, depth);
    return number;
  }
  const auto number = static_cast<uint32_t>(QueuePairNumbers::kFirst + ends_.size());
  ends_.push_back(std::make_unique<End>(number, ends_.size(), ReliableOptions{}, depth));
  return number;
}

EmulatedNic::End& EmulatedNic::end_of(uint32_t queue_pair) {
  return *ends_.at(queue_pair - QueuePairNumbers::kFirst);
}

void EmulatedNic::connect(uint32_t queue_pair, const QueuePairPath& path) {
  ReliableOptions reliable;
  reliable.mtu = is(NicMutant::kIgnoresPathMtu) ? 4096 : path.mtu;
  reliable.retry_count = is(NicMutant::kNeverGivesUp) ? kUnlimitedRetries : path.retry_count;
  reliable.timeout =
      path.timeout_exponent == 0 || is(NicMutant::kNoTimeout) ? Duration::max() : ack_timeout(path.timeout_exponent);
  reliable.not_ready_retry_count = path.not_ready_retry_count == 7 ? kUnlimitedRetries : path.not_ready_retry_count;
  reliable.max_reads = std::max<uint32_t>(path.initiated_reads, 1);
  End& old = end_of(queue_pair);
  auto made = std::make_unique<End>(queue_pair, old.index, reliable, static_cast<uint32_t>(old.works.size()));
  End& end = *made;
  end.receives = old.receives;
  end.connected = true;
  end.first_psn = path.remote_psn;
  end.requester = Requester(path.local_psn);
  end.not_ready_retry_count = path.not_ready_retry_count;
  end.responding = {.mtu = path.mtu, .not_ready_code = path.not_ready_code};
  const MemoryRegion reachable{region_.address, region_.bytes + (is(NicMutant::kNoBounds) ? kGuardBytes : 0),
                               region_.rkey};
  end.responder = Responder(path.remote_psn, reachable,
                            {.reads = std::span(end.reads).first(path.answered_reads),
                             .receives = static_cast<uint32_t>(end.receives.size())});

  const uint8_t dscp = path.traffic_class >> 2;
  end.data_priority = dscp >> 3;
  const Marking answer{is(NicMutant::kWrongAckDscp) ? uint8_t{0} : dscp, Ecn::kNotCapable, 0};
  const auto ecn = static_cast<Ecn>(is(NicMutant::kClearsEcn) ? 0 : path.traffic_class & 3);
  end.path = make_template(
      {.source_mac = options_.facts.mac,
       .destination_mac = options_.peer_mac,
       .source_ip = options_.facts.ip,
       .destination_ip = path.remote_gid,
       .source_port = linux_source_port(queue_pair, path.remote_queue_pair),
       .destination_qp = path.remote_queue_pair,
       .time_to_live = path.hop_limit,
       .markings = {
           .data = {dscp, ecn, 0}, .ack = answer, .nak = answer, .cnp = {kNotificationDscp, Ecn::kNotCapable, 0}}});
  ends_[end.index] = std::move(made);
  contexts_[end.index % contexts_.size()] = end.index;
}

void EmulatedNic::for_each_other(const End& end, const std::function<void(End& other)>& visit) {
  for (const std::unique_ptr<End>& other : ends_)
    if (other.get() != &end && other->connected && other->requester.state() == Requester::State::kReady) visit(*other);
}

void EmulatedNic::destroy(uint32_t queue_pair) {
  end_of(queue_pair).connected = false;
  if (is(NicMutant::kNotReadyForAll)) line_free_ = Time::long_ago();
  destroyed_.push_back(queue_pair);
}

void EmulatedNic::post_receive(uint32_t queue_pair, uint64_t id, uint32_t offset, uint32_t bytes) {
  End& end = end_of(queue_pair);
  end.receives.push_back({id, offset, bytes});
  if (end.connected) end.responder.post_receives(1);
}

void EmulatedNic::post(uint32_t queue_pair, const NicWork& work) {
  End& end = end_of(queue_pair);
  const uint32_t slot = end.pool.messages.take();
  if (slot == OutboundMessage::kNone) fail_run("the send queue of queue pair {} is full", queue_pair);
  OutboundMessage& message = end.pool.messages[slot];
  message.remote_address = work.remote_address;
  message.rkey = work.remote_key;
  message.bytes = work.bytes;
  message.immediate = work.immediate;
  message.verb = verb_of(work.kind);
  end.works[slot] = work;
  end.requester.post(end.pool, slot);
  report_finished(end);
  touch(end);
}

std::vector<WorkCompletion> EmulatedNic::poll() {
  return std::exchange(completions_, {});
}

void EmulatedNic::write_memory(uint32_t offset, std::span<const uint8_t> bytes) {
  std::ranges::copy(bytes, memory_.begin() + offset);
}

std::vector<uint8_t> EmulatedNic::read_memory(uint32_t offset, uint32_t bytes) {
  return {memory_.begin() + offset, memory_.begin() + offset + bytes};
}

std::vector<uint8_t> EmulatedNic::read_guard() {
  return {memory_.begin() + region_.bytes, memory_.end()};
}

std::vector<VerbsCounter> EmulatedNic::counters() {
  std::vector<VerbsCounter> counters;
  for (const auto& [name, value] : counters_) counters.push_back({"hw_counters." + name, value});
  for (const auto& [way, traffic] : {std::pair("rx", received_), std::pair("tx", sent_)}) {
    counters.push_back({fmt::format("ethtool.{}_vport_rdma_unicast_packets", way), traffic.packets});
    counters.push_back({fmt::format("ethtool.{}_vport_rdma_unicast_bytes", way), traffic.bytes});
    counters.push_back({fmt::format("netdev.{}_packets", way), traffic.packets});
    counters.push_back({fmt::format("netdev.{}_bytes", way), traffic.bytes});
  }
  counters.push_back({"counters.port_rcv_packets", received_.packets});
  counters.push_back({"counters.port_xmit_packets", sent_.packets});
  counters.push_back({fmt::format("ethtool.rx_prio{}_pause", kCountedPriority), pauses_received_});
  counters.push_back({fmt::format("ethtool.tx_prio{}_pause", kCountedPriority), pauses_sent_});
  return counters;
}

void EmulatedNic::complete(End& end, uint64_t id, WorkStatus status, uint32_t bytes,
                           std::optional<uint32_t> immediate) {
  WorkCompletion completion{.id = id, .queue_pair = end.number, .bytes = bytes, .status = status};
  completion.has_immediate = immediate.has_value();
  completion.immediate = immediate.value_or(0);
  if (is(NicMutant::kSwapsImmediate)) completion.immediate = byte_swapped(completion.immediate);
  completions_.push_back(completion);
}

void EmulatedNic::report_finished(End& end) {
  while (!end.pool.finished.empty()) {
    const uint32_t slot = end.pool.finished.pop_front(end.pool.messages);
    complete(end, end.works[slot].id, status_of(end.pool.messages[slot].failure));
    end.pool.messages.give_back(slot);
  }
}

// The queue pair is in error: what is posted is flushed.
void EmulatedNic::break_down(End& end) {
  if (end.requester.state() == Requester::State::kReady) end.requester.fail(end.pool, Failure::kFlushed);
  report_finished(end);
  if (end.current) complete(end, end.current->id, WorkStatus::kFlushed);
  end.current.reset();
  for (const Receive& receive : end.receives) complete(end, receive.id, WorkStatus::kFlushed);
  end.receives.clear();
}

void EmulatedNic::store(Time now, uint64_t offset, const uint8_t* bytes, uint32_t length) {
  if (is(NicMutant::kAcknowledgesBeforeData)) {
    late_.push_back({now + microseconds(20), offset, {bytes, bytes + length}});
    return;
  }
  std::copy_n(bytes, length, memory_.begin() + static_cast<int64_t>(offset));
}

void EmulatedNic::turn(Time now) {
  for (; !late_.empty() && late_.front().at <= now; late_.pop_front())
    std::ranges::copy(late_.front().bytes, memory_.begin() + static_cast<int64_t>(late_.front().offset));

  std::array<Frame, 32> frames;
  while (const size_t n = port_.receive(now, frames)) {
    for (const Frame& frame : std::span(frames).first(n)) receive(now, frame);
    port_.release(std::span(frames).first(n));
  }
  next_event_ = late_.empty() ? Time::never() : late_.front().at;
  expire_deadlines(now);
  release_line(now);
  while (transmit_one(now)) {
  }
  if (!deadlines_.empty()) next_event_ = std::min(next_event_, deadlines_.top().first);
}

void EmulatedNic::touch(End& end) {
  busy_.insert(end.index);
  watch_deadline(end);
}

// One that has moved away is looked at when it would have been.
void EmulatedNic::watch_deadline(End& end) {
  const Time deadline = end.requester.deadline();
  if (deadline >= end.watched) return;
  end.watched = deadline;
  deadlines_.emplace(deadline, end.index);
}

void EmulatedNic::expire_deadlines(Time now) {
  while (!deadlines_.empty() && deadlines_.top().first <= now) {
    const auto [at, index] = deadlines_.top();
    deadlines_.pop();
    End& end = *ends_[index];
    if (end.watched != at) continue;
    end.watched = Time::never();
    if (!end.connected) continue;
    if (end.requester.deadline() <= now) {
      const AckOutcome outcome = end.requester.expire(end.pool);
      count_outcome(outcome);
      if (is(NicMutant::kTimeoutForAll) && outcome == AckOutcome::kRewind)
        for_each_other(end, [&](End& other) {
          if (!other.requester.idle()) other.requester.expire(other.pool);
          touch(other);
        });
      report_finished(end);
      if (end.requester.state() == Requester::State::kError) break_down(end);
    }
    touch(end);
  }
}

bool EmulatedNic::fetches(const End& end) {
  return std::exchange(contexts_[end.index % contexts_.size()], end.index) != end.index;
}

}  // namespace rankwire
