// From the `transport` section of a configuration to the options of RDMA devices.
#pragma once

#include "dataplane/verbs/options.h"
#include "emulator/assembly/setup.h"

namespace rankwire {

/// What `transport` says, with the profile's values where it says nothing.
VerbsOptions verbs_options(const Setup& setup);

/// Tells the plan's transport how large messages are, which RDMA devices do not tell their receivers. It refers to the
/// set-up, which outlives it.
void tell_message_sizes(Setup& setup);

/// Warns of keys whose values the configuration chose and that RDMA devices among its ports do not heed.
void warn_of_unheeded_keys(Setup& setup);

}  // namespace rankwire
