#include "dataplane/roce/request_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "dataplane/wire/payload.h"
#include "tests/dataplane/wire/encapsulations.h"

namespace rankwire {
namespace {

// The four encapsulations in turn.
PacketPath encapsulated_path(uint32_t queue_pair) {
  PacketPath path = testing::encapsulations()[queue_pair % 4].path;
  path.destination_qp = 0xABCD00 + queue_pair;
  path.source_port = static_cast<uint16_t>(0xC000 + queue_pair);
  return path;
}

/// Buffers as those of a port that keeps the pattern in them; what else they held is 0xEE.
class Buffers {
 public:
  explicit Buffers(size_t n) {
    for (size_t i = 0; i < n; ++i) {
      memory_.emplace_back();
      memory_.back().fill(0xEE);
      std::memcpy(memory_.back().data() + kHeaderRoom, payload_pattern().data(), kMaxMtu);
    }
    for (auto& memory : memory_) buffers.push_back(memory.data());
  }

  /// The whole frame as it goes out, once `port` is told its shape.
  std::vector<uint8_t> frame(size_t i, FrameShape shape) const {
    const uint8_t* const head = memory_[i].data() + kHeaderRoom - shape.header_length;
    return {head, head + shape.length()};
  }

  static constexpr FramePort::Capabilities kPort{.frame_capacity = kHeaderRoom + kMaxMtu + kTrailerRoom,
                                                 .place_offset = kHeaderRoom};
  std::vector<FrameBuffer> buffers;

 private:
  struct alignas(64) Memory : std::array<uint8_t, kHeaderRoom + kMaxMtu + 64> {};
  std::vector<Memory> memory_;
};

/// The frame parsed and its ICRC computed over every byte.
ParsedPacket parse_whole(std::vector<uint8_t>& bytes) {
  Frame frame;
  frame.head = bytes.data();
  frame.head_length = static_cast<uint16_t>(bytes.size());
  const ParsedPacket packet = parse(frame);
  EXPECT_EQ(packet.reject, Reject::kNone) << to_string(packet.reject);
  if (packet.reject == Reject::kNone) {
    EXPECT_TRUE(icrc_matches(frame, packet)) << "psn " << packet.psn;
  }
  return packet;
}

void expect_port(const ParsedPacket& packet, const PacketPath& path, SourcePortPolicy policy, uint32_t message) {
  const uint16_t port = packet.udp().source_port.value();
  switch (policy) {
    case SourcePortPolicy::kLinux:
    case SourcePortPolicy::kFixed:
      EXPECT_EQ(port, path.source_port);
      break;
    case SourcePortPolicy::kPerMessage:
      EXPECT_EQ(port, hashed_source_port(path.destination_qp, message));
      break;
    case SourcePortPolicy::kPerPacket:
      EXPECT_EQ(port, hashed_source_port(path.destination_qp, packet.psn));
      break;
  }
}

void expect_whole_run(const testing::Encapsulation& as, SourcePortPolicy policy, Opcode opcode, uint32_t first) {
  const PatternIcrc pattern_icrc(1024);
  const RequestWriter writer(pattern_icrc, PayloadMode::kPattern, 1024, policy);
  const HeaderTemplate path = pattern_icrc.make_template(as.path);
  OutboundMessage message;
  message.bytes = 64 << 10;
  message.immediate = 77;
  RequestRun run;
  run.opcode = opcode;
  run.count = 16;
  run.psn = first;
  run.offset = 1024;
  run.length = 1024;
  Buffers made(16);
  writer.write(path, message, run, made.buffers, Buffers::kPort);
  const FrameShape shape = writer.shape(path, opcode, run.length);
  EXPECT_EQ(shape, writer.middle_shape(path));
  for (uint32_t i = 0; i < 16; ++i) {
    std::vector<uint8_t> bytes = made.frame(i, shape);
    // UDP 8 and BTH 12 bytes behind the IP header, ICRC 4.
    ASSERT_EQ(bytes.size(), as.bth_offset + 12u + 1024 + 4);
    const ParsedPacket packet = parse_whole(bytes);
    EXPECT_EQ(packet.opcode, opcode);
    EXPECT_EQ(packet.psn, psn_add(first, i));
    EXPECT_EQ(packet.payload_length, 1024u);
    EXPECT_EQ(packet.vlan, as.path.vlan.value_or(0));
    EXPECT_FALSE(packet.ack_request);
    expect_port(packet, as.path, policy, 77);
  }
}

TEST(RequestWriter, EveryPacketOfARunIsWhole) {
  for (const testing::Encapsulation& as : testing::encapsulations()) {
    for (const SourcePortPolicy policy :
         {SourcePortPolicy::kLinux, SourcePortPolicy::kPerMessage, SourcePortPolicy::kPerPacket}) {
      SCOPED_TRACE(as.name);
      // Over the ends of the last, the last two and all three bytes of the sequence number, and over none.
      for (const uint32_t first : {0u, 0x12FBu, 0x34FFFAu, 0xFFFFF8u, 0x100u})
        for (const Opcode opcode : {Opcode::kWriteMiddle, Opcode::kSendMiddle})
          expect_whole_run(as, policy, opcode, first);
    }
  }
}

TEST(RequestWriter, AMiddleMayAskForAnAcknowledgement) {
  const PatternIcrc pattern_icrc(1024);
  const RequestWriter writer(pattern_icrc, PayloadMode::kPattern, 1024);
  OutboundMessage message;
  message.bytes = 64 << 10;
  for (uint32_t i = 0; i < 4; ++i) {
    const HeaderTemplate path = pattern_icrc.make_template(encapsulated_path(i));
    for (const Opcode opcode : {Opcode::kWriteMiddle, Opcode::kSendMiddle, Opcode::kWriteLast}) {
      for (const uint32_t psn : {0u, 31u, 0xFFFFFFu}) {
        RequestRun run;
        run.opcode = opcode;
        run.ack_request = true;
        run.psn = psn;
        run.length = 1024;
        Buffers made(1);
        writer.write(path, message, run, made.buffers, Buffers::kPort);
        std::vector<uint8_t> bytes = made.frame(0, writer.shape(path, run.opcode, run.length));
        const ParsedPacket packet = parse_whole(bytes);
        EXPECT_EQ(packet.opcode, opcode);
        EXPECT_TRUE(packet.ack_request);
        EXPECT_FALSE(packet.solicited);
        EXPECT_EQ(packet.psn, psn);
        EXPECT_EQ(packet.payload_length, 1024u);
      }
    }
  }
}

void expect_whole_end(const PatternIcrc& pattern_icrc, uint32_t mtu, const HeaderTemplate& path, Opcode opcode,
                      uint32_t length) {
  const RequestWriter writer(pattern_icrc, PayloadMode::kPattern, mtu);
  OutboundMessage message;
  message.immediate = 0xA1B2C3D4;
  message.bytes = 65536 + length;
  message.remote_address = 0x7F00'1234'5678'9ABC;
  message.rkey = 0xDEADBEEF;
  RequestRun run;
  run.opcode = opcode;
  run.ack_request = (length & 1) != 0;
  run.psn = 0xFEDCBA;
  run.length = length;
  run.dma_length = message.bytes;
  Buffers made(1);
  writer.write(path, message, run, made.buffers, Buffers::kPort);
  std::vector<uint8_t> bytes = made.frame(0, writer.shape(path, opcode, length));
  const ParsedPacket packet = parse_whole(bytes);
  EXPECT_EQ(packet.opcode, opcode);
  EXPECT_EQ(packet.psn, 0xFEDCBAu);
  EXPECT_EQ(packet.payload_length, length);
  EXPECT_EQ(packet.pad, -length & 3);
  EXPECT_EQ(packet.ack_request, run.ack_request);
  const OpcodeLayout& layout = layout_of(opcode);
  EXPECT_EQ(packet.immediate, layout.immediate ? message.immediate : 0);
  EXPECT_EQ(packet.address, layout.reth ? message.remote_address : 0);
  EXPECT_EQ(packet.rkey, layout.reth ? message.rkey : 0);
  EXPECT_EQ(packet.dma_length, layout.reth ? message.bytes : 0);
}

// The short way must write what the long one does.
TEST(RequestWriter, FirstMiddleAndLastOfAMessageAreThoseOfTheLongWay) {
  constexpr uint32_t kMtu = 1024;
  const PatternIcrc pattern_icrc(kMtu);
  const RequestWriter writer(pattern_icrc, PayloadMode::kPattern, kMtu);
  for (uint32_t i = 0; i < 4; ++i) {
    const HeaderTemplate path = pattern_icrc.make_template(encapsulated_path(i));
    for (const Verb verb : {Verb::kSend, Verb::kSendImmediate, Verb::kWrite, Verb::kWriteImmediate}) {
      for (const uint32_t bytes : {5 * kMtu, 4 * kMtu + 1, 4 * kMtu + 1000}) {
        OutboundMessage message;
        message.verb = verb;
        message.solicited = (bytes & 1) != 0;
        message.bytes = bytes;
        message.immediate = 0xA1B2C3D4;
        message.remote_address = 0x7F00'1234'5678'9ABC;
        message.rkey = 0xDEADBEEF;
        const VerbOpcodes& opcodes = opcodes_of(verb);
        Buffers quick(3), whole(3), plain(3);
        // Its own region, or another, to whose address or key that packet does not go.
        const RemoteRegion region = pattern_icrc.region(message.remote_address - (i == 1), message.rkey + (i == 2));
        writer.write_first(path, message, region, 0xFFFFFE, quick.buffers[0], writer.place_in(Buffers::kPort));
        writer.write_middle(path, opcodes.middle, 0xFFFFFF, quick.buffers[1], writer.place_in(Buffers::kPort));
        writer.write_last(path, message, 0, quick.buffers[2], Buffers::kPort);
        writer.write_message(path, message, region, 0xFFFFFE, whole.buffers, Buffers::kPort);
        const RequestRun runs[] = {{.opcode = opcodes.first, .psn = 0xFFFFFE, .length = kMtu, .dma_length = bytes},
                                   {.opcode = opcodes.middle, .psn = 0xFFFFFF, .length = kMtu},
                                   {.opcode = opcodes.last,
                                    .ack_request = true,
                                    .solicited = message.solicited && consumes_receive(verb),
                                    .psn = 0,
                                    .length = bytes - 4 * kMtu}};
        const FrameShape shapes[] = {writer.first_shape(path, verb), writer.middle_shape(path),
                                     writer.last_shape(path, message)};
        for (size_t n = 0; n < 3; ++n) {
          SCOPED_TRACE(n);
          writer.write(path, message, runs[n], std::span(plain.buffers).subspan(n, 1), Buffers::kPort);
          EXPECT_EQ(shapes[n], writer.shape(path, runs[n].opcode, runs[n].length));
          std::vector<uint8_t> frame = quick.frame(n, shapes[n]);
          EXPECT_EQ(frame, plain.frame(n, shapes[n]));
          EXPECT_EQ(frame, whole.frame(n, shapes[n]));
          parse_whole(frame);
        }
      }
    }
  }
}

TEST(RequestWriter, EndsOfMessagesAreWholeWhateverTheirLength) {
  for (const uint32_t mtu : {256u, 1024u, 4096u}) {
    const PatternIcrc pattern_icrc(mtu);
    for (uint32_t i = 0; i < 4; ++i) {
      const HeaderTemplate path = pattern_icrc.make_template(encapsulated_path(i));
      for (const Opcode opcode : {Opcode::kWriteFirst, Opcode::kWriteLastImmediate, Opcode::kWriteOnlyImmediate,
                                  Opcode::kSendFirst, Opcode::kSendLast, Opcode::kSendOnlyImmediate}) {
        for (const uint32_t length : {0u, 1u, 2u, 3u, 4u, mtu - 23, mtu - 1, mtu})
          expect_whole_end(pattern_icrc, mtu, path, opcode, length);
      }
    }
  }
}

TEST(RequestWriter, ResponsesAreWhole) {
  const PatternIcrc pattern_icrc(1024);
  const RequestWriter writer(pattern_icrc, PayloadMode::kPattern, 1024);
  for (uint32_t i = 0; i < 4; ++i) {
    const HeaderTemplate path = pattern_icrc.make_template(encapsulated_path(i));
    for (const Opcode opcode : {Opcode::kReadResponseFirst, Opcode::kReadResponseMiddle, Opcode::kReadResponseLast}) {
      ResponseRun run;
      run.opcode = opcode;
      run.count = 2;
      run.psn = 0xFFFFFF;
      run.length = 1024;
      run.msn = 0x123456;
      Buffers made(2);
      writer.write(path, 0, 0, run, made.buffers, Buffers::kPort);
      for (uint32_t n = 0; n < 2; ++n) {
        std::vector<uint8_t> bytes = made.frame(n, writer.shape(path, opcode, 1024));
        const ParsedPacket packet = parse_whole(bytes);
        EXPECT_EQ(packet.opcode, opcode);
        EXPECT_EQ(packet.psn, psn_add(0xFFFFFF, n));
        EXPECT_EQ(packet.msn, opcode == Opcode::kReadResponseMiddle ? 0 : 0x123456u);
      }
    }
  }
}

TEST(RequestWriter, CheckingModeWritesThePayload) {
  const PatternIcrc pattern_icrc(1024);
  const RequestWriter writer(pattern_icrc, PayloadMode::kChecking, 1024);
  const HeaderTemplate path = pattern_icrc.make_template(encapsulated_path(3));
  OutboundMessage message;
  message.bytes = 2048 + 1001;
  message.payload_key = 77;
  RequestRun run;
  run.opcode = Opcode::kWriteLastImmediate;
  run.offset = 2048;
  run.length = 1001;
  Buffers made(1);
  writer.write(path, message, run, made.buffers, Buffers::kPort);
  const FrameShape shape = writer.shape(path, run.opcode, run.length);
  EXPECT_EQ(shape.trailer_length, 0u);
  std::vector<uint8_t> bytes = made.frame(0, shape);
  const ParsedPacket packet = parse_whole(bytes);
  std::vector<uint8_t> expected(1001);
  write_payload(77, 2048, expected);
  ASSERT_EQ(packet.payload_length, 1001u);
  EXPECT_EQ(std::memcmp(packet.payload, expected.data(), expected.size()), 0);
}

TEST(RequestWriter, AcknowledgementsAreThoseOfThePlainWay) {
  const PatternIcrc pattern_icrc(1024);
  for (uint32_t i = 0; i < 4; ++i) {
    const HeaderTemplate path = pattern_icrc.make_template(encapsulated_path(i));
    for (const uint32_t psn : {0u, 0xABCDEFu, 0xFFFFFFu}) {
      for (const Syndrome syndrome : {Syndrome::kAck, Syndrome::kNakSequence, Syndrome::kNakNotReady}) {
        const Acknowledgement acknowledgement{.psn = psn, .msn = 0x123456, .syndrome = static_cast<uint8_t>(syndrome)};
        Buffers made(1);
        write_acknowledgement(pattern_icrc, path, acknowledgement, Buffers::kPort.place(made.buffers[0]));
        std::array<uint8_t, 128> plain;
        Frame frame;
        frame.head = plain.data();
        write_acknowledgement(make_template(encapsulated_path(i)), acknowledgement, frame);
        EXPECT_EQ(made.frame(0, acknowledgement_shape(path)),
                  std::vector<uint8_t>(frame.head, frame.head + frame.head_length));
      }
    }
  }
}

}  // namespace
}  // namespace rankwire
