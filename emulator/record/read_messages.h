// The names of what messages were for.
#pragma once

#include <vector>

#include "emulator/record/database.h"
#include "emulator/record/run_record.h"

namespace rankwire {

struct RecordedRun;

/// Fills in JoinedMessage::operation, kind and group.
void name_operations(const Database& database, const RecordedRun& run, std::vector<JoinedMessage>& messages);

}  // namespace rankwire
