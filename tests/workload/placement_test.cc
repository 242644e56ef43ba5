#include "emulator/workload/placement.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace rankwire {
namespace {

PlacementOptions four_ports(const char* first, uint32_t prefix_length) {
  PlacementOptions options{.hosts = 4, .ports = 4};
  options.addresses = {.first = *parse_ip(first), .prefix_length = prefix_length};
  return options;
}

TEST(Placement, NumbersIpv6AddressesAcrossBytes) {
  PlacementOptions options = four_ports("2001:db8::fe", 64);
  options.addresses.vlan = 100;
  const Placement placement = place_ranks(4, options);
  EXPECT_EQ(to_string(placement.nics[0].ip), "2001:db8::fe");
  EXPECT_EQ(to_string(placement.nics[2].ip), "2001:db8::100");
  EXPECT_EQ(placement.nics[2].prefix_length, 64);
  EXPECT_EQ(placement.nics[2].vlan, 100);
}

TEST(Placement, APortMayHaveASubnetOfItsOwn) {
  PlacementOptions options = four_ports("198.18.0.1", 15);
  options.hosts = 8;
  options.port_addresses = {
      std::nullopt,
      AddressPool{.first = *parse_ip("10.0.1.2"), .prefix_length = 24, .vlan = 7, .gateway = *parse_ip("10.0.1.1")}};
  const Placement placement = place_ranks(8, options);
  // NICs 1 and 5 stand behind port 1; the others share the common pool.
  const char* const expected[] = {"198.18.0.1", "10.0.1.2", "198.18.0.2", "198.18.0.3",
                                  "198.18.0.4", "10.0.1.3", "198.18.0.5", "198.18.0.6"};
  for (size_t i = 0; i < placement.nics.size(); ++i) EXPECT_EQ(to_string(placement.nics[i].ip), expected[i]) << i;
  EXPECT_EQ(to_string(placement.nics[5].gateway), "10.0.1.1");
  EXPECT_EQ(placement.nics[5].vlan, 7);
  EXPECT_TRUE(placement.nics[0].gateway.is_none());
}

TEST(Placement, APoolEndsInFrontOfItsBroadcastAddress) {
  EXPECT_NO_THROW(place_ranks(4, four_ports("10.0.0.3", 29)));  // .3 .. .6; .7 is the broadcast address
  EXPECT_THROW(place_ranks(4, four_ports("10.0.0.4", 29)), Error);
  EXPECT_THROW(place_ranks(4, four_ports("10.0.0.0", 31)), Error);  // two addresses (RFC 3021)
  EXPECT_NO_THROW(place_ranks(4, four_ports("2001:db8::fc", 120)));
  EXPECT_THROW(place_ranks(4, four_ports("2001:db8::fd", 120)), Error);
}

}  // namespace
}  // namespace rankwire
