// Columns of a row as the types of the record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "base/transport_counters.h"
#include "base/utf8.h"
#include "emulator/record/database.h"
#include "emulator/record/run_record.h"

namespace rankwire {

inline uint32_t small(const Statement& row, int column) {
  return static_cast<uint32_t>(row.integer(column));
}

inline uint64_t count(const Statement& row, int column) {
  return static_cast<uint64_t>(row.integer(column));
}

inline Duration duration(const Statement& row, int column) {
  return Duration(row.integer(column));
}

/// Overwrites in place, so that a text keeps its memory from row to row. Bytes that are no UTF-8 are replaced.
inline void assign(std::string& text, const Statement& row, int column) {
  const std::string_view read = row.text_view(column);
  if (is_utf8(read)) {
    text = read;
  } else {
    text = with_valid_utf8(read);
  }
}

/// Six columns from `column` on: count, p50_ps, p95_ps, p99_ps, p999_ps, max_ps.
inline MessageLatency latency_at(const Statement& row, int column) {
  return {count(row, column),        duration(row, column + 1), duration(row, column + 2),
          duration(row, column + 3), duration(row, column + 4), duration(row, column + 5)};
}

/// The columns of a TimeByCause.
inline constexpr const char* kCauseColumns =
    "transmitting_ps, window_ps, congestion_control_ps, paused_ps, rnr_ps, recovering_ps, port_ps, acknowledgement_ps";

inline TimeByCause causes_at(const Statement& row, int column) {
  TimeByCause time;
  for (size_t i = 0; i < kCauses; ++i) time.spent[i] = duration(row, column + static_cast<int>(i));
  return time;
}

/// Of a row that names the counter.
inline void add_counter(RdmaCounters& counters, std::string_view name, uint64_t value) {
  for (const RdmaCounterField& counter : rdma_counters())
    if (name == counter.name) counters.*counter.field += value;
}

}  // namespace rankwire
