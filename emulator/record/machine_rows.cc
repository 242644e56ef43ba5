#include "emulator/record/machine_rows.h"

#include "emulator/record/database.h"

namespace rankwire {

std::vector<RecordPart> read_machines(const std::filesystem::path& folder, uint32_t run) {
  const Database database(folder / "run.sqlite", Database::Access::kRead);
  std::vector<RecordPart> machines;
  // An old record has no such table.
  if (database.integer("SELECT count(*) FROM sqlite_schema WHERE type='table' AND name='machines'") == 0)
    return machines;
  Statement rows = database.prepare(
      "SELECT name, verdict, reason, clock_offset_ps, clock_drift_ppb, clock_error_ps FROM machines WHERE run=? "
      "ORDER BY machine");
  rows.bind(run);
  while (rows.step())
    machines.push_back({.machine = rows.text(0),
                        .file = {},
                        .clock = {.offset = Duration(rows.integer(3)),
                                  .drift = static_cast<double>(rows.integer(4)) / 1e9,
                                  .error = Duration(rows.integer(5))},
                        .verdict = rows.text(1),
                        .reason = rows.text(2)});
  return machines;
}

}  // namespace rankwire
