// Which members of a group stand together on a host.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/collective/schedule.h"

namespace rankwire {

/// Hosts are numbered in the order of their first members, and the members of each in the order of the group.
class HostMap {
 public:
  explicit HostMap(const ScheduleRequest& request);

  uint32_t hosts() const { return static_cast<uint32_t>(members_.size()); }
  uint32_t host_of(uint32_t position) const { return host_of_[position]; }
  /// Place of the member among those of its host.
  uint32_t index_of(uint32_t position) const { return index_of_[position]; }
  /// Positions of the host's members.
  const std::vector<uint32_t>& members(uint32_t host) const { return members_[host]; }
  /// Members of the host that has the fewest.
  uint32_t least_members() const;
  /// Who of the host deals with that member elsewhere: the one of the same index, counted round where there are fewer.
  uint32_t counterpart(uint32_t host, uint32_t position) const {
    return members_[host][index_of_[position] % members_[host].size()];
  }

 private:
  std::vector<uint32_t> host_of_, index_of_;
  std::vector<std::vector<uint32_t>> members_;
};

}  // namespace rankwire
