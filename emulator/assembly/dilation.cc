#include "emulator/assembly/dilation.h"

#include <fmt/format.h>

#include "emulator/input/units.h"

namespace rankwire {
namespace {

/// Rounded to the nearest picosecond.
Duration of_job(Duration on_wall, uint32_t factor) {
  return Duration((on_wall.ps + factor / 2) / factor);
}

std::string text(Duration duration) {
  return print_quantity(duration.ps, kDurationScale);
}

std::string text(Bytes bytes) {
  return print_quantity(bytes.count, kSizeScale);
}

void note_latency(std::vector<std::string>& notes, const char* what, Duration on_wall, Duration job, uint32_t factor) {
  const Duration met = of_job(on_wall, factor);
  if (met != job)
    notes.push_back(fmt::format("dilation: the device's {} of {} is {} to the job, whose own network has {}", what,
                                text(on_wall), text(met), text(job)));
}

}  // namespace

bool has_unstretched_device(const RunConfig& config) {
  return config.dilation.factor > 1 && !config.ports.empty() && !config.ports.front().embedded();
}

RunConfig on_wires(RunConfig config) {
  if (!has_unstretched_device(config)) return config;
  const uint32_t factor = config.dilation.factor;
  const DilatedDeviceConfig& device = config.dilation.device;
  SwitchConfig& met = config.embedded_switch;
  met.latency = of_job(device.latency.value_or(met.latency), factor);
  met.link_latency = of_job(device.link_latency.value_or(met.link_latency), factor);
  met.buffer = device.buffer.value_or(met.buffer);
  if (device.ecn_threshold) met.ecn_threshold = device.ecn_threshold;
  return config;
}

std::vector<std::string> unstretched(const RunConfig& config) {
  std::vector<std::string> notes;
  if (!has_unstretched_device(config)) return notes;
  const SwitchConfig& job = config.embedded_switch;
  const DilatedDeviceConfig& device = config.dilation.device;
  const uint32_t factor = config.dilation.factor;
  note_latency(notes, "latency", device.latency.value_or(job.latency), job.latency, factor);
  note_latency(notes, "link latency", device.link_latency.value_or(job.link_latency), job.link_latency, factor);
  if (device.buffer && device.buffer != job.buffer)
    notes.push_back(fmt::format("dilation: the device's buffer has {}, that of the job's own network {}",
                                text(*device.buffer), text(job.buffer)));
  if (device.ecn_threshold && device.ecn_threshold != job.ecn_threshold)
    notes.push_back(fmt::format("dilation: the device marks from {} on, the job's own network {}",
                                text(*device.ecn_threshold),
                                job.ecn_threshold ? "from " + text(*job.ecn_threshold) : "not at all"));
  return notes;
}

}  // namespace rankwire
