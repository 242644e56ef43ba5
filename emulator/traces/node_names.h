// What figures call a node, and how much it moves.
#pragma once

#include <string>

#include "emulator/traces/rank_set.h"

namespace rankwire {

/// "compute", "send", and so on; of a collective its own kind, such as "all_reduce", or "unknown".
std::string kind_name(const NodeFacts& node);

/// The name of the group that a collective calls, as its file has it where nobody defines it.
std::string group_name(const RankSet& set, NodeRef at);

/// The size that communication states, in elements of so many bytes; barriers and negative sizes count nothing.
Bytes bytes_of(const NodeFacts& node, Bytes element);

}  // namespace rankwire
