#include "dataplane/switch/frames.h"

#include "dataplane/wire/headers.h"
#include "dataplane/wire/load_word.h"
#include "fabric/ecmp_hash.h"

namespace rankwire {
namespace {

uint64_t mac_at(const uint8_t* bytes) {
  return byte_swapped(load_word<uint64_t>(bytes)) >> 16;
}

uint32_t word_at(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 8 | bytes[1];
}

uint64_t long_at(const uint8_t* bytes) {
  return byte_swapped(load_word<uint64_t>(bytes));
}

/// Where the network header begins, and what it is.
struct NetworkHeader {
  uint32_t offset = sizeof(EthernetHeader);
  uint32_t type = 0;
};

NetworkHeader network_header(const Frame& frame) {
  NetworkHeader header;
  header.type = word_at(frame.head + 12);
  if (header.type == kEtherTypeVlan && frame.head_length >= header.offset + sizeof(VlanTag)) {
    header.type = word_at(frame.head + 16);
    header.offset += sizeof(VlanTag);
  }
  return header;
}

bool has(const Frame& frame, const NetworkHeader& header, uint32_t type, size_t bytes) {
  return header.type == type && frame.head_length >= header.offset + bytes;
}

void read_transport(const Frame& frame, uint32_t offset, const LoadBalancingOptions& balancing, FlowKey& key) {
  const uint8_t* const udp = frame.head + offset;
  if (frame.head_length < offset + 4) return;
  key.source_port = static_cast<uint16_t>(word_at(udp));
  key.destination_port = static_cast<uint16_t>(word_at(udp + 2));
  const bool roce = key.protocol == kIpProtocolUdp && key.destination_port == kRoceUdpPort;
  if (!balancing.hash_queue_pair || !roce || frame.head_length < offset + sizeof(TransportHeader)) return;
  key.destination_qp = reinterpret_cast<const TransportHeader*>(udp)->bth.destination_qp.value();
}

/// ECN and DSCP as they stand in IPv4's second byte and IPv6's traffic class.
void read_class(uint8_t traffic_class, FrameHeaders& headers) {
  const uint8_t ecn = traffic_class & 3;
  headers.ip = true;
  headers.dscp = traffic_class >> 2;
  headers.ecn_capable = ecn == 1 || ecn == 2;
}

}  // namespace

FrameHeaders read_headers(const Frame& frame, const LoadBalancingOptions& balancing) noexcept {
  FrameHeaders headers;
  headers.destination = mac_at(frame.head);
  headers.source = mac_at(frame.head + 6);
  const NetworkHeader network = network_header(frame);
  if (network.offset != sizeof(EthernetHeader)) headers.pcp = frame.head[14] >> 5;
  const uint8_t* const ip = frame.head + network.offset;
  FlowKey key;
  if (has(frame, network, kEtherTypeIpv4, sizeof(Ipv4Header))) {
    read_class(ip[1], headers);
    key.source[1] = long_at(ip + 12) >> 32;
    key.destination[1] = long_at(ip + 12) & 0xFFFF'FFFF;
    key.protocol = ip[9];
    // Later fragments have no ports, and all fragments of a packet go one way. Nor is anything a port that stands where
    // the fixed header does.
    const uint32_t header = (ip[0] & 0x0Fu) * 4;
    if ((word_at(ip + 6) & Ipv4Header::kFragmentBits) == 0 && header >= sizeof(Ipv4Header))
      read_transport(frame, network.offset + header, balancing, key);
  } else if (has(frame, network, kEtherTypeIpv6, sizeof(Ipv6Header))) {
    read_class(static_cast<uint8_t>(word_at(ip) >> 4), headers);
    key.source = {long_at(ip + 8), long_at(ip + 16)};
    key.destination = {long_at(ip + 24), long_at(ip + 32)};
    key.protocol = ip[6];
    read_transport(frame, network.offset + sizeof(Ipv6Header), balancing, key);
  } else {
    key.source[1] = headers.source;
    key.destination[1] = headers.destination;
  }
  headers.flow = flow_hash(key);
  return headers;
}

bool mark_congestion(const Frame& frame) noexcept {
  const NetworkHeader network = network_header(frame);
  uint8_t* const ip = frame.head + network.offset;
  if (has(frame, network, kEtherTypeIpv4, sizeof(Ipv4Header))) {
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
  if (has(frame, network, kEtherTypeIpv6, sizeof(Ipv6Header))) {
    const uint8_t ecn = ip[1] >> 4 & 3;
    if (ecn == 0 || ecn == 3) return false;
    ip[1] |= 0x30;
    return true;
  }
  return false;
}

}  // namespace rankwire
