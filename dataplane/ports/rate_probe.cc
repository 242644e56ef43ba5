#include "dataplane/ports/rate_probe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "dataplane/ports/pacer.h"
#include "dataplane/wire/frame.h"
#include "dataplane/wire/headers.h"

namespace rankwire {
namespace {

constexpr uint32_t kBurst = 32;

/// One port in one measurement after the other.
class Probe {
 public:
  Probe(const ProbedPort& probed, const ProbeOptions& options)
      : port_(*probed.port), pacer_(probed.rate, options.catch_up) {
    const EthernetHeader ethernet{probed.address, probed.address, Be16(kEtherTypeProbe)};
    std::memcpy(header_.data(), &ethernet, sizeof ethernet);
    shape_ = {.payload_length = options.payload, .header_length = sizeof ethernet, .trailer_length = 0};
    if (probed.vlan) {
      const std::array<Be16, 3> tagged = {Be16(kEtherTypeVlan), Be16(*probed.vlan), Be16(kEtherTypeProbe)};
      std::memcpy(header_.data() + sizeof ethernet - sizeof(Be16), tagged.data(), sizeof tagged);
      shape_.header_length += 2 * sizeof(Be16);
    }
    each_ = pacer_.line_time(shape_.length());
    frames_ = std::max<int64_t>(1, options.each.ps / each_.ps);
  }

  void begin(Time now) {
    begin_ = now, taken_ = 0, end_ = now;
    pacer_.resume(now);
  }
  bool is_done() const { return taken_ == frames_; }
  Time next_due() const { return pacer_.next_due(); }

  void send(Time now) {
    // The pacer counts only what it does not catch up with.
    result_.worst_stall = std::max(result_.worst_stall, now - pacer_.schedule());
    pacer_.keep_up(now);
    if (!pacer_.due(now)) return;
    const auto limit = static_cast<uint32_t>(std::min<int64_t>(kBurst, frames_ - taken_));
    std::array<FrameBuffer, kBurst> room;
    const size_t reserved = port_.reserve(std::span(room).first(pacer_.slots(now, each_, limit)));
    const std::span<FrameBuffer> buffers = std::span(room).first(reserved);
    if (buffers.empty()) return;
    const FramePort::Capabilities capabilities = port_.capabilities();
    for (FrameBuffer buffer : buffers)
      std::memcpy(capabilities.place(buffer) - shape_.header_length, header_.data(), shape_.header_length);
    const FrameRun run{shape_, static_cast<uint32_t>(buffers.size())};
    const size_t sent = port_.send_complete(now, buffers, {&run, 1});
    port_.discard(buffers.subspan(sent));
    pacer_.start(each_, static_cast<uint32_t>(sent));
    taken_ += static_cast<int64_t>(sent);
    if (sent > 0) end_ = std::max(now, pacer_.schedule() - each_) + each_;
  }

  void receive(Time now) {
    FrameRoom<kBurst> room;
    const size_t received = port_.receive(now, room.frames());
    for (const Frame& frame : room.frames().first(received))
      if (frame.head_length >= 12 && std::memcmp(frame.head, header_.data(), 12) == 0) ++result_.returned;
    port_.release(room.frames().first(received));
  }

  void end(Time now) {
    result_.frames += static_cast<uint64_t>(taken_);
    // Of none the line time of one is what was waited for in vain.
    const Duration time = (is_done() ? end_ : now) - begin_, wanted = each_ * std::max<int64_t>(1, taken_);
    result_.errors.push_back(static_cast<double>(time.ps) / static_cast<double>(wanted.ps) - 1);
  }

  ProbeResult result() const {
    ProbeResult result = result_;
    result.slipped = pacer_.slipped();
    return result;
  }

 private:
  FramePort& port_;
  Pacer pacer_;
  std::array<uint8_t, sizeof(EthernetHeader) + 2 * sizeof(Be16)> header_{};
  FrameShape shape_;
  Duration each_;
  int64_t frames_ = 0, taken_ = 0;  // of a measurement
  Time begin_, end_;
  ProbeResult result_;
};

}  // namespace

ProbeResults probe_rates(std::span<const ProbedPort> ports, const ProbeOptions& options, Clock& clock,
                         const std::atomic<bool>& interrupted) {
  std::vector<Probe> probes;
  for (const ProbedPort& port : ports) probes.emplace_back(port, options);
  ProbeResults results;
  const auto receive_all = [&](Time now) {
    for (Probe& probe : probes) probe.receive(now);
  };
  for (uint32_t i = 0; i < options.measurements && !interrupted; ++i) {
    const Time begin = clock.now();
    for (Probe& probe : probes) probe.begin(begin);
    Time last = begin, now = begin;
    while (!interrupted && now - begin < options.patience) {
      results.worst_turn = std::max(results.worst_turn, now - last);
      Time next = begin + options.patience;
      for (Probe& probe : probes) {
        if (probe.is_done()) continue;
        probe.send(now);
        if (!probe.is_done()) next = std::min(next, probe.next_due());
      }
      receive_all(now);
      if (std::ranges::all_of(probes, &Probe::is_done)) break;
      last = now;
      clock.idle_until(next);
      now = clock.now();
    }
    if (interrupted) break;
    for (Probe& probe : probes) probe.end(now);
    for (const Time until = now + options.rest; now < until && !interrupted; now = clock.now()) {
      receive_all(now);
      clock.idle_until(until);
    }
  }
  for (const Probe& probe : probes) results.ports.push_back(probe.result());
  return results;
}

}  // namespace rankwire
