// What gates can ask of a run beyond its summary.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "emulator/record/reader.h"
#include "emulator/suite/gate.h"

namespace rankwire {

/// `summary` with, of the emulated side or else the reference, `completion_time_ps`; of the emulated side, null without
/// one that has ended: `losses` (`packets`, `lost`, `ppm`; null where the ports do not count), `ports` by name, and by
/// kind `operations` (`count`, `p50_ps`, `p95_ps`, `p99_ps`, `max_ps` of their times, `busbw_gbps` of collectives); and
/// what jct_ratio_figures gives. The last two only where a gate asks for it since that reads the whole record.
nlohmann::ordered_json gate_figures(const RunReader& record, nlohmann::ordered_json summary,
                                    std::span<const Gate> gates);

}  // namespace rankwire
