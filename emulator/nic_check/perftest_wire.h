// A port that keeps what passes it, and lets a script decide what becomes of packets.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "base/random.h"
#include "dataplane/ports/forwarding_port.h"
#include "dataplane/ports/frame_port.h"
#include "emulator/nic_check/wire_log.h"

namespace rankwire {

/// What becomes of a packet between the wire and rankwire's end.
enum class Passage : uint8_t {
  kDelivered,
  kLost,
  kMarked,  ///< of one that arrives: with ECN Congestion Experienced
};

/// Asked of each RoCEv2 packet by its number in the log. Throws nothing.
struct WireScript {
  std::function<Passage(size_t frame)> arrives = {};  ///< empty: all is delivered
  std::function<Passage(size_t frame)> leaves = {};
};

/// The log and the port beneath must outlive it.
class PerftestWire final : public ForwardingPort {
 public:
  /// `mac`: of rankwire's end; what a port hears of its own frames is nobody's.
  PerftestWire(FramePort& inner, const MacAddress& mac, WireLog& log)
      : ForwardingPort(inner), mac_(mac), log_(log), capabilities_(inner.capabilities()) {}

  void follow(WireScript script) { script_ = std::move(script); }

  size_t transmit(Time now, std::span<const Frame> frames) noexcept override;
  void complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept override;
  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override;
  void discard(std::span<const FrameBuffer> buffers) noexcept override;
  size_t receive(Time now, std::span<Frame> frames) noexcept override;
  Capabilities capabilities() const noexcept override { return capabilities_; }

 private:
  Passage keep(Time at, bool from_nic, const Frame& frame);
  /// Whether `frame`, the next to be sent, is lost. Once for a frame, however often the port refuses it.
  bool is_lost(Time now, const Frame& frame);

  const MacAddress mac_;
  WireLog& log_;
  const Capabilities capabilities_;
  WireScript script_;
  std::unordered_map<FrameBuffer, FrameShape> completed_;  // that are not sent
  std::optional<bool> decided_;                            // of the frame that the port has refused
  Random random_{1};
};

}  // namespace rankwire
