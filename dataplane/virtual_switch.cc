#include "dataplane/virtual_switch.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr size_t kBurst = 32;
constexpr uint32_t kEthernetHeader = 14;
constexpr Bytes kSmallestFrame{60};
constexpr uint32_t kMaxQueueFrames = 65536;

/// The most frames that are on a line of `rate` for `delay`, and two bursts that a step may find at once.
uint32_t frames_within(Duration delay, Bandwidth rate) {
  const Duration shortest = serialization_time(line_bytes(0), rate);
  return static_cast<uint32_t>(std::min<int64_t>(delay.ps / shortest.ps + 2 * kBurst, kMaxQueueFrames));
}

uint32_t input_limit(const SwitchOptions& options, Bandwidth rate) {
  return frames_within(options.link_latency + options.latency, rate);
}

uint32_t output_limit(const SwitchOptions& options, Bandwidth rate) {
  const int64_t queued = options.buffer.count / kSmallestFrame.count + 1;
  return frames_within(options.link_latency, rate) + static_cast<uint32_t>(std::min<int64_t>(queued, kMaxQueueFrames));
}

uint32_t frames_needed(std::span<const SwitchPort> ports, const SwitchOptions& options) {
  if (ports.empty() || ports.size() > 1024) fail_input("a switch has 1 .. 1024 ports, not {}", ports.size());
  if (options.loss_ppm > 1'000'000) fail_input("a loss of {} parts per million is above 1000000", options.loss_ppm);
  if (options.latency < Duration() || options.link_latency < Duration()) fail_input("a switch's latency is negative");
  if (options.buffer <= Bytes()) fail_input("a switch's buffer of {} bytes holds no frame", options.buffer.count);
  if (options.addresses == 0) fail_input("a switch must be able to learn at least one address");
  uint32_t frames = 0;
  for (const SwitchPort& port : ports) {
    if (port.rate <= Bandwidth()) fail_input("a switch port's rate must be positive");
    frames += input_limit(options, port.rate) + output_limit(options, port.rate);
  }
  return frames;
}

uint64_t mac_at(const uint8_t* bytes) {
  uint64_t mac = 0;
  for (int i = 0; i < 6; ++i) mac = mac << 8 | bytes[i];
  return mac;
}

bool is_group(uint64_t mac) {
  return (mac >> 40 & 1) != 0;
}

/// 01:80:C2:00:00:00 .. 0F: PAUSE, LACP, LLDP and others that no bridge relays.
bool is_reserved(uint64_t mac) {
  return mac >> 4 == 0x0180C200000;
}

uint32_t word_at(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 8 | bytes[1];
}

/// Sets CE in the IP header of an ECN-capable frame and returns whether it did.
bool mark_congestion(const Frame& frame) {
  uint32_t offset = kEthernetHeader;
  uint32_t type = word_at(frame.head + 12);
  if (type == 0x8100 && frame.head_length >= offset + 4) {
    type = word_at(frame.head + 16);
    offset += 4;
  }
  uint8_t* ip = frame.head + offset;
  if (type == 0x0800 && frame.head_length >= offset + 20) {
    if ((ip[1] & 3) == 0 || (ip[1] & 3) == 3) return false;
    const uint32_t before = word_at(ip);
    ip[1] |= 3;
    // RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
    uint32_t sum = (~word_at(ip + 10) & 0xFFFF) + (~before & 0xFFFF) + word_at(ip);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = ~(sum + (sum >> 16));
    ip[10] = static_cast<uint8_t>(sum >> 8);
    ip[11] = static_cast<uint8_t>(sum);
    return true;
  }
  if (type == 0x86DD && frame.head_length >= offset + 40) {
    const uint8_t ecn = ip[1] >> 4 & 3;
    if (ecn == 0 || ecn == 3) return false;
    ip[1] |= 0x30;
    return true;
  }
  return false;
}

}  // namespace

VirtualSwitch::VirtualSwitch(std::span<const SwitchPort> ports, const SwitchOptions& options)
    : options_(options),
      random_(options.seed),
      stations_(std::max<size_t>(options.addresses, 1)),
      frames_(frames_needed(ports, options)) {
  ports_.reserve(ports.size());
  for (const SwitchPort& port : ports) {
    Port& added = ports_.emplace_back(port.port, port.rate);
    added.input_limit = input_limit(options, port.rate);
    added.output_limit = output_limit(options, port.rate);
  }
  candidates_.reserve(ports.size());
}

bool VirtualSwitch::step(Time now) noexcept {
  const uint64_t handled = handled_;
  for (uint16_t input = 0; input < ports_.size(); ++input) receive(input, now);
  admit(now);
  for (Port& output : ports_) deliver(output, now);
  return handled_ != handled;
}

Time VirtualSwitch::next_event() const noexcept {
  Time next = candidates_.empty() ? Time::never() : candidates_.front().due;
  for (const Port& port : ports_) {
    // A full input line takes no more before its first frame is due.
    if (port.arriving.count < port.input_limit) next = std::min(next, port.port->next_event());
    if (port.leaving.count > 0) next = std::min(next, frames_[port.leaving.head].frame.arrival);
  }
  return next;
}

/// Takes what waits at the port, until the line holds as much as it can.
void VirtualSwitch::receive(uint16_t input, Time now) noexcept {
  Port& port = ports_[input];
  const bool was_empty = port.arriving.count == 0;
  std::array<Frame, kBurst> burst;
  size_t n = 0;
  do {
    const size_t room = std::min<size_t>(kBurst, port.input_limit - port.arriving.count);
    n = room == 0 ? 0 : port.port->receive(now, std::span(burst).first(room));
    for (const Frame& frame : std::span(burst).first(n)) {
      const Time begun = std::max(frame.arrival + options_.link_latency, port.input_free);
      port.input_free = begun + port.line_times.of(frame.length());
      frames_.append(port.arriving, frame, port.input_free + options_.latency);
      port.counters.rx_bytes += frame.length();
      // Read when the frame is forwarded, after the whole burst is in.
      __builtin_prefetch(frame.head);
    }
    port.counters.rx_frames += n;
    handled_ += n;
  } while (n == kBurst);
  if (was_empty && port.arriving.count > 0) push_candidate(input);
}

/// Moves frames from the inputs to the output queues in the order in which they become eligible.
void VirtualSwitch::admit(Time now) noexcept {
  while (!candidates_.empty() && candidates_.front().due <= now) {
    const auto [due, input] = pop_candidate();
    Port& port = ports_[input];
    const Frame frame = frames_[port.arriving.head].frame;
    frames_.remove_front(port.arriving);
    if (port.arriving.count > 0) {
      push_candidate(input);
    } else {
      // Whatever the limit left behind at the port may be due before the next frame of another port.
      receive(input, now);
    }
    forward(input, frame, due);
    ++handled_;
  }
}

void VirtualSwitch::forward(uint16_t input, Frame frame, Time due) noexcept {
  Port& port = ports_[input];
  if (options_.loss_ppm > 0 && random_.chance(options_.loss_ppm)) {
    ++port.counters.random_losses;
    return port.port->release({&frame, 1});
  }
  const bool runt = frame.head_length < kEthernetHeader;
  const uint64_t destination = runt ? 0 : mac_at(frame.head);
  if (!runt) {
    const uint64_t source = mac_at(frame.head + 6);
    if (!is_group(source)) stations_.learn(source, input);
  }
  std::optional<uint16_t> output = is_group(destination) ? std::nullopt : stations_.port_of(destination);
  if (runt || is_reserved(destination) || output == input) {
    ++port.counters.filtered;
    return port.port->release({&frame, 1});
  }
  if (output) return enqueue(ports_[*output], frame, due);
  flood(input, frame, due);
}

/// Copies for all other ports but the last, which gets the frame itself.
void VirtualSwitch::flood(uint16_t input, const Frame& frame, Time due) noexcept {
  SwitchPortCounters& counters = ports_[input].counters;
  if (ports_.size() == 1) {
    ++counters.filtered;
    return ports_[input].port->release({&frame, 1});
  }
  ++counters.flooded;
  const size_t last = input == ports_.size() - 1 ? ports_.size() - 2 : ports_.size() - 1;
  for (size_t output = 0; output < last; ++output) {
    if (output == input) continue;
    FramePort& port = *ports_[output].port;
    Frame copy;
    if (port.capabilities().frame_capacity < frame.head_length || port.allocate({&copy, 1}) == 0) {
      ++counters.copy_failures;
      continue;
    }
    std::memcpy(copy.head, frame.head, frame.head_length);
    copy.head_length = frame.head_length;
    copy.payload = frame.payload;
    copy.payload_length = frame.payload_length;
    copy.tail_length = frame.tail_length;
    std::memcpy(copy.tail, frame.tail, sizeof copy.tail);
    ++counters.flood_copies;
    enqueue(ports_[output], copy, due);
  }
  enqueue(ports_[last], frame, due);
}

void VirtualSwitch::enqueue(Port& output, Frame frame, Time due) noexcept {
  begin_departures(output, due);
  const Bytes length(frame.length());
  if (output.queue + length > options_.buffer || output.leaving.count == output.output_limit) {
    ++output.counters.tail_drops;
    return output.port->release({&frame, 1});
  }
  if (options_.ecn_threshold && output.queue > *options_.ecn_threshold) output.counters.marks += mark_congestion(frame);

  const Time departure = std::max(due, output.output_free);
  output.output_free = departure + output.line_times.of(frame.length());
  frame.arrival = output.output_free + options_.link_latency;
  const uint32_t place = frames_.append(output.leaving, frame, departure);
  if (output.waiting == FrameList::kNone) output.waiting = place;
  output.queue += length;
  output.counters.peak_queue = std::max(output.counters.peak_queue, output.queue);
}

/// Frees the queue of what began to leave at `now` or before.
void VirtualSwitch::begin_departures(Port& output, Time now) noexcept {
  while (output.waiting != FrameList::kNone && frames_[output.waiting].due <= now) {
    output.queue -= Bytes(frames_[output.waiting].frame.length());
    output.waiting = frames_[output.waiting].next;
  }
}

void VirtualSwitch::deliver(Port& output, Time now) noexcept {
  begin_departures(output, now);
  std::array<Frame, kBurst> burst;
  size_t n = 0, taken = 0;
  do {
    n = 0;
    for (uint32_t place = output.leaving.head; n < kBurst && n < output.leaving.count; place = frames_[place].next) {
      if (frames_[place].frame.arrival > now) break;
      burst[n++] = frames_[place].frame;
    }
    if (n == 0) break;
    taken = output.port->transmit(now, std::span(burst).first(n));
    for (size_t i = 0; i < taken; ++i) {
      output.counters.tx_bytes += burst[i].length();
      frames_.remove_front(output.leaving);
    }
    output.counters.tx_frames += taken;
    handled_ += taken;
  } while (taken == kBurst);
}

std::vector<SwitchPortCounters> VirtualSwitch::counters() const {
  std::vector<SwitchPortCounters> counters;
  counters.reserve(ports_.size());
  for (const Port& port : ports_) counters.push_back(port.counters);
  return counters;
}

size_t VirtualSwitch::held() const noexcept {
  size_t held = 0;
  for (const Port& port : ports_) held += port.arriving.count + port.leaving.count;
  return held;
}

void VirtualSwitch::push_candidate(uint16_t port) noexcept {
  candidates_.push_back({frames_[ports_[port].arriving.head].due, port});
  std::push_heap(candidates_.begin(), candidates_.end(), later);
}

VirtualSwitch::Candidate VirtualSwitch::pop_candidate() noexcept {
  std::pop_heap(candidates_.begin(), candidates_.end(), later);
  const Candidate earliest = candidates_.back();
  candidates_.pop_back();
  return earliest;
}

}  // namespace rankwire
