// What a RunReader knows of a run that stood still.
#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "emulator/record/columns.h"
#include "emulator/record/reader.h"
#include "emulator/record/record_version.h"

namespace rankwire {
namespace {

template <class IdType>
IdType id_at(const Statement& row, int column) {
  const std::optional<int64_t> id = row.optional_integer(column);
  return id ? IdType(static_cast<uint32_t>(*id)) : IdType();
}

}  // namespace

std::optional<StallRow> RunReader::stall(const RecordedRun& run) const {
  if (!has_table("stalls")) return std::nullopt;
  Statement row = database_.prepare(
      fmt::format("SELECT kind, culprit, behind, accused, is_cycle, last_progress_ps, {} FROM stalls WHERE run=?",
                  column_or(database_, "stalls", "machine", "''")));
  row.bind(run.run);
  if (!row.step()) return std::nullopt;
  StallRow stall{.kind = row.text(0),
                 .culprit = id_at<RankId>(row, 1),
                 .behind = small(row, 2),
                 .accused = small(row, 3),
                 .is_cycle = row.integer(4) != 0,
                 .last_progress = Time(row.integer(5)),
                 .machine = row.text(6)};
  Statement waits = database_.prepare(
      "SELECT in_chain, kind, rank, peer, operation, group_name, iteration, connection, source_qp, destination_qp, "
      "retries, state FROM stall_waits WHERE run=? ORDER BY rowid");
  waits.bind(run.run);
  while (waits.step()) {
    StallWait& wait = (waits.integer(0) != 0 ? stall.chain : stall.waits).emplace_back();
    wait.kind = waits.text(1);
    wait.rank = RankId(small(waits, 2));
    wait.peer = id_at<RankId>(waits, 3);
    wait.operation = waits.text(4), wait.group = waits.text(5);
    wait.iteration = small(waits, 6);
    wait.connection = id_at<ConnectionId>(waits, 7);
    wait.source_qp = small(waits, 8), wait.destination_qp = small(waits, 9), wait.retries = small(waits, 10);
    wait.state = waits.text(11);
  }
  return stall;
}

}  // namespace rankwire
