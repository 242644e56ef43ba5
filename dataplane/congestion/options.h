// What a RoCEv2 transport can be told of congestion control.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/units.h"
#include "dataplane/congestion/control.h"
#include "dataplane/congestion/dcqcn.h"
#include "dataplane/congestion/notification_point.h"
#include "dataplane/congestion/window_control.h"

namespace rankwire {

enum class CongestionAlgorithm : uint8_t { kNone, kStatic, kDcqcn, kDctcp, kSwift };

struct CongestionOptions {
  CongestionAlgorithm algorithm = CongestionAlgorithm::kNone;
  Bandwidth rate;      ///< kStatic: of each queue pair, on the line, > 0
  uint32_t burst = 1;  ///< packets that a queue pair below line rate sends one behind the other, >= 1
  DcqcnOptions dcqcn;
  DctcpOptions dctcp;
  SwiftOptions swift;

  bool notifies = false;  ///< marked data packets are answered by CNPs
  NotificationOptions notification;
};

/// Throws Error(kInput) naming the first value out of its range.
void check_congestion_options(const CongestionOptions& options);

/// Whether acknowledgements decide how much is sent, so that every packet must ask for one. What is fetched by READ has
/// none.
constexpr bool follows_acknowledgements(const CongestionOptions& options) {
  return options.algorithm == CongestionAlgorithm::kDctcp || options.algorithm == CongestionAlgorithm::kSwift ||
         (options.algorithm == CongestionAlgorithm::kDcqcn && options.dcqcn.window > Duration());
}

/// For queue pairs with these line rates; null for kNone.
std::unique_ptr<CongestionControl> make_congestion_control(const CongestionOptions& options, const WindowLimits& limits,
                                                           std::span<const Bandwidth> lines);

}  // namespace rankwire
