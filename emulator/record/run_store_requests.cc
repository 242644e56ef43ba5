// What a record has of requests to an inference service.
#include "emulator/record/run_store.h"

namespace rankwire {

void RunStore::request_marks(std::span<const RequestMarkInfo> marks) {
  open();
  // A node that names a request twice in one list says no more than once.
  Statement insert = database_.prepare("INSERT OR IGNORE INTO request_marks VALUES(?,?,?,?,?,?)");
  Statement hold = database_.prepare("INSERT OR IGNORE INTO request_holds VALUES(?,?,?)");
  for (const RequestMarkInfo& mark : marks) {
    insert.bind(mark.rank.value, mark.node, mark.request, mark.arrives ? 1 : 0, mark.job.value, mark.input_tokens)
        .execute();
    if (mark.held_batches) hold.bind(mark.job.value, mark.request, *mark.held_batches).execute();
  }
}

void RunStore::objectives(const ServiceObjectives& objectives) {
  open();
  Statement insert = database_.prepare("INSERT INTO objectives VALUES(?,?)");
  for (const auto& [name, limit] : {std::pair("ttft", objectives.ttft), std::pair("tpot", objectives.tpot),
                                    std::pair("latency", objectives.latency)})
    if (limit) insert.bind(name, *limit).execute();
}

}  // namespace rankwire
