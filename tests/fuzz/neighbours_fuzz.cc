// Any sequence of frames, next hops and times through the state machine of a port's NICs.
#include <array>
#include <cstring>

#include "dataplane/neighbours/neighbours.h"
#include "tests/fuzz/input.h"

namespace rankwire {
namespace {

using fuzz::require;

constexpr uint32_t kFrameCapacity = 256;
constexpr uint32_t kNextHops = 8;

IpAddress ipv6(uint8_t last) {
  return IpAddress(std::array<uint8_t, 16>{0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last});
}

// Addresses 0 .. 3 are those of the NICs, 4 .. 7 on their subnets, 8 and 9 elsewhere.
IpAddress address(uint8_t choice) {
  constexpr uint32_t kBase = 0xC6120000;
  const uint32_t n = choice % 10;
  if (n >= 8) return n == 8 ? IpAddress(Ipv4Address{0x08080808}) : IpAddress(std::array<uint8_t, 16>{0x3F, 0xFE});
  if (n % 2 == 0) return Ipv4Address{kBase + n};
  return ipv6(static_cast<uint8_t>(n));
}

std::array<Nic, 4> make_nics() {
  std::array<Nic, 4> nics;
  for (uint8_t i = 0; i < nics.size(); ++i) {
    nics[i] = {.id = NicId(i), .port = PortId(0), .mac = {{2, 0, 0, 0, 0, i}}, .ip = address(i)};
    nics[i].prefix_length = nics[i].ip.is_ipv4() ? 24 : 64;
    if (i >= 2) nics[i].vlan = 100;
  }
  nics[0].gateway = address(4);
  nics[3].gateway = address(7);
  return nics;
}

class Port {
 public:
  void step(fuzz::Input& input) {
    switch (input.byte() % 6) {
      case 0:
        return advance(Duration(int64_t{input.word()} << (input.byte() % 32)));
      case 1:
        return write(input.byte() % 5);
      case 2:
        return resolve(input.byte() % nics_.size(), address(input.byte()));
      case 3:
        return receive(input.bytes(input.byte()));
      default:
        return receive(likely_frame(input));
    }
  }

  // Whatever happened, every next hop is settled once the deadline has passed.
  void finish() {
    for (int i = 0; i < 1000 && !neighbours_.ready(); ++i) {
      if (neighbours_.next_event() > now_) now_ = neighbours_.next_event();
      write(4);
    }
    require(neighbours_.ready(), "every next hop is settled in the end");
    require(neighbours_.counters().announcements_tx == nics_.size(), "every NIC announced itself once");
    write(4);
    for (uint32_t handle = 0; handle < hops_; ++handle) {
      const NextHop& hop = neighbours_[handle];
      require(hop.state != NextHop::State::kIncomplete, "no next hop is incomplete");
      // At 0, 250, 500 and 750 ms.
      require(hop.requests <= 4, "no more requests than the deadline leaves time for");
    }
  }

 private:
  void advance(Duration by) { now_ += by; }

  void resolve(size_t nic, const IpAddress& destination) {
    const uint32_t handle = neighbours_.resolve(nics_[nic], destination);
    require(handle == Neighbours::kNone || handle <= hops_, "handles are given in order");
    if (handle == hops_) ++hops_;
    require(hops_ <= kNextHops, "no more next hops than there is room for");
    const auto next = next_hop_of(nics_[nic], destination);
    if (handle != Neighbours::kNone) require(neighbours_[handle].address == *next, "the handle is the next hop's");
  }

  void receive(std::vector<uint8_t> bytes) {
    Frame frame;
    frame.head = bytes.data();
    frame.head_length = static_cast<uint16_t>(bytes.size());
    neighbours_.receive(frame);
    check();
  }

  void write(size_t count) {
    std::array<std::vector<uint8_t>, 5> memory;
    std::array<Frame, 5> frames;
    for (size_t i = 0; i < count; ++i) {
      memory[i].resize(kFrameCapacity);
      frames[i].head = memory[i].data();
    }
    const size_t written = neighbours_.write(now_, {frames.data(), count});
    require(written <= count, "no more frames than were given");
    for (size_t i = 0; i < written; ++i) check_written(frames[i]);
    if (count > 0 && written == 0) require(neighbours_.next_event() > now_, "nothing to write means nothing due");
    check();
  }

  void check_written(const Frame& frame) const {
    require(frame.length() == frame.head_length, "frames are contiguous");
    require(frame.head_length >= 60 && frame.head_length <= kFrameCapacity, "frames have legal lengths");
    const NeighbourMessage message = read_neighbour_frame(frame);
    require(message.kind != NeighbourKind::kMalformed, "what is written is well-formed");
    bool ours = false;
    for (const Nic& nic : nics_) ours |= nic.mac == message.frame_source && nic.vlan.value_or(0) == message.vlan;
    require(ours, "frames come from a NIC in its VLAN");
  }

  void check() const {
    uint32_t incomplete = 0;
    for (uint32_t handle = 0; handle < hops_; ++handle) {
      const NextHop& hop = neighbours_[handle];
      incomplete += hop.state == NextHop::State::kIncomplete ? 1 : 0;
      require((hop.mac.bytes[0] & 1) == 0, "no next hop has a group address");
    }
    require(incomplete == neighbours_.unresolved(), "unresolved next hops are counted");
    require(neighbours_.conflicts().size() <= Neighbours::kConflictsKept, "conflicts are bounded");
  }

  // A frame of another station with right checksums, and then a few bytes changed.
  std::vector<uint8_t> likely_frame(fuzz::Input& input) const {
    std::vector<uint8_t> bytes(kFrameCapacity);
    Frame frame;
    frame.head = bytes.data();
    const uint8_t kind = input.byte();
    Nic station{.id = NicId(9), .mac = {{2, 0, 0, 0, 1, input.byte()}}, .ip = address(input.byte())};
    if (kind % 2 != 0) station.vlan = kind % 3 != 0 ? 100 : 7;
    IpAddress target = address(input.byte());
    if (target.is_ipv4() != station.ip.is_ipv4()) target = station.ip;
    switch (kind / 2 % 3) {
      case 0:
        write_solicitation(station, target, frame);
        break;
      case 1:
        write_announcement(station, frame);
        break;
      default: {
        Nic asker = station;
        asker.ip = target;
        write_solicitation(asker, station.ip, frame);
        const NeighbourMessage question = read_neighbour_frame(frame);
        write_advertisement(station, question, frame);
      }
    }
    bytes.resize(frame.head_length);
    for (int changes = kind >> 6; changes > 0; --changes) {
      const uint8_t at = input.byte();
      bytes[at % bytes.size()] = input.byte();
    }
    return bytes;
  }

  const std::array<Nic, 4> nics_ = make_nics();
  Neighbours neighbours_{{.interval = milliseconds(250),
                          .deadline = seconds(1),
                          .next_hops = kNextHops,
                          .frame_capacity = kFrameCapacity,
                          .answer_bytes = 1024},
                         nics_};
  Time now_ = Time(-1'000'000'000'000);
  uint32_t hops_ = 0;
};

}  // namespace
}  // namespace rankwire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rankwire::fuzz::Input input(data, size);
  rankwire::Port port;
  while (!input.empty()) port.step(input);
  port.finish();
  return 0;
}
