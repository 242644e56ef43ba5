#include "base/pci_address.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

TEST(PciAddress, IsTellableFromAVdev) {
  EXPECT_TRUE(is_pci_address("0000:3b:00.1"));
  EXPECT_TRUE(is_pci_address("3b:00.0"));
  EXPECT_FALSE(is_pci_address("net_null0"));
  EXPECT_FALSE(is_pci_address(""));
  EXPECT_FALSE(is_pci_address("3b:00.0.1"));
  EXPECT_FALSE(is_pci_address("3b:00.8"));  // PCI functions are 0 .. 7
}

TEST(PciAddress, HasADomain) {
  EXPECT_EQ(full_pci_address("3b:00.0"), "0000:3b:00.0");
  EXPECT_EQ(full_pci_address("0001:3b:00.0"), "0001:3b:00.0");
}

}  // namespace
}  // namespace rankwire
