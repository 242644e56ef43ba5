// Virtual devices as DPDK names them: "driver and number,key=value,...".
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace rankwire {

/// The least `frame_capacity` of a DPDK port, in bytes.
constexpr uint32_t kSmallestCapacity = 4352;

/// Bytes of a buffer for IP packets of `mtu` bytes.
uint32_t frame_capacity(uint32_t mtu);

std::string vdev_name(const std::string& device);
/// The value of a key in a vdev string, or an empty text.
std::string vdev_value(const std::string& device, const std::string& key);
bool is_packet_socket(const std::string& device);
/// The vdev string with what af_packet needs for large frames and several queues, where the string does not say it. It
/// takes its rings for one array of frames, so a block must be a whole number of frames as well as of pages.
std::string vdev_string(const std::string& device, uint32_t mtu, uint16_t queues);
/// Memory that af_packet locks for the rings of a vdev string as vdev_string makes it: a receive and a transmit ring
/// for each queue.
Bytes packet_socket_memory(const std::string& device);
/// What to do when af_packet could not be created and `log` is what its driver said: a text to stand behind "cannot be
/// created", empty for other devices.
std::string packet_socket_advice(const std::string& device, const std::string& log);
/// For a string as vdev_string makes it. af_packet of DPDK 22.11 says that it carries 1518 bytes, and truncates at the
/// size of its rings' frames. Throws Error(kInput) when interface or rings cannot carry IP packets of `mtu` bytes, or
/// the rings are not whole blocks of whole frames.
void check_packet_socket(const std::string& device, uint32_t mtu);

}  // namespace rankwire
