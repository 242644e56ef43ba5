// Whether a device that was opened is still there, and has a link.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rankwire {

/// Knows a device as it is when this is made, after it was opened. One thread.
class DevicePresence {
 public:
  /// `device` as open_dpdk_port takes it.
  explicit DevicePresence(std::string device);

  /// Why nothing can be sent or seen on it any more, naming it: its network interface is gone, is another one of the
  /// same name or was set down, or the device was unplugged. Empty: none of these, or there is no way to know.
  std::string absence() const;
  /// The same, or that its link is down now. Devices that do not know their link have none that is down.
  std::string trouble() const;

 private:
  std::string device_, interface_;
  unsigned index_ = 0;          ///< of the interface; 0: it has none
  std::optional<uint16_t> id_;  ///< of the ethdev
};

}  // namespace rankwire
