// Data packets that did not arrive, from port to port.
#pragma once

#include <string>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// One row for each pair of ports with packets.
std::string losses_csv(const RunReader& record, const Losses& losses);
/// A table of the 50 pairs that lost most; empty where nothing was lost.
std::string html_losses(const RunReader& record, const Losses& losses);

}  // namespace rankwire
