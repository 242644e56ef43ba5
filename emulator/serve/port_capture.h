// What one port has sent and received, out of a run's capture.pcapng (docs/metrics.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "emulator/serve/capture_filter.h"

namespace rankwire {

/// How a port captures.
struct CaptureSettings {
  std::vector<FrameField> filters;      ///< all of which a frame has to match
  std::optional<uint32_t> packet_size;  ///< bytes of each frame; absent: all
  bool overwrites = true;               ///< what is old makes room; otherwise what is new is left out
  bool is_pcapng = false;               ///< otherwise pcap
};

/// Which frames are wanted.
struct CaptureSelection {
  uint64_t from = 0, to = UINT64_MAX;     ///< run time in picoseconds; 0: before the run, too
  uint64_t first = 1, most = UINT64_MAX;  ///< of those that match, the first one's number from 1, and how many
};

struct PortCapture {
  std::string file;    ///< a whole file in the format of the settings
  uint64_t bytes = 0;  ///< that frames of all ports take in the run's file
  uint64_t last = 0;   ///< run time in picoseconds of the last frame there
};

/// Reads `file`, which may still grow; one that is not there has no frames. Directions are those of the port of the
/// traffic generator, which `interface` is opposite of: what that received was sent. `name` of the port.
PortCapture read_port_capture(const std::filesystem::path& file, const std::string& interface, const std::string& name,
                              const CaptureSettings& settings, const CaptureSelection& selection);

}  // namespace rankwire
