#include "dataplane/switch/frames.h"

#include <numeric>

#include "dataplane/wire/headers.h"
#include "dataplane/wire/load_word.h"
#include "fabric/ecmp_hash.h"

namespace rankwire {
namespace {

uint64_t mac_at(const uint8_t* bytes) {
  return byte_swapped(load_word<uint64_t>(bytes)) >> 16;
}

uint16_t word_at(const uint8_t* bytes) {
  return byte_swapped(load_word<uint16_t>(bytes));
}

uint64_t long_at(const uint8_t* bytes) {
  return byte_swapped(load_word<uint64_t>(bytes));
}

bool has(const Frame& frame, const FrameHeaders& headers, uint32_t type, size_t bytes) {
  return headers.network_type == type && frame.head_length >= headers.network_offset + bytes;
}

void find_network_header(const Frame& frame, FrameHeaders& headers) {
  headers.network_offset = sizeof(EthernetHeader);
  headers.network_type = word_at(frame.head + 12);
  if (headers.network_type != kEtherTypeVlan || frame.head_length < sizeof(EthernetHeader) + sizeof(VlanTag)) return;
  headers.pcp = frame.head[14] >> 5;
  headers.network_type = word_at(frame.head + 16);
  headers.network_offset += sizeof(VlanTag);
}

void read_transport(const Frame& frame, uint32_t offset, uint8_t protocol, const LoadBalancingOptions& balancing,
                    FlowKey& key) {
  key.protocol = protocol;
  const uint8_t* const udp = frame.head + offset;
  if (frame.head_length < offset + 4) return;
  const uint16_t destination = word_at(udp + 2);
  key.source_port = word_at(udp);
  key.destination_port = destination;
  const bool roce = protocol == kIpProtocolUdp && destination == kRoceUdpPort;
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

uint64_t mac_number(const MacAddress& mac) noexcept {
  return std::accumulate(mac.bytes.begin(), mac.bytes.end(), uint64_t{0},
                         [](uint64_t number, uint8_t byte) { return number << 8 | byte; });
}

uint64_t destination_of(const uint8_t* head) noexcept {
  return mac_at(head);
}

FrameHeaders read_headers(const Frame& frame) noexcept {
  FrameHeaders headers;
  headers.destination = mac_at(frame.head);
  headers.source = mac_at(frame.head + 6);
  find_network_header(frame, headers);
  const uint8_t* const ip = frame.head + headers.network_offset;
  if (has(frame, headers, kEtherTypeIpv4, sizeof(Ipv4Header))) {
    read_class(ip[1], headers);
  } else if (has(frame, headers, kEtherTypeIpv6, sizeof(Ipv6Header))) {
    read_class(static_cast<uint8_t>(word_at(ip) >> 4), headers);
  }
  return headers;
}

uint32_t flow_of(const Frame& frame, const FrameHeaders& headers, const LoadBalancingOptions& balancing) noexcept {
  const uint8_t* const ip = frame.head + headers.network_offset;
  FlowKey key;
  if (!headers.ip) {
    key.source[1] = headers.source;
    key.destination[1] = headers.destination;
  } else if (headers.network_type == kEtherTypeIpv4) {
    key.source[1] = long_at(ip + 12) >> 32;
    key.destination[1] = long_at(ip + 12) & 0xFFFF'FFFF;
    key.protocol = ip[9];
    // Later fragments have no ports, and all fragments of a packet go one way. Nor is anything a port that stands where
    // the fixed header does.
    const uint32_t header = (ip[0] & 0x0Fu) * 4;
    if ((word_at(ip + 6) & Ipv4Header::kFragmentBits) == 0 && header >= sizeof(Ipv4Header))
      read_transport(frame, headers.network_offset + header, ip[9], balancing, key);
  } else {
    key.source = {long_at(ip + 8), long_at(ip + 16)};
    key.destination = {long_at(ip + 24), long_at(ip + 32)};
    read_transport(frame, headers.network_offset + sizeof(Ipv6Header), ip[6], balancing, key);
  }
  return flow_hash(key);
}

bool mark_congestion(const Frame& frame) noexcept {
  FrameHeaders headers;
  find_network_header(frame, headers);
  uint8_t* const ip = frame.head + headers.network_offset;
  if (has(frame, headers, kEtherTypeIpv4, sizeof(Ipv4Header))) {
    if ((ip[1] & 3) == 0 || (ip[1] & 3) == 3) return false;
    const uint32_t before = word_at(ip);
    ip[1] |= 3;
    // RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
    uint32_t sum = (~uint32_t{word_at(ip + 10)} & 0xFFFF) + (~before & 0xFFFF) + word_at(ip);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = ~(sum + (sum >> 16));
    ip[10] = static_cast<uint8_t>(sum >> 8);
    ip[11] = static_cast<uint8_t>(sum);
    return true;
  }
  if (has(frame, headers, kEtherTypeIpv6, sizeof(Ipv6Header))) {
    const uint8_t ecn = ip[1] >> 4 & 3;
    if (ecn == 0 || ecn == 3) return false;
    ip[1] |= 0x30;
    return true;
  }
  return false;
}

}  // namespace rankwire
