// What is at the other end of a transport's ports, as far as it matters to how the transport works.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "dataplane/ports/doorbells.h"
#include "dataplane/roce/options.h"

namespace rankwire {

enum class FarEnd : uint8_t {
  kDevice,   ///< somebody else's: nobody tells when something has arrived
  kSwitch,   ///< of this process, in real time: it reads what is sent before the receiver does
  kVirtual,  ///< the same in virtual time and one thread: what is on its way can be looked at before it is received
};

/// `bells`: of these ports; null: none.
inline FarEnd far_end_of(const Doorbells* bells, std::span<const PortBinding> bindings) {
  if (bells == nullptr) return FarEnd::kDevice;
  const auto looks_ahead = [](const PortBinding& binding) { return binding.port->capabilities().looks_ahead; };
  return std::ranges::all_of(bindings, looks_ahead) ? FarEnd::kVirtual : FarEnd::kSwitch;
}

}  // namespace rankwire
