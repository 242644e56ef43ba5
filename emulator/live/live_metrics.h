// What a run has come to, in the text format of Prometheus.
#pragma once

#include <span>
#include <string>

#include "emulator/engine/live_feed.h"

namespace rankwire {

class LiveState;

struct LiveCountName {
  LiveCount count;
  const char* key;     ///< in the page's data
  const char* metric;  ///< of Prometheus: a counter where it ends with "_total", else a gauge
  const char* help;
};

/// Of every LiveCount, in their order.
std::span<const LiveCountName> live_count_names();

/// Version 0.0.4 of the format. docs/live.md has the names; all are served from the beginning of the first run on.
std::string metrics_text(const LiveState& state);

/// Of the text's Content-Type.
inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace rankwire
