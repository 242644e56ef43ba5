#include "base/address.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

TEST(IpAddress, NamesIpv4AsAMappedAddress) {
  const IpAddress ip = Ipv4Address{0xC6120001};
  const IpAddress mapped({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 198, 18, 0, 1});
  EXPECT_EQ(ip, mapped);
  EXPECT_TRUE(ip.is_ipv4());
  EXPECT_EQ(ip.ipv4(), Ipv4Address{0xC6120001});
  EXPECT_EQ(to_string(ip), "198.18.0.1");
}

TEST(IpAddress, ReadsAndPrintsBothFamilies) {
  for (const char* text : {"198.18.0.1", "0.0.0.0", "2001:db8::1", "fe80::5054:ff:fe05:1"}) {
    const std::optional<IpAddress> ip = parse_ip(text);
    ASSERT_TRUE(ip) << text;
    EXPECT_EQ(to_string(*ip), text);
  }
  // RFC 4291 section 2.2, forms 1 and 2.
  EXPECT_EQ(parse_ip("2001:DB8:0:0:8:800:200C:417A"), parse_ip("2001:db8::8:800:200c:417a"));
  EXPECT_EQ(parse_ip("::ffff:10.0.0.1"), parse_ip("10.0.0.1"));
  for (const char* text : {"", "198.18.0", "198.18.0.256", "2001:db8::1::2", "198.18.0.1/15", "host"})
    EXPECT_FALSE(parse_ip(text)) << text;
}

TEST(IpAddress, NoneIsNoIpv4Address) {
  EXPECT_TRUE(IpAddress().is_none());
  EXPECT_FALSE(IpAddress().is_ipv4());
  EXPECT_EQ(to_string(IpAddress()), "none");
}

TEST(IpAddress, SubnetsAgreeInTheirPrefix) {
  const IpAddress a = *parse_ip("198.18.0.1"), b = *parse_ip("198.19.255.254"), c = *parse_ip("198.20.0.1");
  EXPECT_TRUE(in_same_subnet(a, b, 15));  // 198.18.0.0 .. 198.19.255.255
  EXPECT_FALSE(in_same_subnet(a, c, 15));
  EXPECT_FALSE(in_same_subnet(a, b, 16));
  EXPECT_TRUE(in_same_subnet(a, a, 32));
  EXPECT_TRUE(in_same_subnet(a, c, 0));
  const IpAddress v6 = *parse_ip("2001:db8::1"), near = *parse_ip("2001:db8::ff"), far = *parse_ip("2001:db8:1::1");
  EXPECT_TRUE(in_same_subnet(v6, near, 120));
  EXPECT_FALSE(in_same_subnet(v6, near, 121));  // the first bit of the last byte differs
  EXPECT_FALSE(in_same_subnet(v6, far, 64));
  EXPECT_TRUE(in_same_subnet(v6, far, 47));  // bit 48 is the first to differ
  EXPECT_FALSE(in_same_subnet(a, v6, 0));
}

}  // namespace
}  // namespace rankwire
