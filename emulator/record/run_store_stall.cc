// What a RunStore keeps of a run that stood still.
#include <cstdint>
#include <optional>
#include <span>

#include "emulator/record/run_store.h"

namespace rankwire {
namespace {

template <class IdType>
std::optional<int64_t> id_or_null(IdType id) {
  return id.valid() ? std::optional<int64_t>(id.value) : std::nullopt;
}

}  // namespace

void RunStore::stall(uint32_t run, const StallRow& stall) {
  database_.prepare("INSERT INTO stalls VALUES(?,?,?,?,?,?,?,?)")
      .bind(run, stall.kind, id_or_null(stall.culprit), stall.behind, stall.accused, uint32_t{stall.is_cycle},
            stall.last_progress.ps, stall.machine)
      .execute();
  stall_waits(run, true, stall.chain);
  stall_waits(run, false, stall.waits);
}

void RunStore::stall_waits(uint32_t run, bool in_chain, std::span<const StallWait> waits) {
  Statement insert = database_.prepare("INSERT INTO stall_waits VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const StallWait& w : waits) {
    insert
        .bind(run, uint32_t{in_chain}, w.kind, w.rank.value, id_or_null(w.peer), w.operation, w.group, w.iteration,
              id_or_null(w.connection), w.source_qp, w.destination_qp, w.retries, w.state)
        .execute();
  }
}

}  // namespace rankwire
