// Process groups as files and traces write them.
#pragma once

#include <span>
#include <string>

#include "emulator/workload/workload.h"
#include "proto/chakra.pb.h"

namespace rankwire {

/// {"name": [ranks]}. Throws Error(kInput) when the file exists already, Error(kRun) when it cannot be written.
void write_groups_file(const std::string& path, std::span<const Group> groups);

/// Whether the node is METADATA that defines process groups.
bool defines_groups(const chakra::Node& node);
/// The `inputs.values` of a METADATA node that defines the groups which `rank` is in.
std::string groups_metadata(std::span<const Group> groups, RankId rank);

}  // namespace rankwire
