// Rings, direct exchanges and halving-doubling: members that send one message for each that they have received.
#include <algorithm>
#include <bit>

#include "emulator/simulator/astra_phase.h"

namespace rankwire {
namespace {

using Algorithm = AstraImplementation::Algorithm;

struct Packet {
  uint32_t to = 0, from = 0;
  Bytes bytes;
};

/// A member prepares `window` packets when it begins and one for each message that it receives; each takes the end
/// point's delay, and the time of a reduction where data has been added up, and lets one packet go, the oldest. The
/// member ends with the last one that it has prepared.
class Exchange : public AstraAlgorithm {
 public:
  Exchange(const AstraPhase& phase, const AstraEndpoint& endpoint, AstraPhaseHost& host)
      : phase_(phase), endpoint_(endpoint), host_(host), steps_(steps_of(phase)), members_(phase.members) {}

  void begin(uint32_t member) override {
    for (uint32_t i = 0; i < steps_.window; ++i) prepare(member);
  }

  void received(uint32_t member, uint32_t) override {
    ++members_[member].received;
    prepare(member);
  }

  void due(uint32_t member, uint32_t) override {
    Member& m = members_[member];
    ++m.free;
    if (steps_.barrier > 0 && m.sent >= steps_.barrier) {
      if (m.received < steps_.barrier) return;
      for (uint32_t i = 0; i < steps_.window; ++i) send(member);
    } else {
      send(member);
    }
    if (m.sent == steps_.sends && m.free == steps_.window) host_.end(member);
  }

  uint32_t numbers() const override { return std::min(steps_.sends, 2 * phase_.members); }

 private:
  struct Member {
    uint32_t prepared = 0, sent = 0, received = 0;
    uint32_t free = 0;  ///< packets that may go
  };

  void prepare(uint32_t member) {
    Member& m = members_[member];
    const uint32_t n = m.prepared++;
    Duration delay = endpoint_.delay;
    if (steps_.reduced(n)) delay += endpoint_.reduction(packet(member, n).bytes);
    host_.wait(member, n, delay);
  }

  void send(uint32_t member) {
    Member& m = members_[member];
    if (m.sent == m.prepared || m.sent == steps_.sends || m.free == 0) return;
    const uint32_t n = m.sent++;
    --m.free;
    const Packet p = packet(member, n);
    host_.send(member, p.to, n, p.bytes);
    host_.receive(member, p.from, n, p.bytes);
  }

  uint32_t clockwise(uint32_t member, uint32_t steps) const { return (member + steps) % phase_.members; }

  Packet packet(uint32_t member, uint32_t n) const {
    const uint32_t size = phase_.members;
    switch (phase_.implementation.algorithm) {
      case Algorithm::kHalvingDoubling:
        return halving_doubling(member, n);
      case Algorithm::kDirect: {
        const uint32_t distance = 1 + n % (size - 1);
        return directed(clockwise(member, distance), clockwise(member, size - distance));
      }
      default:
        return directed(clockwise(member, 1), clockwise(member, size - 1));
    }
  }

  Packet directed(uint32_t next, uint32_t previous) const {
    const Bytes bytes = message_size(phase_);
    return phase_.anticlockwise ? Packet{previous, next, bytes} : Packet{next, previous, bytes};
  }

  /// Partners differ in one bit of their places. Down the levels messages halve, up they double.
  Packet halving_doubling(uint32_t member, uint32_t n) const {
    const auto levels = static_cast<uint32_t>(std::bit_width(phase_.members) - 1);
    const bool gathers = phase_.collective == AstraCollective::kAllGather;
    if (gathers) return paired(member, levels - 1 - n % levels, phase_.data.count << (n % levels));
    const uint32_t step = n % (2 * levels);
    if (step < levels) return paired(member, step, phase_.data.count >> (step + 1));
    // ASTRA-sim halves once more before it turns round.
    const int64_t smallest = phase_.data.count >> (levels + 1);
    return paired(member, 2 * levels - 1 - step, smallest << (step - levels + 1));
  }

  static Packet paired(uint32_t member, uint32_t bit, int64_t bytes) {
    const uint32_t partner = member ^ (1u << bit);
    return {partner, partner, Bytes(bytes)};
  }

  const AstraPhase phase_;
  const AstraEndpoint endpoint_;
  AstraPhaseHost& host_;
  const AstraSteps steps_;
  std::vector<Member> members_;
};

}  // namespace

std::unique_ptr<AstraAlgorithm> make_astra_exchange(const AstraPhase& phase, const AstraEndpoint& endpoint,
                                                    AstraPhaseHost& host) {
  return std::make_unique<Exchange>(phase, endpoint, host);
}

}  // namespace rankwire
