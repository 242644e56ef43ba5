// What a configuration calls parts of the traffic by.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/assembly/setup.h"

namespace rankwire {

/// What is wrong with the number of a job, or the name of a process group; empty when it is one. The plan is made.
std::string explain_job(const Setup& setup, uint32_t job);
std::string explain_group(const Setup& setup, const std::string& name);

}  // namespace rankwire
