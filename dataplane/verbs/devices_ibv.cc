// RDMA devices as libibverbs sees them.
#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "dataplane/verbs/device.h"
#include "dataplane/verbs/sysfs.h"

namespace rankwire {
namespace {

struct DeviceList {
  DeviceList() : devices(ibv_get_device_list(&count)) {}
  DeviceList(const DeviceList&) = delete;
  ~DeviceList() {
    if (devices != nullptr) ibv_free_device_list(devices);
  }
  ibv_device* find(const std::string& name) const {
    for (int i = 0; i < count; ++i)
      if (name == ibv_get_device_name(devices[i])) return devices[i];
    return nullptr;
  }
  int count = 0;
  ibv_device** devices;
};

using Context = std::unique_ptr<ibv_context, decltype(&ibv_close_device)>;

std::string why_not_opened(const ibv_device* device, int error) {
  const std::string node = fmt::format("/dev/infiniband/{}", device->dev_name);
  if (error == EACCES || error == EPERM)
    return fmt::format("no permission to open {}; run as root, or give your group access to it by a udev rule", node);
  if (error == ENOENT || error == ENODEV || error == ENXIO)
    return fmt::format("{} does not exist; load the kernel module ib_uverbs", node);
  return fmt::format("it cannot be opened ({}): {}", node, std::strerror(error));
}

VerbsLimits limits_of(const ibv_device_attr& attributes) {
  const auto count = [](int n) { return static_cast<uint32_t>(std::max(n, 0)); };
  return {.queue_pairs = count(attributes.max_qp),
          .work_requests = count(attributes.max_qp_wr),
          .completion_queues = count(attributes.max_cq),
          .completions = count(attributes.max_cqe),
          .regions = count(attributes.max_mr),
          .region_bytes = attributes.max_mr_size,
          .shared_receive_queues = count(attributes.max_srq),
          .shared_receives = count(attributes.max_srq_wr),
          .initiated_reads = count(attributes.max_qp_init_rd_atom),
          .answered_reads = count(attributes.max_qp_rd_atom)};
}

// Whether memory can be registered at all: the limit on locked memory stands in the way of most users first.
std::string memory_obstacle(ibv_context* context) {
  constexpr size_t kProbe = 1 << 20;
  constexpr int kWrites = IBV_ACCESS_LOCAL_WRITE;
  const std::unique_ptr<ibv_pd, decltype(&ibv_dealloc_pd)> domain(ibv_alloc_pd(context), ibv_dealloc_pd);
  if (!domain) return fmt::format("no protection domain: {}", std::strerror(errno));
  const auto memory = std::make_unique<uint8_t[]>(kProbe);
  ibv_mr* region = ibv_reg_mr(domain.get(), memory.get(), kProbe, kWrites);
  const int error = errno;
  if (region != nullptr) {
    ibv_dereg_mr(region);
    return {};
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return fmt::format(
      "1 MiB of memory cannot be registered ({}); the limit on locked memory is {} bytes: raise it with "
      "'ulimit -l unlimited' or in /etc/security/limits.conf",
      std::strerror(error), limit.rlim_cur);
}

std::string port_obstacle(const VerbsPortInfo& port) {
  const std::string interface = port.netdev.empty() ? "its interface" : port.netdev;
  if (port.link_layer != "Ethernet") return fmt::format("its link layer is {}; RoCEv2 needs Ethernet", port.link_layer);
  if (port.state != "active")
    return fmt::format("it is {}; set {} up and see that there is a link", port.state, interface);
  if (std::ranges::find(port.gids, GidType::kRoceV2, &VerbsGid::type) == port.gids.end())
    return fmt::format("it has no RoCEv2 GID; give {} an IP address", interface);
  return {};
}

void query_port(ibv_context* context, VerbsPortInfo& port) {
  ibv_port_attr attributes{};
  if (ibv_query_port(context, static_cast<uint8_t>(port.number), &attributes) != 0) {
    port.obstacle = fmt::format("it cannot be queried: {}", std::strerror(errno));
    return;
  }
  port.active_mtu = 128u << attributes.active_mtu;  // IBV_MTU_256 is 1
  port.max_message = attributes.max_msg_sz;
  port.obstacle = port_obstacle(port);
}

void query_device(VerbsDeviceInfo& info, const DeviceList& list) {
  ibv_device* device = list.find(info.name);
  if (device == nullptr) {
    info.obstacle = fmt::format(
        "libibverbs has no provider for it{}; install ibverbs-providers, and load the kernel module ib_uverbs",
        info.driver.empty() ? "" : " (driver " + info.driver + ")");
    return;
  }
  errno = 0;
  const Context context(ibv_open_device(device), ibv_close_device);
  if (!context) {
    info.obstacle = why_not_opened(device, errno);
    return;
  }
  ibv_device_attr attributes{};
  if (ibv_query_device(context.get(), &attributes) != 0) {
    info.obstacle = fmt::format("it cannot be queried: {}", std::strerror(errno));
    return;
  }
  info.limits = limits_of(attributes);
  if (info.firmware.empty()) info.firmware = attributes.fw_ver;
  for (VerbsPortInfo& port : info.ports) query_port(context.get(), port);
  info.obstacle = memory_obstacle(context.get());
}

}  // namespace

std::vector<VerbsDeviceInfo> verbs_devices() {
  const VerbsSysfs sysfs;
  const DeviceList list;
  std::vector<VerbsDeviceInfo> devices;
  for (const std::string& name : sysfs.devices()) query_device(devices.emplace_back(sysfs.device(name)), list);
  return devices;
}

std::string verbs_absence() {
  return "the kernel knows of no RDMA device (/sys/class/infiniband is empty); load the driver of the NIC, such as "
         "mlx5_ib, or make a soft-RoCE device with 'rdma link add rxe0 type rxe netdev INTERFACE'";
}

}  // namespace rankwire
