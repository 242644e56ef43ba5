#include "dataplane/switch/admission.h"

#include "dataplane/switch/frames.h"

namespace rankwire {

bool FabricAdmission::passes_red(uint32_t output, uint32_t handle) noexcept {
  FabricSwitch& device = tables_.switch_of(output);
  FabricPacket& packet = tables_.packets[handle];
  const PrioritySet bit = priority_bit(packet.priority);
  const RedOptions& red = *device.options.red;
  const Bytes queued = tables_.egress(output, packet.priority).queued;
  if (queued <= red.minimum || (red.priorities & bit) == 0) return true;
  if (queued <= red.maximum) {
    const auto most = static_cast<unsigned __int128>(red.most_ppm) * (queued - red.minimum).count;
    const auto width = static_cast<unsigned __int128>((red.maximum - red.minimum).count) * 1'000'000;
    if (device.random.below(static_cast<uint64_t>(width)) >= static_cast<uint64_t>(most)) return true;
  }
  if (packet.ecn_capable) {
    if (mark_congestion(tables_.packets.frame(handle))) {
      ++tables_.counters_of(output).marks;
      if (series_ != nullptr) series_->mark(FabricTables::queue_number(output, packet.priority));
    }
    packet.ecn_capable = false;
    return true;
  }
  return red.not_capable == NotCapable::kPass || red.at == MarkAt::kDequeue || (device.lossless & bit) != 0;
}

}  // namespace rankwire
