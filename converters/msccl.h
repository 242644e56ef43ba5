// Algorithms of MSCCL, in XML, to Chakra.
#pragma once

#include <filesystem>
#include <string>

#include "converters/conversion.h"

namespace rankwire {

/// Writes a file for each GPU that describes the one collective: metadata `collective`, `chunks` and, for broadcast and
/// reduce, `root`, which are attributes of the file; a SEND and a RECV for each message, with `chunk` (the first),
/// `count`, `channel` and, of a RECV, `reduce`; and data dependencies. A `comm_size` is 0: it follows from the size of
/// the collective. See msccl_flow.h for the errors.
Conversion convert_msccl(const std::string& path, const std::filesystem::path& folder, ConversionProgress& progress);

}  // namespace rankwire
