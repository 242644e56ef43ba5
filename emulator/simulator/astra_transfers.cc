#include "emulator/simulator/astra_transfers.h"

namespace rankwire {

AstraTransfers::AstraTransfers(const AstraModel& model, AstraEvents& events) : delays_(model.network), events_(events) {
  if (model.congestion_aware) links_.emplace(model.network.dimensions.front());
}

void AstraTransfers::start(const AstraMessage& message) {
  uint32_t slot = static_cast<uint32_t>(travelling_.size());
  if (unused_.empty()) {
    travelling_.push_back({message, message.from_rank()});
  } else {
    slot = unused_.back();
    unused_.pop_back();
    travelling_[slot] = {message, message.from_rank()};
  }
  hop(slot);
}

void AstraTransfers::hop(uint32_t slot) {
  Travelling& t = travelling_[slot];
  const AstraMessage& m = t.message;
  const Time now = events_.now();
  AstraLinks::Hop hop{m.to_rank(), now};
  if (links_) {
    hop = links_->forward(t.device, m.to_rank(), m.size(), now);
  } else {
    hop.arrival += delays_.delay(m.from_rank(), m.to_rank(), m.size());
  }
  t.device = hop.device;
  events_.push(hop.arrival, {.a = slot, .kind = AstraEvent::Kind::kMessage});
}

std::optional<AstraMessage> AstraTransfers::advance(uint32_t slot) {
  const Travelling& t = travelling_[slot];
  if (t.device != t.message.to_rank()) {
    hop(slot);
    return std::nullopt;
  }
  unused_.push_back(slot);
  return t.message;
}

}  // namespace rankwire
