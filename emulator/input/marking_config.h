// How a part of the traffic is marked, as plain values.
#pragma once

#include <cstdint>
#include <optional>

namespace rankwire {

/// How the data packets of a job, or of an item of `background`, are marked, instead of `transport.markings.data`;
/// absent: as those.
struct JobMarkingConfig {
  std::optional<uint32_t> dscp, priority;
};

}  // namespace rankwire
