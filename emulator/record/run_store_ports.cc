// What a RunStore keeps of what ports counted.
#include <cstdint>
#include <span>

#include "base/transport_counters.h"
#include "emulator/record/run_store.h"

namespace rankwire {

void RunStore::ports(uint32_t run, std::span<const PortCounters> ports) {
  Statement insert = database_.prepare("INSERT INTO ports VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const PortCounters& p : ports) {
    insert
        .bind(run, p.port.value, p.name, p.tx_frames, p.tx_bytes, p.rx_frames, p.rx_bytes, p.tx_refused, p.rx_missed,
              p.dropped, p.marked, int{p.hardware_time}, p.arrival_error)
        .execute();
  }
  port_pauses(run, ports);
  port_drivers(run, ports);
}

void RunStore::port_drivers(uint32_t run, std::span<const PortCounters> ports) {
  Statement insert = database_.prepare("INSERT OR IGNORE INTO port_drivers VALUES(?,?,?,?,?)");
  for (const PortCounters& p : ports) {
    if (p.worker || p.slipped > Duration(0)) insert.bind(run, p.port.value, p.name, p.worker, p.slipped).execute();
  }
}

void RunStore::port_pauses(uint32_t run, std::span<const PortCounters> ports) {
  Statement insert = database_.prepare("INSERT OR IGNORE INTO port_pauses VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const PortCounters& p : ports) {
    if (p.pause_tx + p.pause_rx == 0) continue;
    insert
        .bind(run, p.port.value, p.name, p.pause_tx, p.pause_rx, p.paused[0], p.paused[1], p.paused[2], p.paused[3],
              p.paused[4], p.paused[5], p.paused[6], p.paused[7])
        .execute();
  }
}

void RunStore::port_rdma(uint32_t run, std::span<const PortCounters> ports) {
  Statement insert = database_.prepare("INSERT INTO port_rdma VALUES(?,?,?,?)");
  for (const RdmaCounterField& counter : rdma_counters())
    for (const PortCounters& port : ports)
      if (port.rdma.*counter.field > 0)
        insert.bind(run, port.port.value, counter.name, port.rdma.*counter.field).execute();
  for (const PortCounters& port : ports)
    if (port.rx_icrc_encapsulated > 0)
      insert.bind(run, port.port.value, "rx_icrc_encapsulated", port.rx_icrc_encapsulated).execute();
}

}  // namespace rankwire
