// The NIC that a configuration names.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "emulator/nic_check/config.h"
#include "emulator/nic_check/nic_under_test.h"

namespace rankwire {

/// An RDMA device of this host. `ip`: of its GID; none: the first that can be used. `mac`: of its frames; 0: that of
/// the GID's interface. Its region has room for messages of `largest` bytes. Throws Error when there is none, or it
/// cannot be used.
std::unique_ptr<NicUnderTest> open_verbs_nic(const std::string& device, const IpAddress& ip,
                                             std::optional<uint32_t> gid_index, const MacAddress& mac,
                                             uint32_t largest);

/// That, or an agent's, whose region is as it was started. Throws likewise.
std::unique_ptr<NicUnderTest> open_nic(const NicCheckConfig& config, uint32_t largest);

}  // namespace rankwire
