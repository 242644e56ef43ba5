// From the `transport` section of a configuration to the options of RDMA devices.
#pragma once

#include "dataplane/verbs/options.h"
#include "emulator/assembly/setup.h"

namespace rankwire {

/// What `transport` says, with the profile's values where it says nothing.
VerbsOptions verbs_options(const Setup& setup);

/// Warns of keys whose values the configuration chose and that RDMA devices among its ports do not heed.
void warn_of_unheeded_keys(Setup& setup);

}  // namespace rankwire
