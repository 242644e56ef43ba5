#include "dataplane/wire/header_template.h"

#include <cstring>

#include "dataplane/wire/icrc.h"

namespace rankwire {
namespace {

uint8_t traffic_class(const Marking& marking) {
  return static_cast<uint8_t>(marking.dscp << 2 | static_cast<uint8_t>(marking.ecn));
}

Ipv4Header ipv4_header(const PacketPath& path, const Marking& marking) {
  Ipv4Header ip;
  ip.type_of_service = traffic_class(marking);
  ip.flags_and_offset = Be16(Ipv4Header::kDontFragment);
  ip.time_to_live = path.time_to_live;
  ip.source = Be32(path.source_ip.ipv4().value);
  ip.destination = Be32(path.destination_ip.ipv4().value);
  ip.checksum = ipv4_checksum(ip);
  return ip;
}

Ipv6Header ipv6_header(const PacketPath& path, const Marking& marking) {
  Ipv6Header ip;
  ip.version_class_flow = Ipv6Header::word(traffic_class(marking), path.flow_label);
  ip.hop_limit = path.time_to_live;
  ip.source = path.source_ip;
  ip.destination = path.destination_ip;
  return ip;
}

TransportHeader transport_header(const PacketPath& path) {
  TransportHeader header;
  header.udp.source_port = Be16(path.source_port);
  header.udp.destination_port = Be16(kRoceUdpPort);
  header.bth.flags = path.migration == Migration::kMigrated ? Bth::kMigrated : 0;
  header.bth.partition_key = Be16(kDefaultPartitionKey);
  header.bth.destination_qp = Be24(path.destination_qp);
  return header;
}

HeaderTemplate::KindBytes kind_bytes(const PacketPath& path, const Marking& marking) {
  HeaderTemplate::KindBytes bytes;
  bytes.traffic_class = traffic_class(marking);
  if (path.source_ip.is_ipv4()) bytes.checksum = ipv4_header(path, marking).checksum;
  if (path.vlan)
    bytes.tag_control = Be16(static_cast<uint16_t>(marking.priority << VlanTag::kPriorityShift | *path.vlan));
  return bytes;
}

// Writes from the end of the template towards its beginning.
class BackwardWriter {
 public:
  explicit BackwardWriter(HeaderTemplate& path) : path_(path) { path.header_length = 0; }

  template <class Header>
  void put(const Header& header) {
    path_.header_length = static_cast<uint8_t>(path_.header_length + sizeof header);
    std::memcpy(path_.header(), &header, sizeof header);
  }

 private:
  HeaderTemplate& path_;
};

}  // namespace

HeaderTemplate make_template(const PacketPath& path) {
  HeaderTemplate result;
  const bool ipv4 = path.source_ip.is_ipv4();
  result.ip_version = ipv4 ? IpVersion::kIpv4 : IpVersion::kIpv6;
  result.vlan = path.vlan.value_or(0);
  result.kinds = {kind_bytes(path, path.markings.data), kind_bytes(path, path.markings.ack),
                  kind_bytes(path, path.markings.nak), kind_bytes(path, path.markings.cnp)};

  BackwardWriter headers(result);
  headers.put(transport_header(path));
  if (ipv4) {
    headers.put(ipv4_header(path, path.markings.data));
  } else {
    headers.put(ipv6_header(path, path.markings.data));
  }
  Be16 ether_type(ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6);
  if (path.vlan) {
    headers.put(VlanTag{result.kinds[static_cast<size_t>(PacketKind::kData)].tag_control, ether_type});
    ether_type = Be16(kEtherTypeVlan);
  }
  headers.put(EthernetHeader{path.destination_mac, path.source_mac, ether_type});
  result.icrc.behind_bth = icrc_register(result.ip());
  return result;
}

}  // namespace rankwire
