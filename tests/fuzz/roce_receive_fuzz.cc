// Any sequence of frames, posts and times through a whole transport: from the bytes of a frame to the events.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/roce/transport.h"
#include "tests/fuzz/input.h"

namespace rankwire {
namespace {

using fuzz::require;

constexpr uint32_t kMtu = 256, kMessages = 16, kFrameBytes = 512;
// Longer inputs take several times as long and seldom reach more than as many short ones.
constexpr size_t kLongestInput = 512;
constexpr uint32_t kPeerQueuePair = 0x100, kPeerPsn = 0xFFFFF0, kKey = 0x1234;

// Connection 0 leads to the peer, connection 1 from it, connection 2 against connection 0 with control messages.
TransportPlan make_plan() {
  TransportPlan plan;
  plan.messages_in_flight = kMessages;
  for (uint8_t i = 0; i < 2; ++i)
    plan.nics.push_back({.id = NicId(i),
                         .port = PortId(i),
                         .mac = {{2, 0, 0, 0, 0, i}},
                         .ip = Ipv4Address{0xC6120001u + i},
                         .prefix_length = 15});
  for (uint32_t i = 0; i < 3; ++i) {
    Connection& connection = plan.connections.emplace_back();
    connection.id = ConnectionId(i);
    connection.source_nic = NicId(i == 0 ? 0 : 1);
    connection.destination_nic = NicId(i == 0 ? 1 : 0);
    connection.control = i == 2;
    if (i == 2) connection.reverse_of = ConnectionId(0);
    connection.largest_message = Bytes(i == 2 ? 64 : 4096);
  }
  return plan;
}

RoceOptions read_options(fuzz::Input& input) {
  RoceOptions options;
  const uint8_t verbs = input.byte(), checks = input.byte();
  options.mtu = kMtu;
  options.verb = static_cast<DataVerb>(verbs % 6);
  options.queue_pairs = 1 + (verbs >> 3 & 1);
  options.spread = (verbs & 16) != 0 ? Spread::kDeal : Spread::kSplit;
  options.unindexed = (verbs & 32) != 0 ? UnindexedMessages::kReported : UnindexedMessages::kIgnored;
  options.read_access = (verbs & 64) != 0 ? ReadAccess::kAlways : ReadAccess::kForRendezvous;
  options.payload = (checks & 1) != 0 ? PayloadMode::kChecking : PayloadMode::kPattern;
  options.receive_check = (checks & 2) != 0 ? ReceiveCheck::kHeaderAndTrailer : ReceiveCheck::kWholeFrame;
  if ((checks & 4) != 0) options.receive_queue = 2;
  options.profile.requests_per_ack = (checks & 8) != 0 ? 1 : 255;
  options.profile.grants_credits = (checks & 16) != 0;
  options.profile.max_reads = options.profile.max_responder_reads = 2;
  options.profile.timeout_exponent = 4;
  options.profile.retry_count = options.profile.not_ready_retry_count = 2;
  return options;
}

class Receiver {
 public:
  explicit Receiver(fuzz::Input& input) : options_(read_options(input)) {
    transport_ = std::make_unique<RoceTransport>(
        options_, std::vector{PortBinding{PortId(0), links_.first.get(), Bandwidth(100'000'000'000)}});
    own_ = transport_->prepare(plan_);
    std::vector<EndPoint> peers;
    for (const EndPoint& end : own_) {
      EndPoint& peer = peers.emplace_back(end);
      peer.at_source = !end.at_source;
      peer.mac = plan_.nics[1].mac;
      peer.ip = plan_.nics[1].ip;
      peer.queue_pair = kPeerQueuePair + static_cast<uint32_t>(peers.size());
      peer.psn = kPeerPsn;
      peer.rkey = kKey;
      sent_.push_back(end.psn);
    }
    require(transport_->connect(peers).empty(), "the peer's end points are accepted");
    peers_ = std::move(peers);
  }
  ~Receiver() { transport_->close(); }

  void step(fuzz::Input& input) {
    const uint8_t choice = input.byte();
    switch (choice & 7) {
      case 0:
        return post((choice & 8) != 0 ? input.word() % 4096 : input.byte());
      case 1:
        return advance(Duration(int64_t{input.byte()} << (choice >> 3)));
      case 2:
        return deliver(input.bytes(input.byte()));
      default:
        return deliver(likely_frame(input));
    }
  }

  // The peer is silent from now on: what was posted comes to an end.
  void finish() {
    for (int turns = 0; turns < 10'000 && transport_->next_event() != Time::never(); ++turns)
      advance(std::max(Duration(), transport_->next_event() - now_));
    // What is offered waits for the peer to fetch it.
    require(open_ == 0 || options_.verb == DataVerb::kRead, "every message ends");
  }

 private:
  void post(uint32_t bytes) {
    if (open_ == kMessages) return;
    Message message;
    message.connection = ConnectionId(0);
    message.index = posted_++;
    message.id.sequence = message.index;
    message.bytes = Bytes(bytes);
    require(transport_->post(now_, {&message, 1}) == 1, "a message that fits is taken");
    ++open_;
    poll();
  }

  void advance(Duration by) {
    now_ += by;
    poll();
  }

  void poll() {
    std::array<Event, 8> events;
    for (size_t n; (n = transport_->poll(now_, events)) > 0;)
      for (const Event& event : std::span(events).first(n)) hear(event);
    std::array<Frame, 32> frames;
    for (size_t n; (n = links_.second->receive(now_, frames)) > 0;) {
      for (const Frame& frame : std::span(frames).first(n)) note_sent(frame);
      links_.second->release(std::span(frames).first(n));
    }
  }

  void hear(const Event& event) {
    require(event.connection.value < plan_.connections.size(), "an event is of a connection");
    if (event.connection != ConnectionId(0)) return require(event.kind != EventKind::kSent, "nothing else was sent");
    require(event.at_source && event.index < posted_, "an event is of a message that was posted");
    require(open_ > 0, "a message ends once");
    require((event.kind == EventKind::kFailed) == (event.failure != Failure::kNone), "a failure has a reason");
    --open_;
  }

  void note_sent(const Frame& frame) {
    const ParsedPacket packet = parse(frame);
    if (is_foreign(packet.reject)) return;
    require(packet.reject == Reject::kNone && icrc_matches(frame, packet), "what is sent is well-formed");
    for (size_t i = 0; i < peers_.size(); ++i)
      if (peers_[i].queue_pair == packet.destination_qp && !is_response(packet.opcode)) sent_[i] = packet.psn;
  }

  void deliver(const std::vector<uint8_t>& bytes) {
    Frame frame;
    if (bytes.empty() || links_.second->allocate({&frame, 1}) == 0) return;
    std::copy(bytes.begin(), bytes.end(), frame.head);
    frame.head_length = static_cast<uint16_t>(bytes.size());
    if (links_.second->transmit(now_, {&frame, 1}) == 0) links_.second->release({&frame, 1});
    poll();
  }

  OutboundPacket likely_answer(fuzz::Input& input, size_t end, uint32_t near) const {
    constexpr Opcode kAnswers[] = {Opcode::kAcknowledge,        Opcode::kReadResponseFirst,
                                   Opcode::kReadResponseMiddle, Opcode::kReadResponseLast,
                                   Opcode::kReadResponseOnly,   Opcode::kCongestionNotification};
    OutboundPacket packet;
    packet.opcode = kAnswers[input.byte() % std::size(kAnswers)];
    packet.psn = psn_add(sent_[end], near);
    packet.syndrome = input.byte();
    packet.msn = input.byte();
    return packet;
  }

  OutboundPacket likely_request(fuzz::Input& input, size_t end, uint32_t near, uint8_t flags) {
    OutboundPacket packet;
    packet.opcode = static_cast<Opcode>(input.byte() % 0x18);
    packet.psn = psn_add(next_psn_[end], near);
    packet.ack_request = (flags & 1) != 0;
    packet.immediate = input.byte();
    packet.rkey = own_[end].rkey + ((flags & 2) != 0 ? 1 : 0);
    packet.address = own_[end].address + ((flags & 4) != 0 ? input.word() : 0);
    if (near == 0) next_psn_[end] = psn_add(next_psn_[end], 1);
    return packet;
  }

  // A packet of the peer with its ICRC, and seldom a few bits changed. Nothing for an opcode that there is not.
  std::vector<uint8_t> likely_frame(fuzz::Input& input) {
    const uint8_t kind = input.byte(), flags = input.byte();
    const size_t end = (kind >> 1 & 3) % own_.size();
    const EndPoint& own = own_[end];
    const EndPoint& peer = peers_[end];
    const auto near = static_cast<uint32_t>(static_cast<int8_t>(input.byte()) >> (flags >> 6));
    OutboundPacket packet = (kind & 1) != 0 ? likely_answer(input, end, near) : likely_request(input, end, near, flags);
    const OpcodeLayout& layout = layout_of(packet.opcode);
    if (!layout.known) return {};
    if (layout.payload) packet.payload_length = (flags & 8) != 0 ? kMtu : input.byte();
    packet.dma_length = (flags & 16) != 0 ? input.word() : packet.payload_length;

    const Marking marking{.dscp = 26, .ecn = (flags & 32) != 0 ? Ecn::kCongestionExperienced : Ecn::kCapable0};
    const HeaderTemplate path = make_template({.source_mac = peer.mac,
                                               .destination_mac = own.mac,
                                               .source_ip = peer.ip,
                                               .destination_ip = own.ip,
                                               .source_port = 0xC000,
                                               .destination_qp = own.queue_pair,
                                               .markings = {marking, marking, marking, marking}});
    std::vector<uint8_t> bytes(kFrameBytes);
    Frame frame;
    frame.head = bytes.data();
    write_headers(path, packet, frame);
    const std::vector<uint8_t> start = input.bytes(std::min<uint32_t>(packet.payload_length, kind >> 3));
    std::copy(start.begin(), start.end(), frame.head + frame.head_length);
    frame.head_length = static_cast<uint16_t>(frame.head_length + packet.payload_length);
    seal(frame);
    bytes.resize(frame.head_length);
    if (kind >= 0xF8) bytes[input.word() % bytes.size()] ^= input.byte();
    return bytes;
  }

  const RoceOptions options_;
  const TransportPlan plan_ = make_plan();
  FramePool pool_{256, kFrameBytes};
  const std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> links_ = make_memory_link(pool_, 64, "wire");
  std::unique_ptr<RoceTransport> transport_;
  std::vector<EndPoint> own_, peers_;
  std::vector<uint32_t> sent_;  // by end point: PSN of the last request
  std::array<uint32_t, 4> next_psn_{kPeerPsn, kPeerPsn, kPeerPsn, kPeerPsn};
  Time now_;
  uint32_t posted_ = 0, open_ = 0;
};

}  // namespace
}  // namespace rankwire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > rankwire::kLongestInput) return -1;
  rankwire::fuzz::Input input(data, size);
  rankwire::Receiver receiver(input);
  while (!input.empty()) receiver.step(input);
  receiver.finish();
  return 0;
}
