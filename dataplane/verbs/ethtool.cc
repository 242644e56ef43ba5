// The statistics of network interfaces, by the ioctl of ethtool (linux/ethtool.h).
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "dataplane/verbs/sysfs.h"

namespace rankwire {
namespace {

class EthtoolSocket {
 public:
  explicit EthtoolSocket(const std::string& netdev) : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    std::strncpy(request_.ifr_name, netdev.c_str(), sizeof request_.ifr_name - 1);
  }
  EthtoolSocket(const EthtoolSocket&) = delete;
  ~EthtoolSocket() {
    if (socket_ >= 0) ::close(socket_);
  }
  bool ask(void* command) {
    request_.ifr_data = static_cast<char*>(command);
    return socket_ >= 0 && ::ioctl(socket_, SIOCETHTOOL, &request_) == 0;
  }

 private:
  int socket_;
  ifreq request_{};
};

uint32_t count_statistics(EthtoolSocket& socket) {
  // The answer of one set is one word behind the header.
  alignas(ethtool_sset_info) std::array<char, sizeof(ethtool_sset_info) + sizeof(uint32_t)> memory{};
  auto* info = reinterpret_cast<ethtool_sset_info*>(memory.data());
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = uint64_t{1} << ETH_SS_STATS;
  if (!socket.ask(info) || info->sset_mask == 0) return 0;
  uint32_t count;
  std::memcpy(&count, memory.data() + sizeof(ethtool_sset_info), sizeof count);
  return count;
}

}  // namespace

std::vector<VerbsCounter> interface_statistics(const std::string& netdev) {
  EthtoolSocket socket(netdev);
  const uint32_t count = netdev.empty() ? 0 : count_statistics(socket);
  if (count == 0) return {};
  std::vector<uint64_t> names_memory((sizeof(ethtool_gstrings) + size_t{count} * ETH_GSTRING_LEN + 7) / 8);
  auto* names = reinterpret_cast<ethtool_gstrings*>(names_memory.data());
  names->cmd = ETHTOOL_GSTRINGS;
  names->string_set = ETH_SS_STATS;
  names->len = count;
  std::vector<uint64_t> values_memory((sizeof(ethtool_stats) + size_t{count} * sizeof(uint64_t) + 7) / 8);
  auto* values = reinterpret_cast<ethtool_stats*>(values_memory.data());
  values->cmd = ETHTOOL_GSTATS;
  values->n_stats = count;
  if (!socket.ask(names) || !socket.ask(values)) return {};
  std::vector<VerbsCounter> statistics;
  for (uint32_t i = 0; i < std::min({count, names->len, values->n_stats}); ++i) {
    const char* name = reinterpret_cast<const char*>(names->data) + size_t{i} * ETH_GSTRING_LEN;
    statistics.push_back({"ethtool." + std::string(name, ::strnlen(name, ETH_GSTRING_LEN)), values->data[i]});
  }
  std::ranges::sort(statistics, {}, &VerbsCounter::name);
  return statistics;
}

}  // namespace rankwire
