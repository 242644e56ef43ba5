// What the members of the reference's ensemble say of operations.
#pragma once

#include <cstdint>
#include <string>

#include "base/id.h"
#include "base/units.h"

namespace rankwire {

/// All executions in one member of nodes whose kind, job and patterns of name and group are the same.
struct EnsembleOperation {
  uint32_t member = 0;
  std::string name, kind, group;  ///< name and group with # for each number
  JobId job;
  Duration mean;  ///< from start to end
};

}  // namespace rankwire
