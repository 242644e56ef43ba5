// The rankwire configuration of a run that a client asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>

#include "emulator/serve/json_reader.h"
#include "emulator/serve/otg_config.h"

namespace rankwire {

/// Bytes of frames with what is said of each that a run whose ports capture keeps at most, of all ports together.
inline constexpr uint64_t kCaptureMemory = 256 << 20;

/// A configuration, YAML, whose flows send until the run is ended, or for `longest`: each is an entry of `background`
/// of the same name, beside a job that computes for so long. Its rates are those of the line, headers included. There
/// is no `ai_workload`. `capture`: bytes for what ports capture, where one does.
std::string run_configuration(const OtgConfig& config, std::chrono::seconds longest, uint64_t capture = kCaptureMemory);

/// What a client's own configuration, the YAML file `file`, may not have: a path out of the folder of the run, a device
/// that is not among `devices`, a section that does more than describe a run. Appends to `errors`; throws Error(kInput)
/// for what is no YAML.
void check_confined(const std::filesystem::path& file, std::span<const std::string> devices, RequestErrors& errors);

/// What the ports of a configuration, YAML, need for themselves: PCI addresses where the system knows them, otherwise
/// names of interfaces and devices. Ports of the embedded switch need nothing that others could have. Throws
/// Error(kInput) for what is no YAML.
std::set<std::string> devices_of(const std::string& configuration);

/// What a text of `ports[].device` or `ports[].verbs` names: an interface, RDMA device or PCI address without options,
/// or a virtual device that stands on none of these, as a whole. Empty: of the embedded switch, or none.
std::string named_device(const std::string& text);

/// Whether a port may be `device`: one of the embedded switch, or one that whoever started the server named.
bool is_device_allowed(const std::string& device, std::span<const std::string> devices);

}  // namespace rankwire
