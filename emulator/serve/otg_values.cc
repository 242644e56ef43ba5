#include "emulator/serve/otg_values.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>

#include "emulator/serve/client_names.h"

namespace rankwire {
namespace {

constexpr size_t kMostConfiguration = 1 << 20, kMostFiles = 4096;
constexpr uint64_t kMostMessage = 2'147'483'647;  // bytes, as background[].size

}  // namespace

AiWorkload read_ai_workload(JsonReader& workload) {
  AiWorkload job;
  job.configuration = workload.required_text("configuration");
  if (job.configuration.size() > kMostConfiguration)
    workload.fail("configuration", fmt::format("is larger than {} bytes", kMostConfiguration));
  std::set<std::string> names;
  for (JsonReader& file : workload.objects("files")) {
    OtgFile one{file.required_text("name"), file.required_text("sha256")};
    if (!is_file_name(one.name)) file.fail("name", "a file's name has letters, digits, '.', '_', '-' alone");
    if (!is_digest(one.sha256)) file.fail("sha256", "is no SHA-256 of 64 small hexadecimal digits");
    if (!names.insert(one.name).second) file.fail("name", "is there twice");
    file.end();
    job.files.push_back(std::move(one));
  }
  if (job.files.size() > kMostFiles) workload.fail("files", fmt::format("are more than {}", kMostFiles));
  workload.end();
  return job;
}

std::optional<uint64_t> speed_of(JsonReader& layer1) {
  constexpr uint64_t kGigabit = 1'000'000'000;
  const std::optional<std::string> name =
      layer1.choice("speed", {"speed_1_gbps", "speed_10_gbps", "speed_25_gbps", "speed_40_gbps", "speed_50_gbps",
                              "speed_100_gbps", "speed_200_gbps", "speed_400_gbps", "speed_800_gbps"});
  if (!name) return std::nullopt;
  return std::stoull(name->substr(std::string_view("speed_").size())) * kGigabit;
}

CaptureSettings capture_settings(JsonReader& capture) {
  constexpr uint64_t kMostPacket = 65535;
  CaptureSettings settings;
  settings.filters = read_capture_filters(capture);
  settings.overwrites = capture.flag("overwrite").value_or(true);
  if (const std::optional<uint64_t> size = capture.number("packet_size", 1, kMostPacket))
    settings.packet_size = static_cast<uint32_t>(*size);
  settings.is_pcapng = capture.choice("format", {"pcap", "pcapng"}).value_or("pcap") == "pcapng";
  return settings;
}

uint64_t dscp_of(JsonReader& pair) {
  constexpr uint64_t kDefault = 24;  // of the model
  std::optional<JsonReader> type = pair.object("connection_type");
  if (!type) return kDefault;
  type->only("choice", "reliable_connection");
  uint64_t dscp = kDefault;
  if (std::optional<JsonReader> reliable = type->object("reliable_connection")) {
    dscp = reliable->number("dscp", 0, 63).value_or(kDefault);
    reliable->only("source_qp_number", 2);
    reliable->only("ecn", "ect_1");
    reliable->only("udp_source_port", 49152);
    reliable->only("initial_psn", 0);
    reliable->only("virtual_address", "0000000000000000");
    reliable->only("remote_key", "00000000");
    reliable->end();
  }
  type->end();
  return dscp;
}

uint64_t message_of(JsonReader& flow) {
  const uint64_t size = flow.number("message_size", 1, 65535).value_or(1);
  const std::string unit = flow.choice("message_size_unit", {"bytes", "kb", "mb", "gb"}).value_or("mb");
  const uint64_t factor = unit == "bytes" ? 1 : unit == "kb" ? 1'000 : unit == "mb" ? 1'000'000 : 1'000'000'000;
  if (size * factor > kMostMessage) flow.fail("message_size", fmt::format("more than {} bytes", kMostMessage));
  return size * factor;
}

/// How the payload travels; data with an immediate is told of by one, as rankwire's receivers always want it.
std::string verb_of(JsonReader& flow) {
  std::optional<JsonReader> verb = flow.object("rocev2_verb");
  const std::string name =
      !verb ? "write"
            : verb->choice("choice", {"write", "write_with_immediate", "send", "send_with_immediate", "read"})
                  .value_or("write");
  if (verb) {
    for (const char* immediate : {"write_with_immediate", "send_with_immediate"})
      if (std::optional<JsonReader> data = verb->object(immediate)) {
        data->only("immediate_data", "00000000");
        data->end();
      }
    verb->end();
  }
  if (name == "send") flow.fail("rocev2_verb.choice", "'send' is not served; send_with_immediate is");
  return name == "write"                  ? "write_then_imm"
         : name == "write_with_immediate" ? "write_imm"
         : name == "read"                 ? "read"
                                          : "send_imm";
}

/// What is served of the options of a configuration is what changes nothing.
void read_options(JsonReader& root) {
  std::optional<JsonReader> options = root.object("options");
  if (!options) return;
  if (std::optional<JsonReader> ports = options->object("port_options")) {
    ports->only("location_preemption", false);
    ports->only("data_integrity", false);
    ports->end();
  }
  options->end();
}

}  // namespace rankwire
