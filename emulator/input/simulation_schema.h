// The keys of `simulation`; see schema.h.
#pragma once

#include "emulator/input/simulation_config.h"
#include "emulator/input/syntax.h"

namespace rankwire {

/// A number, or the word for 0.
struct OffOr {
  Integer<uint32_t> syntax;

  uint32_t parse(const Tree& scalar) const { return scalar.text == "off" ? 0 : syntax.parse(scalar); }
  ConfigJson print(uint32_t value) const { return value == 0 ? ConfigJson("off") : syntax.print(value); }
};

template <class Visitor>
void describe_simulation(Visitor& visit, SimulationConfig& simulation) {
  Choice<SimulationFidelity> models;
  for (const SimulationFidelity model : kSimulationFidelities) models.words.push_back({to_string(model), model});
  visit.list("fidelity", simulation.fidelity, models);
  visit.field("threads", simulation.threads, Or{"auto", Integer<uint32_t>{1, kMostRunThreads}});
  visit.field("ensemble", simulation.ensemble, Or{"auto", OffOr{Integer<uint32_t>{2, 1000}}});
  visit.field("what_if", simulation.what_if, on_or_off());
  visit.section("astra", [&](auto& keys) {
    AstraConfig& astra = simulation.astra;
    keys.field("network", astra.network, FilePathOrNone{});
    keys.field("system", astra.system, FilePathOrNone{});
    keys.field("memory", astra.memory, FilePathOrNone{});
    keys.field("congestion", astra.congestion_aware, Choice<bool>{{{"unaware", false}, {"aware", true}}});
    keys.field("queues", astra.queues, Integer<uint32_t>{1, 1'024});
    keys.field("rendezvous", astra.rendezvous, on_or_off());
  });
}

}  // namespace rankwire
