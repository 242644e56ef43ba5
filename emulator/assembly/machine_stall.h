// What one machine knows of a run that did not end by itself, as it tells the leader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/connection_state.h"
#include "base/id.h"
#include "base/transport.h"
#include "base/units.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/worker_engines.h"
#include "emulator/engine/run.h"
#include "emulator/engine/stall.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// What a machine's transport says of a connection, of both ends or of the one that is there.
struct ConnectionView {
  std::vector<QueuePairState> states;
  std::string text;
};

/// By ConnectionId.
using ConnectionViews = std::map<uint32_t, ConnectionView>;

/// A worker's loop that did not turn, as WorkerTime has it.
struct Standstill {
  Duration took;
  Time end;
};

/// How much a machine tells at the most, so that hundreds of them can: a wait is some 50 bytes, and of a connection
/// there are the text and 40 bytes a queue pair.
struct StallLimits {
  size_t waits = StallRow::kMostWaits;
  size_t view_bytes = size_t{4} << 20;
};

/// Times are the machine's own run time.
struct MachineStall {
  StallFacts facts;                     ///< of its ranks
  std::vector<Standstill> standstills;  ///< by worker
  Time end, last_progress;              ///< when its workers ended; when they last made progress themselves
  ConnectionViews views;                ///< of connections that the facts name
  uint64_t waits_left_out = 0, views_left_out = 0;
};

/// Of the workers of this process; nothing is left out yet, and nothing said of connections.
MachineStall machine_stall(const Setup& setup, const RunResult& result, WorkerEngines& engines);

/// Leaves out waits beyond the limit, those of ranks that keep others first, and adds what `view` says of the
/// connections that are named then, as far as there is room.
void complete(MachineStall& stall, const std::function<ConnectionView(ConnectionId)>& view,
              const StallLimits& limits = {});

nlohmann::ordered_json json_of(const MachineStall& stall);
MachineStall machine_stall(const nlohmann::ordered_json& json);

/// Those of `views` that are asked for and there, as far as there is room: the answer to a question of the leader.
std::string answer_bytes(std::span<const ConnectionId> asked, const ConnectionViews& views,
                         const StallLimits& limits = {});
ConnectionViews views_of_answer(const std::string& bytes);

std::string question_bytes(std::span<const ConnectionId> asked);
std::vector<ConnectionId> question(const std::string& bytes);

}  // namespace rankwire
