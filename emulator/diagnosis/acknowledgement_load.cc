#include "emulator/diagnosis/acknowledgement_load.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace rankwire {
namespace {

/// Between two frames on the line beyond their counted bytes: FCS, preamble and gap (IEEE 802.3, clause 4).
constexpr double kBetweenFrames = 24;
/// Ethernet, UDP, BTH, AETH and ICRC; and the IP header in front of them (InfiniBand Architecture, annex A17).
constexpr double kAcknowledgement = 14 + 8 + 12 + 4 + 4, kIpv4 = 20, kIpv6 = 40;

double part_of(Duration part, Duration whole) {
  return whole > Duration() ? static_cast<double>(part.ps) / static_cast<double>(whole.ps) : 0;
}

Duration scaled(Duration time, double factor) {
  return Duration(static_cast<int64_t>(static_cast<double>(time.ps) * factor));
}

}  // namespace

AcknowledgementLoad::AcknowledgementLoad(const RunReader& record, const RecordedRun& run)
    : nics_(record.rank_nics(run)), completion_(run.end.completion) {
  if (const RecordedRun* reference = record.reference();
      reference != nullptr && reference->start.model == kMedianOfFlow)
    return;
  std::map<PortId, uint64_t> packets;
  record.for_each_flow(run, [&](const RecordedFlow& row) {
    const Connection& connection = row.flow.connection;
    if (!row.flow.counters.causes || connection.source.value >= nics_.size()) return;
    const PortId port = nics_[connection.source.value].port;
    const Duration on_line = (*row.flow.counters.causes)[Cause::kTransmitting];
    packets[port] += row.flow.counters.packets;
    ports_[port].data += on_line;
    data_[connection.id] += on_line;
  });
  const bool is_ipv6 = !nics_.empty() && nics_.front().ip.find(':') != std::string::npos;
  const double size = kAcknowledgement + (is_ipv6 ? kIpv6 : kIpv4);
  std::map<PortId, bool> seen;  // those of a switch have the same numbers and come later
  for (const PortCounters& port : record.ports(run)) {
    const auto load = ports_.find(port.port);
    const uint64_t data = packets[port.port];
    if (load == ports_.end() || seen[port.port] || port.tx_frames <= data) continue;
    seen[port.port] = true;
    const auto others = static_cast<double>(port.tx_frames - data);
    const double of_data = static_cast<double>(port.tx_bytes) - others * size;
    if (of_data <= 0) continue;
    load->second.acknowledgements = scaled(
        load->second.data, others * (size + kBetweenFrames) / (of_data + static_cast<double>(data) * kBetweenFrames));
  }
}

Duration AcknowledgementLoad::of(const Connection& connection, Duration length, Duration waited) const {
  if (connection.source.value >= nics_.size()) return {};
  const auto port = ports_.find(nics_[connection.source.value].port);
  if (port == ports_.end()) return {};
  const Duration acknowledgements = port->second.acknowledgements;
  const auto own = data_.find(connection.id);
  const Duration others = port->second.data - (own != data_.end() ? own->second : Duration());
  const Duration behind = scaled(waited, part_of(acknowledgements, acknowledgements + others));
  return std::min(behind, scaled(acknowledgements, part_of(length, completion_)));
}

}  // namespace rankwire
