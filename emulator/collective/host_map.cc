#include "emulator/collective/host_map.h"

#include <algorithm>
#include <unordered_map>

namespace rankwire {

HostMap::HostMap(const ScheduleRequest& request) {
  std::unordered_map<uint32_t, uint32_t> numbers;
  for (uint32_t position = 0; position < request.members; ++position) {
    const uint32_t name = request.hosts.empty() ? position : request.hosts[position];
    const uint32_t host = numbers.try_emplace(name, static_cast<uint32_t>(numbers.size())).first->second;
    if (host == members_.size()) members_.emplace_back();
    host_of_.push_back(host);
    index_of_.push_back(static_cast<uint32_t>(members_[host].size()));
    members_[host].push_back(position);
  }
}

uint32_t HostMap::least_members() const {
  size_t least = host_of_.size();
  for (const auto& members : members_) least = std::min(least, members.size());
  return static_cast<uint32_t>(least);
}

}  // namespace rankwire
