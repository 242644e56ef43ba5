// The rules of a run at work: which packet is impaired, and what has been done.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/transport.h"
#include "dataplane/impairments/flows.h"
#include "dataplane/impairments/impairment.h"

namespace rankwire {

struct ImpairmentOptions {
  FlowOptions flows;
  Markings markings;       ///< of forged packets
  uint8_t hop_limit = 64;  ///< the same
  uint64_t seed = 1;
  uint32_t recorded = 1u << 16;  ///< events that are kept; all are counted
};

/// Shared by the ports of one transport, whose thread uses it. The same rules, seed and packets give the same events:
/// each rule draws from a stream of its own. No allocation after construction but in `connect`.
class Impairments {
 public:
  Impairments(std::vector<ImpairmentRule> rules, const ImpairmentOptions& options);

  void connect(const TransportPlan& plan, std::span<const EndPoint> ends);
  ImpairmentFlows& flows() noexcept { return flows_; }

  /// The first rule that acts on a packet of `flows`; later ones do not see it.
  std::optional<uint32_t> choose(const PacketPlace& place, PortId port, PortSide side, Time now) noexcept;

  /// What became of a choice.
  void note_done(const ImpairmentEvent& event) noexcept;
  void note_not_done(uint32_t rule) noexcept { ++counts_[rule].not_done; }
  /// Whether a kPause whose time has come acts: its limit is not reached.
  bool choose_pause(uint32_t rule) noexcept;

  const std::vector<ImpairmentRule>& rules() const noexcept { return rules_; }
  Random& random(uint32_t rule) noexcept { return states_[rule].random; }
  const ImpairmentOptions& options() const noexcept { return options_; }
  /// Of the first NIC behind the port; zero when there is none.
  MacAddress address_of(PortId port) const noexcept;

  /// Oldest first.
  std::span<const ImpairmentEvent> events() const noexcept { return events_; }
  uint64_t unrecorded() const noexcept { return unrecorded_; }
  std::span<const ImpairmentCount> counts() const noexcept { return counts_; }  ///< by rule

 private:
  struct State {
    Random random;
    uint64_t matched = 0, chosen = 0;
  };

  bool matches(const ImpairmentRule& rule, const PacketPlace& place, PortId port, PortSide side,
               Time now) const noexcept;
  bool is_among(const std::vector<MessageRange>& messages, const PacketPlace& place) const noexcept;
  bool takes_turn(uint32_t rule) noexcept;

  const std::vector<ImpairmentRule> rules_;
  const ImpairmentOptions options_;
  ImpairmentFlows flows_;
  std::vector<Nic> nics_;
  std::vector<State> states_;  // by rule
  std::vector<ImpairmentCount> counts_;
  std::vector<ImpairmentEvent> events_;
  uint64_t unrecorded_ = 0;
};

}  // namespace rankwire
