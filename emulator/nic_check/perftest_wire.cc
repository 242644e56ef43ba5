#include "emulator/nic_check/perftest_wire.h"

#include "dataplane/impairments/packets.h"
#include "dataplane/ports/frame_view.h"

namespace rankwire {

// What finds no room in the log is none of the script's.
Passage PerftestWire::keep(Time at, bool from_nic, const Frame& frame) {
  const uint64_t left_out = log_.left_out();
  const size_t number = log_.add(at, from_nic, frame);
  const std::function<Passage(size_t)>& decide = from_nic ? script_.arrives : script_.leaves;
  if (!decide || log_.left_out() > left_out || log_.frames()[number].packet.reject != Reject::kNone)
    return Passage::kDelivered;
  return decide(number);
}

bool PerftestWire::is_lost(Time now, const Frame& frame) {
  if (!decided_) decided_ = keep(now, false, frame) == Passage::kLost;
  return *decided_;
}

size_t PerftestWire::transmit(Time now, std::span<const Frame> frames) noexcept {
  for (size_t i = 0; i < frames.size(); ++i) {
    if (is_lost(now, frames[i])) {
      inner_.release(frames.subspan(i, 1));
    } else if (inner_.transmit(now, frames.subspan(i, 1)) == 0) {
      return i;
    }
    decided_.reset();
  }
  return frames.size();
}

void PerftestWire::complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept {
  inner_.complete(buffers, runs);
  for (const FrameRun& run : runs) {
    for (const FrameBuffer buffer : buffers.first(run.count)) completed_[buffer] = run.shape;
    buffers = buffers.subspan(run.count);
  }
}

size_t PerftestWire::send(Time now, std::span<FrameBuffer> buffers) noexcept {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const FrameBuffer buffer = buffers[i];
    if (is_lost(now, frame_in(buffer, completed_[buffer], capabilities_))) {
      inner_.discard(buffers.subspan(i, 1));
    } else if (inner_.send(now, buffers.subspan(i, 1)) == 0) {
      return i;
    }
    completed_.erase(buffer);
    decided_.reset();
  }
  return buffers.size();
}

void PerftestWire::discard(std::span<const FrameBuffer> buffers) noexcept {
  for (const FrameBuffer buffer : buffers) completed_.erase(buffer);
  decided_.reset();
  inner_.discard(buffers);
}

size_t PerftestWire::receive(Time now, std::span<Frame> frames) noexcept {
  const size_t count = inner_.receive(now, frames);
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    Frame& frame = frames[i];
    const bool is_own = frame.head_length >= sizeof(EthernetHeader) &&
                        reinterpret_cast<const EthernetHeader*>(frame.head)->source == mac_;
    const Passage passage =
        is_own ? Passage::kLost : keep(capabilities_.hardware_time ? frame.arrival : now, true, frame);
    if (passage == Passage::kLost) {
      inner_.release({&frame, 1});
      continue;
    }
    if (passage == Passage::kMarked)
      change_packet(ImpairmentAction::kMarkCe, log_.frames().back().packet, random_, frame);
    frames[kept++] = frame;
  }
  return kept;
}

}  // namespace rankwire
