// A record's timeline as one inline SVG of bounded size.
#pragma once

#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// A row a rank, up to 32 of them, emulated above reference; compute and communication in their own half of it. Time is
/// cut into 400 columns, and a column is drawn when an operation overlaps it: at most 25,600 rectangles, however many
/// operations there are. Empty when no operation took time. Colours come from CSS variables --compute,
/// --communication, --reference-compute, --reference-communication, --line, --text.
std::string timeline_svg(const RunReader& record);

}  // namespace rankwire
