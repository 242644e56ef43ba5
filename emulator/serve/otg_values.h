// Parts of a configuration of the Open Traffic Generator API that say the same wherever they stand (docs/serve.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "emulator/serve/json_reader.h"
#include "emulator/serve/otg_config.h"

namespace rankwire {

AiWorkload read_ai_workload(JsonReader& workload);
/// Of an entry of `layer1`, in bit/s.
std::optional<uint64_t> speed_of(JsonReader& layer1);
/// Of an entry of `captures`, but its name and its ports.
CaptureSettings capture_settings(JsonReader& capture);
/// Of a queue pair.
uint64_t dscp_of(JsonReader& pair);
/// Bytes of the payload of a flow's messages.
uint64_t message_of(JsonReader& flow);
/// How a flow's payload travels, as transport.verb; data with an immediate is told of by one, as rankwire's receivers
/// always want it.
std::string verb_of(JsonReader& flow);
/// What is served of the options of a configuration is what changes nothing.
void read_options(JsonReader& root);

}  // namespace rankwire
