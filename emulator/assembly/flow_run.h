// The model `flow` of the reference: messages share the links of a network.
#pragma once

#include "emulator/assembly/nic_network.h"
#include "emulator/assembly/run_control.h"
#include "emulator/assembly/setup.h"
#include "emulator/engine/node_variation.h"
#include "emulator/engine/run.h"
#include "emulator/record/recorder.h"
#include "fabric/network.h"

namespace rankwire {

/// How a run of `flow` differs from that of the set-up.
struct FlowVariant {
  const NodeVariation* variation = nullptr;  ///< of the times of nodes, instead of the set-up's; null: none
  Nics nics = Nics::kIdeal;

  /// What it runs over, where the set-up's would run over `network`.
  Network network_of(const Setup& setup, Network network) const;
};

/// In virtual time, named `model` in the record, in which it opens the run and closes it whatever its verdict. What
/// cannot be told apart is run once where that tells all.
RunResult execute_flow(const Setup& setup, const char* model, RunRecorder::Run& record, const RunControl& control);
/// The same of a variant, whose variation outlives the call: every rank is run.
RunResult execute_flow(const Setup& setup, const FlowVariant& variant, const char* model, RunRecorder::Run& record,
                       const RunControl& control);

/// Whether classes of what cannot be told apart may stand for runs over this network: they know nothing of ways that
/// change, of times that vary by rank, and of traffic without ranks.
bool may_fold(const Setup& setup, const Network& network);

}  // namespace rankwire
