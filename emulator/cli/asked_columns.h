// `--columns` of sweeps and studies.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "emulator/report/sweep.h"

namespace rankwire {

/// What the option says; nothing of an empty one. Throws Error(kInput), with the nearest name, for what no summary can
/// have.
std::vector<SweepColumn> asked_columns(const std::string& option);

/// Warns of columns that no summary of these points turned out to have, with the nearest name. `folder` is the sweep's.
void warn_of_unknown_columns(const std::vector<SweepColumn>& columns, std::span<const SweepPoint> points,
                             const std::filesystem::path& folder);

}  // namespace rankwire
