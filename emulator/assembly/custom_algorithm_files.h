// Algorithms that users describe in Chakra files; the form is in docs/collectives.md.
#pragma once

#include <string>

#include "emulator/collective/custom_algorithm.h"

namespace rankwire {

/// Reads PREFIX.<position>.et, one file a member, and executes what they say once. Throws Error(kInput) that names the
/// file and the node, or the member and the chunk, when a file is not such a description, is one of another operation,
/// or the algorithm does not do what the operation defines.
CustomAlgorithm read_custom_algorithm(const std::string& prefix, Operation operation);

}  // namespace rankwire
