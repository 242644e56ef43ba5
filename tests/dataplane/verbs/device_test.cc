// RDMA devices as sysfs shows them, and how one is chosen.
#include "dataplane/verbs/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "dataplane/verbs/sysfs.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// A tree like that of a kernel with an mlx5 NIC (paths of Linux 6.1, Documentation/ABI/stable/sysfs-class-infiniband).
class SysfsTest : public ::testing::Test {
 protected:
  SysfsTest() : root_(fs::path(::testing::TempDir()) / ("verbs_sysfs_" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    const std::string pci = "sys/devices/pci0000:c0/0000:c1:00.0";
    file(pci + "/infiniband/mlx5_0/fw_ver", "28.39.1002");
    fs::create_directories(root_ / "sys/bus/pci/drivers/mlx5_core");
    fs::create_directory_symlink(root_ / "sys/bus/pci/drivers/mlx5_core", root_ / pci / "driver");
    fs::create_directory_symlink(root_ / pci, root_ / pci / "infiniband/mlx5_0/device");
    fs::create_directories(root_ / "sys/class/infiniband");
    fs::create_directory_symlink(root_ / pci / "infiniband/mlx5_0", root_ / "sys/class/infiniband/mlx5_0");
    const std::string port = pci + "/infiniband/mlx5_0/ports/1";
    file(port + "/state", "4: ACTIVE");
    file(port + "/link_layer", "Ethernet");
    file(port + "/rate", "100 Gb/sec (2X HDR)");
    gid(port, 0, "fe80:0000:0000:0000:0ac0:ebff:fe11:2233", "IB/RoCE v1", "eth2");
    gid(port, 1, "fe80:0000:0000:0000:0ac0:ebff:fe11:2233", "RoCE v2", "eth2");
    gid(port, 3, "0000:0000:0000:0000:0000:ffff:c612:0001", "RoCE v2", "eth2");
    gid(port, 5, "2001:0db8:0000:0000:0000:0000:0000:0007", "RoCE v2", "eth2.100");
    file(port + "/gids/6", "0000:0000:0000:0000:0000:0000:0000:0000");  // not in use, so without a type
    file(port + "/counters/port_xmit_data", "1000");
    file(port + "/counters/port_rcv_data", "18446744073709551615");
    file(port + "/hw_counters/out_of_sequence", "7");
    file(port + "/hw_counters/lifespan", "10");
    file("sys/class/net/eth2/address", "08:c0:eb:11:22:33");
    file("sys/class/net/eth2.100/address", "08:c0:eb:11:22:33");
    file("proc/net/vlan/eth2.100", "eth2.100  VID: 100\t REORDER_HDR: 1  dev->priv_flags: 1021");
  }
  ~SysfsTest() override { fs::remove_all(root_); }

  void file(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void gid(const std::string& port, int index, const std::string& gid, const std::string& type,
           const std::string& netdev) {
    file(port + "/gids/" + std::to_string(index), gid);
    file(port + "/gid_attrs/types/" + std::to_string(index), type);
    file(port + "/gid_attrs/ndevs/" + std::to_string(index), netdev);
  }

  fs::path root_;
};

TEST_F(SysfsTest, ShowsTheDevice) {
  const VerbsSysfs sysfs(root_);
  EXPECT_THAT(sysfs.devices(), ElementsAre("mlx5_0"));
  const VerbsDeviceInfo device = sysfs.device("mlx5_0");
  EXPECT_EQ(device.pci_address, "0000:c1:00.0");
  EXPECT_EQ(device.driver, "mlx5_core");
  EXPECT_EQ(device.firmware, "28.39.1002");
  ASSERT_EQ(device.ports.size(), 1u);
  const VerbsPortInfo& port = device.ports[0];
  EXPECT_EQ(port.state, "active");
  EXPECT_EQ(port.link_layer, "Ethernet");
  EXPECT_EQ(port.netdev, "eth2");
  EXPECT_EQ(port.speed, Bandwidth(100'000'000'000));
  ASSERT_EQ(port.gids.size(), 4u);
  EXPECT_EQ(port.gids[0].type, GidType::kRoceV1);
  EXPECT_EQ(port.gids[2].index, 3u);
  EXPECT_EQ(port.gids[2].ip, IpAddress(Ipv4Address{0xC6120001}));
  EXPECT_EQ(to_string(port.gids[2].mac), "08:c0:eb:11:22:33");
  EXPECT_FALSE(port.gids[2].vlan);
  EXPECT_EQ(port.gids[3].ip, *parse_ip("2001:db8::7"));
  EXPECT_EQ(port.gids[3].vlan, 100);
}

TEST_F(SysfsTest, ShowsTheCountersAndNotHowLongTheyAreCached) {
  const std::string interface = VerbsSysfs(root_).netdev("mlx5_0", 1);
  ASSERT_FALSE(interface.empty());
  file("sys/class/net/" + interface + "/statistics/tx_packets", "12");
  std::vector<std::string> texts;
  for (const VerbsCounter& counter : VerbsSysfs(root_).counters("mlx5_0", 1))
    texts.push_back(counter.name + " " + std::to_string(counter.value));
  EXPECT_THAT(texts, ElementsAre("counters.port_rcv_data 18446744073709551615", "counters.port_xmit_data 1000",
                                 "hw_counters.out_of_sequence 7", "netdev.tx_packets 12"));
}

TEST_F(SysfsTest, KnowsSoftRoceByItsInterface) {
  file("sys/class/infiniband/rxe0/parent", "veth0");
  file("sys/class/infiniband/rxe0/ports/1/state", "1: DOWN");
  const VerbsDeviceInfo device = VerbsSysfs(root_).device("rxe0");
  EXPECT_EQ(device.driver, "rdma_rxe");
  EXPECT_EQ(device.pci_address, "");
  ASSERT_EQ(device.ports.size(), 1u);
  EXPECT_EQ(device.ports[0].netdev, "veth0");
  EXPECT_EQ(device.ports[0].state, "down");
}

TEST_F(SysfsTest, IsEmptyWhereThereIsNothing) {
  const VerbsSysfs sysfs(root_ / "nowhere");
  EXPECT_TRUE(sysfs.devices().empty());
  EXPECT_TRUE(sysfs.device("mlx5_0").ports.empty());
  EXPECT_TRUE(sysfs.counters("mlx5_0", 1).empty());
  EXPECT_TRUE(interface_statistics("no_such_interface").empty());
}

/// The choice among the devices of the tree, and what goes wrong with it.
class FindTest : public SysfsTest {
 protected:
  FindTest() : devices_{VerbsSysfs(root_).device("mlx5_0")} {}
  uint32_t gid_of(const VerbsSelection& selection) { return find_verbs_device(selection, devices_).gid.index; }
  std::string error_of(const VerbsSelection& selection) {
    try {
      gid_of(selection);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "no error";
  }

  std::vector<VerbsDeviceInfo> devices_;
};

TEST_F(FindTest, TakesTheNameTheAddressOrTheInterface) {
  for (const char* device : {"mlx5_0", "0000:c1:00.0", "netdev eth2", "netdev eth2.100"}) {
    const VerbsPlace place = find_verbs_device({.device = device}, devices_);
    EXPECT_EQ(place.device.name, "mlx5_0");
    EXPECT_EQ(place.port.number, 1u);
  }
}

TEST_F(FindTest, ChoosesTheGidByItsFamily) {
  EXPECT_EQ(gid_of({.device = "mlx5_0"}), 3u);
  EXPECT_EQ(gid_of({.device = "mlx5_0", .family = GidFamily::kIpv4}), 3u);
  EXPECT_EQ(gid_of({.device = "mlx5_0", .family = GidFamily::kIpv6}), 5u);  // not link-local
  EXPECT_EQ(gid_of({.device = "mlx5_0", .gid = 1}), 1u);
}

TEST_F(FindTest, SaysWhatThereIsInstead) {
  EXPECT_THAT(error_of({.device = "mlx5_1"}),
              AllOf(HasSubstr("no RDMA device 'mlx5_1'"), HasSubstr("mlx5_0 0000:c1:00.0 (port 1: netdev eth2)")));
  EXPECT_THAT(error_of({.device = "mlx5_0", .port = 2}), HasSubstr("has no port 2; it has 1"));
  EXPECT_THAT(error_of({.device = "mlx5_0", .gid = 0}),
              AllOf(HasSubstr("no RoCEv2 GID 0"), HasSubstr("3 198.18.0.1"), HasSubstr("(not RoCEv2)")));
  devices_[0].ports[0].gids.resize(2);
  EXPECT_THAT(error_of({.device = "mlx5_0"}), AllOf(HasSubstr("not link-local"), HasSubstr("give eth2 an address")));
  devices_[0].ports[0].obstacle = "it is down";
  EXPECT_THAT(error_of({.device = "mlx5_0"}), HasSubstr("mlx5_0 port 1 cannot be used: it is down"));
  devices_[0].obstacle = "no permission";
  EXPECT_THAT(error_of({.device = "mlx5_0"}), HasSubstr("mlx5_0 cannot be used: no permission"));
  devices_.clear();
  EXPECT_THAT(error_of({.device = "mlx5_0"}), HasSubstr(verbs_absence()));
}

// A queue pair names its GID in 8 bits.
TEST_F(FindTest, TakesNoGidThatAQueuePairCannotName) {
  std::vector<VerbsGid>& gids = devices_[0].ports[0].gids;
  gids[2].index = 256;  // the IPv4 address
  gids[3].index = 255;
  EXPECT_EQ(gid_of({.device = "mlx5_0"}), 255u);
  EXPECT_EQ(gid_of({.device = "mlx5_0", .gid = 255}), 255u);
  EXPECT_THAT(error_of({.device = "mlx5_0", .gid = 256}), HasSubstr("cannot use GID 256; it must be 0 to 255"));
  EXPECT_THAT(error_of({.device = "mlx5_0", .family = GidFamily::kIpv4}),
              AllOf(HasSubstr("no RoCEv2 GID with an IPv4 address"), HasSubstr("among the first 256")));
}

TEST_F(FindTest, TellsTheSettings) {
  const VerbsPlace place = find_verbs_device({.device = "mlx5_0", .family = GidFamily::kIpv6}, devices_);
  std::string text;
  for (const VerbsSetting& setting : verbs_settings(place)) text += setting.name + "=" + setting.value + " ";
  for (const char* part : {"driver=mlx5_core ", "firmware=28.39.1002 ", "gid=5 2001:db8::7 ", "vlan=100 "})
    EXPECT_THAT(text, HasSubstr(part));
}

}  // namespace
}  // namespace rankwire
