#include "dataplane/roce/report_forecast.h"

#include "dataplane/roce/fetch.h"
#include "dataplane/wire/pause.h"

namespace rankwire {

bool ReportForecast::may_report(const Frame& frame) const noexcept {
  if (frame.head_length < kMinBaseHeaderBytes) return true;
  const auto ether_type = reinterpret_cast<const EthernetHeader*>(frame.head)->ether_type;
  if (ether_type == Be16(kEtherTypeMacControl)) return false;
  const uint32_t bth_offset = bth_offset_of(frame.head);
  if (frame.head_length < bth_offset + sizeof(Bth)) return true;
  const Bth& bth = *reinterpret_cast<const Bth*>(frame.head + bth_offset);
  switch (bth.opcode) {
    case Opcode::kSendFirst:
    case Opcode::kSendMiddle:
    case Opcode::kWriteFirst:
    case Opcode::kWriteMiddle:
      return keeps_early_;
    case Opcode::kCongestionNotification:
      return false;
    case Opcode::kAcknowledge: {
      const uint32_t i = pairs_.index_of(bth.destination_qp.value());
      const auto syndrome = frame.head[bth_offset + sizeof(Bth)];
      return frame.head_length < bth_offset + sizeof(Bth) + sizeof(Aeth) || i >= pairs_.size() ||
             (syndrome & kSyndromeTypeMask) != kSyndromeTypeAck ||
             pairs_.requesters[i].may_end_message(outbound_.pool, bth.psn.value());
    }
    default:
      return true;
  }
}

Time ReportForecast::next_report_of(uint32_t lane) const noexcept {
  const FramePort& port = *lanes_.binding(lane).port;
  const Frame* frame = port.waiting(0);
  if (frame == nullptr) return port.next_event();
  for (size_t i = 0; frame != nullptr; frame = port.waiting(++i))
    if (may_report(*frame)) return frame->arrival;
  return Time::never();
}

}  // namespace rankwire
