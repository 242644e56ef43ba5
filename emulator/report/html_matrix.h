// Who sent how much to whom, on `report.html`.
#pragma once

#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/traffic_matrix.h"

namespace rankwire {

/// A picture of the matrix for paper and for whoever has no scripts; its blocks are put together until there are few.
/// Cells are as dense as the logarithm of their bytes. Empty where nothing was sent.
std::string matrix_svg(const TrafficMatrix& matrix);

/// The matrix as JSON, for the script that tells its values. docs/metrics.md has the fields.
std::string matrix_json(const TrafficMatrix& matrix);

/// Both, of the principal run, and the largest cells in a table. Empty where nothing was sent.
std::string html_traffic_matrix(const RunReader& record);

}  // namespace rankwire
