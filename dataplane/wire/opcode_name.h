// The names of opcodes, for people.
#pragma once

#include "dataplane/wire/opcode.h"

namespace rankwire {

/// "WRITE_LAST_IMMEDIATE"; "UNKNOWN" for what is none of the list.
const char* to_string(Opcode opcode);

}  // namespace rankwire
