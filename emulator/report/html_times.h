// How long messages took, on `report.html`.
#pragma once

#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/message_curves.h"

namespace rankwire {

/// Curves of one kind over a logarithmic axis of time, with P50, P99 and P99.9 marked: a figure that carries its points
/// for the script that tells values. `what` the times are of. Empty where none took time.
std::string message_curves_figure(const MessageCurves& curves, const char* what = "messages");

/// A figure for each kind, of which the script shows one at a time, and a table of quantiles. Empty where messages were
/// not recorded.
std::string html_message_times(const RunReader& record);

}  // namespace rankwire
