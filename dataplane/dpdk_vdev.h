// Virtual devices as DPDK names them: "driver and number,key=value,...".
#pragma once

#include <cstdint>
#include <string>

namespace rankwire {

/// The least `frame_capacity` of a DPDK port, in bytes.
constexpr uint32_t kSmallestCapacity = 4352;

/// Bytes of a buffer for IP packets of `mtu` bytes.
uint32_t frame_capacity(uint32_t mtu);

std::string vdev_name(const std::string& device);
/// The value of a key in a vdev string, or an empty text.
std::string vdev_value(const std::string& device, const std::string& key);
bool is_packet_socket(const std::string& device);
/// The vdev string with the rings that af_packet needs for large frames. It takes the rings for one array of frames, so
/// a block must be a whole number of frames as well as of pages.
std::string vdev_string(const std::string& device, uint32_t mtu);
/// af_packet of DPDK 22.11 says that it carries 1518 bytes, and truncates at the size of its rings' frames. Throws
/// Error(kInput) when interface or rings cannot carry IP packets of `mtu` bytes.
void check_packet_socket(const std::string& device, uint32_t mtu);

}  // namespace rankwire
