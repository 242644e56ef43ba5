#include "emulator/peer/perftest_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr uint32_t kBufferGranularity = 4096;  // what Linux on x86-64 has; each end takes the larger
constexpr uint32_t kCacheLine = 64;
constexpr int64_t kRegion = std::numeric_limits<int32_t>::max();  // that a client may address, a queue pair
constexpr uint32_t kTurnsInFlight = 16;
// A bandwidth test follows the last handshake within milliseconds.
constexpr Duration kStillness = seconds(1);
// Reading the socket is a system call.
constexpr Duration kLookInterval = microseconds(100);
constexpr size_t kReadLimit = 1024;

constexpr NicId kOurs(0), kClients(1);

constexpr std::string_view kRead = "READ";

// ib_send_bw registers no memory for its peer, ib_read_bw usually has more than one READ outstanding.
bool may_be_written_to(const PerftestKeys& keys) {
  return keys.rkey != 0 && keys.outstanding_reads <= 1;
}

}  // namespace

RoceOptions perftest_roce(const NicProfile& profile) {
  RoceOptions roce;
  roce.profile = profile;
  roce.markings.data.ecn = profile.data_ecn;
  roce.read_access = ReadAccess::kAlways;
  roce.verb = DataVerb::kWrite;
  roce.unindexed = UnindexedMessages::kReported;
  roce.neighbours = NeighbourMode::kResolve;
  roce.standstill = Duration(ack_timeout(profile.timeout_exponent).ps / 2);
  return roce;
}

PerftestSession::PerftestSession(const PerftestOptions& options, TcpListener& listener, uint64_t seed)
    : options_(options), listener_(listener), seed_(seed), mtu_(options.roce.mtu) {
  open_idle();
}

bool PerftestSession::step(Time now) {
  try {
    if (now >= next_look_) look_at_socket(now);
    drive(now);
    if (client_ && now - last_activity_ > options_.patience)
      fail_run("the client has sent neither {} nor packets for {} s", reader_.expects(),
               options_.patience.ps / seconds(1).ps);
  } catch (const Error& error) {
    failure_ = error.what();
  }
  return !ended_ && failure_.empty();
}

void PerftestSession::look_at_socket(Time now) {
  next_look_ = now + kLookInterval;
  if (client_) return read_socket(now);
  client_ = listener_.accept();
  last_activity_ = now;
}

void PerftestSession::read_socket(Time now) {
  const size_t before = received_.size();
  const TcpStream::State state = client_->receive(received_, kReadLimit);
  if (received_.size() > before) last_activity_ = now;
  while (const std::optional<PerftestMessage> message = reader_.next(received_)) {
    received_.erase(0, message->bytes);
    answer(*message);
  }
  if (state == TcpStream::State::kOpen) return;
  if (!connected_ || owed_keys_) fail_run("the client ended where {} is expected", reader_.expects());
  ended_ = true;
}

void PerftestSession::answer(const PerftestMessage& message) {
  switch (message.kind) {
    case PerftestMessage::Kind::kVersion:
      return client_->send(format_perftest_version());
    case PerftestMessage::Kind::kBufferGranularity:
      return client_->send(format_perftest_number(kBufferGranularity));
    case PerftestMessage::Kind::kCacheLine:
      return client_->send(format_perftest_number(kCacheLine));
    case PerftestMessage::Kind::kMtu:
      mtu_ = std::min(mtu_, message.number);
      return client_->send(format_perftest_mtu(options_.roce.mtu));
    case PerftestMessage::Kind::kKeys:
      return answer_keys(message.keys);
    case PerftestMessage::Kind::kReportField:
      return client_->send(kPerftestNoMeasurement);
  }
}

// The tools exchange the keys of all queue pairs first; those of a known one say that they have come so far, and wait.
void PerftestSession::answer_keys(const PerftestKeys& keys) {
  const auto known = std::find_if(theirs_.begin(), theirs_.end(),
                                  [&](const PerftestKeys& k) { return k.queue_pair == keys.queue_pair; });
  const auto i = static_cast<size_t>(known - theirs_.begin());
  if (known != theirs_.end()) {
    if (!connected_) connect();
    owed_keys_ = i;
    return;
  }
  if (connected_) fail_run("the client names another queue pair, {:#x}, after the test has begun", keys.queue_pair);
  if (i == options_.queue_pairs)
    fail_run("the client has more than {} queue pairs, as many as this end was given", options_.queue_pairs);
  if (keys.gid.is_ipv4() != options_.nic.ip.is_ipv4())
    fail_run("the client's address is {}, this end's {}: its option -x chooses among its addresses",
             to_string(keys.gid), to_string(options_.nic.ip));
  theirs_.push_back(keys);
  if (ours_.empty()) open(PayloadMode::kPattern);
  client_->send(format_perftest_keys(own_keys(i)));
}

PerftestKeys PerftestSession::own_keys(size_t i) const {
  const EndPoint& end = ours_[i];
  return {.outstanding_reads = static_cast<uint16_t>(options_.roce.profile.max_responder_reads),
          .queue_pair = end.queue_pair,
          .psn = end.psn,
          .rkey = end.rkey,
          .address = end.address,
          .gid = end.ip};
}

void PerftestSession::open_idle() {
  TransportPlan plan;
  plan.nics = {options_.nic};
  transport_ = std::make_unique<RoceTransport>(options_.roce, std::vector<PortBinding>{options_.port});
  transport_->prepare(plan);
  transport_->connect({});
}

// A connection for each queue pair that the client may have, since it does not say how many come; behind them the way
// back on the first. The same seed makes the same queue pairs again.
void PerftestSession::open(PayloadMode payload) {
  RoceOptions roce = options_.roce;
  roce.mtu = mtu_;
  roce.payload = payload;
  roce.seed = seed_;
  TransportPlan plan;
  plan.nics = {options_.nic, {.id = kClients, .port = PortId(options_.port.id.value + 1), .ip = theirs_.front().gid}};
  plan.messages_in_flight = kTurnsInFlight;
  for (uint32_t i = 0; i <= options_.queue_pairs; ++i) {
    Connection connection;
    connection.id = ConnectionId(i);
    connection.source_nic = kClients;
    connection.destination_nic = kOurs;
    connection.largest_message = Bytes(kRegion);
    plan.connections.push_back(connection);
  }
  Connection& back = plan.connections.back();
  std::swap(back.source_nic, back.destination_nic);
  back.reverse_of = ConnectionId(0);

  transport_->close();
  transport_ = std::make_unique<RoceTransport>(roce, std::vector<PortBinding>{options_.port});
  ours_ = transport_->prepare(plan);
  std::sort(ours_.begin(), ours_.end(),
            [](const EndPoint& a, const EndPoint& b) { return a.connection.value < b.connection.value; });
}

void PerftestSession::connect() {
  std::vector<EndPoint> ends;
  for (const PerftestKeys& keys : theirs_) {
    EndPoint end;
    end.connection = ConnectionId(static_cast<uint32_t>(ends.size()));
    end.at_source = true;
    end.ip = keys.gid;
    end.queue_pair = keys.queue_pair;
    end.psn = keys.psn;
    end.rkey = keys.rkey;
    end.address = keys.address;
    ends.push_back(end);
  }
  // Queue pairs that the client does not have stay unconnected.
  for (const ConnectFailure& failure : transport_->connect(ends))
    if (failure.connection.value < theirs_.size())
      fail_run("queue pair {}: {}", failure.connection.value, failure.reason);
  connected_ = true;
}

void PerftestSession::drive(Time now) {
  std::array<Event, 64> events;
  const size_t n = transport_->poll(now, events);
  for (size_t i = 0; i < n; ++i) take(events[i], now);
  if (const uint64_t activity = transport_->activity(); activity != activity_) {
    activity_ = activity;
    last_activity_ = now;
    // READs are reported when their requests arrive.
    if (verb_ == kRead) throughputs_.extend(now);
  }
  if (!connected_ || !transport_->ready()) return;
  if (owed_keys_) send_owed_keys();
  if (begins_ping_pong(now)) begin_ping_pong();
  if (ping_pong_ && posted_ == 0 && transport_->ready()) post(ping_pong_->begin(), now);
}

void PerftestSession::send_owed_keys() {
  for (const ConnectFailure& failure : transport_->not_ready())
    if (failure.connection.value < theirs_.size()) fail_run("the client cannot be reached: {}", failure.reason);
  client_->send(format_perftest_keys(own_keys(*owed_keys_)));
  owed_keys_.reset();
}

void PerftestSession::take(const Event& event, Time now) {
  if (event.kind == EventKind::kFailed) fail_run("a message to the client failed: {}", to_string(event.failure));
  if (event.kind != EventKind::kReceived) return;
  if (!ping_pong_) {
    if (verb_.empty()) verb_ = verb_of_test();
    return throughputs_.add(verb_, event.bytes, event.received.first_rx, event.received.delivered);
  }
  turns_.add(event.bytes, event.received.delivered);
  if (const std::optional<PingPong::Turn> turn = ping_pong_->next()) post(*turn, now);
}

// A test knows one operation.
std::string_view PerftestSession::verb_of_test() const {
  if (theirs_.front().rkey == 0) return "SEND";
  return transport_->counters().read_requests_rx > 0 ? kRead : "WRITE";
}

bool PerftestSession::begins_ping_pong(Time now) const {
  if (ping_pong_ || options_.tests == PerftestTests::kBandwidth || !throughputs_.throughputs().empty()) return false;
  return theirs_.size() == 1 && may_be_written_to(theirs_.front()) && now - last_activity_ >= kStillness;
}

// Only in checking mode do payloads end in what the client waits for. Until now no packet has used the queue pairs, so
// they can be made again.
void PerftestSession::begin_ping_pong() {
  ping_pong_.emplace(options_.latency);
  open(PayloadMode::kChecking);
  connect();
}

void PerftestSession::post(const PingPong::Turn& turn, Time now) {
  Message message;
  message.id = turn.id;
  message.bytes = turn.bytes;
  message.connection = ConnectionId(options_.queue_pairs);
  message.index = posted_++;
  if (transport_->post(now, {&message, 1}) != 1) fail_run("the client answers faster than it acknowledges");
}

PerftestResult PerftestSession::result(std::string_view ended_by) const {
  PerftestResult result;
  if (client_) result.client = client_->peer();
  result.mtu = mtu_;
  result.queue_pairs = static_cast<uint32_t>(theirs_.size());
  if (!theirs_.empty()) result.gid = theirs_.front().gid;
  result.throughputs = throughputs_.throughputs();
  result.turns = turns_.turns();
  result.report = reader_.report();
  result.counters = transport_->counters();
  result.failure = failure_.empty() ? ended_by : failure_;
  return result;
}

}  // namespace rankwire
