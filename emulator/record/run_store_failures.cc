// What a RunStore keeps of what a run did not deliver.
#include <cstdint>
#include <span>

#include "emulator/record/run_store.h"

namespace rankwire {

void RunStore::failures(uint32_t run, std::span<const FailureRow> failures) {
  Statement insert = database_.prepare("INSERT INTO failures VALUES(?,?,?,?,?,?,?,?)");
  for (const FailureRow& f : failures) {
    const Connection& c = f.connection;
    insert.bind(run, c.id.value, c.source.value, c.destination.value, f.operation, f.message, f.reason, f.state)
        .execute();
  }
}

void RunStore::wrong_messages(uint32_t run, std::span<const WrongMessagesRow> rows) {
  Statement insert = database_.prepare("INSERT INTO wrong_messages VALUES(?,?,?)");
  for (const WrongMessagesRow& row : rows) insert.bind(run, row.operation, row.messages).execute();
}

}  // namespace rankwire
