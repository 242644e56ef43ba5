#include "emulator/device_counters/counter_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rankwire {
namespace {

using Known = std::pair<std::string_view, DeviceMetric>;

constexpr std::array kKnown = {
    Known{"queue_depth", DeviceMetric::kQueueDepth},
    Known{"ecn_marked", DeviceMetric::kMarked},
    Known{"pfc_rx", DeviceMetric::kPfcRx},
    Known{"pfc_tx", DeviceMetric::kPfcTx},
    Known{"drops", DeviceMetric::kDrops},
    // /qos/interfaces/interface/output/queues/queue/state
    Known{"max-queue-len", DeviceMetric::kQueueDepth},
    Known{"ecn-marked-pkts", DeviceMetric::kMarked},
    Known{"dropped-pkts", DeviceMetric::kDrops},
    // /interfaces/interface/state/counters, .../ethernet/state/counters
    Known{"in-discards", DeviceMetric::kDrops},
    Known{"out-discards", DeviceMetric::kDrops},
    Known{"in-mac-pause-frames", DeviceMetric::kPfcRx},
    Known{"out-mac-pause-frames", DeviceMetric::kPfcTx},
    // COUNTERS_DB
    Known{"SAI_PORT_STAT_IF_IN_DISCARDS", DeviceMetric::kDrops},
    Known{"SAI_PORT_STAT_IF_OUT_DISCARDS", DeviceMetric::kDrops},
    Known{"SAI_PORT_STAT_ECN_MARKED_PACKETS", DeviceMetric::kMarked},
    Known{"SAI_PORT_STAT_PAUSE_RX_PKTS", DeviceMetric::kPfcRx},
    Known{"SAI_PORT_STAT_PAUSE_TX_PKTS", DeviceMetric::kPfcTx},
    Known{"SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", DeviceMetric::kQueueDepth},
    Known{"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", DeviceMetric::kMarked},
    Known{"SAI_QUEUE_STAT_DROPPED_PACKETS", DeviceMetric::kDrops},
};

bool is_or_ends_with(std::string_view name, std::string_view known) {
  if (!name.ends_with(known)) return false;
  return name.size() == known.size() || name[name.size() - known.size() - 1] == '/';
}

/// SAI_PORT_STAT_PFC_3_RX_PKTS.
bool is_pfc_of_sai(std::string_view name, CounterMeaning& meaning) {
  constexpr std::string_view kBefore = "SAI_PORT_STAT_PFC_", kReceived = "_RX_PKTS", kSent = "_TX_PKTS";
  name.remove_prefix(std::min(name.rfind('/') + 1, name.size()));
  if (name.size() != kBefore.size() + 1 + kSent.size() || !name.starts_with(kBefore)) return false;
  const char priority = name[kBefore.size()];
  if (priority < '0' || priority > '7') return false;
  if (!name.ends_with(kReceived) && !name.ends_with(kSent)) return false;
  meaning = {name.ends_with(kSent) ? DeviceMetric::kPfcTx : DeviceMetric::kPfcRx, std::string(1, priority)};
  return true;
}

}  // namespace

CounterMeaning CounterNames::meaning(std::string_view name) const {
  CounterMeaning meaning;
  size_t length = 0;
  for (const auto& [known, metric] : own_) {
    if (known.size() < length || !is_or_ends_with(name, known)) continue;
    meaning.metric = metric, length = known.size();
  }
  if (length > 0) return meaning;
  if (is_pfc_of_sai(name, meaning)) return meaning;
  for (const auto& [known, metric] : kKnown)
    if (is_or_ends_with(name, known)) meaning.metric = metric;
  return meaning;
}

}  // namespace rankwire
