// The tables of `run.sqlite`. Their columns, units and meaning are in docs/metrics.md.
#pragma once

#include <cstdint>

namespace rankwire {

/// `PRAGMA application_id` of a run record: "RWrc" in ASCII.
inline constexpr int64_t kRecordApplicationId = 0x52577263;
/// `PRAGMA user_version`. Raised when a column changes its meaning or goes away; an added column
/// or table does not raise it.
inline constexpr int64_t kRecordVersion = 2;

extern const char* const kRecordSchema;

}  // namespace rankwire
