#include "emulator/input/validate_workers.h"

#include <cstdint>
#include <set>

namespace rankwire {

namespace {

/// DPDK cannot close a virtio-user device that others connect to, and none else may have its name.
void check_repeat(const RunConfig& config, const Tree& root) {
  if (config.run.repeat == 1) return;
  for (const PortConfig& port : config.ports) {
    if (port.device.find("server=1") != port.device.npos)
      fail_key(root, "run.repeat", "port '{}' is a virtio-user server, which a process can open once", port.name);
  }
}

/// A part of the switch sees what is for its ports alone.
void check_sharded(const RunConfig& config, const Tree& root) {
  if (config.embedded_switch.core != SwitchCore::kSharded) return;
  const auto fail = [&](const char* what, const char* why) {
    fail_key(root, "switch.core", "'sharded' does not go with '{}': {}; take 'shared' or 'own'", what, why);
  };
  if (config.fabric) fail("fabric", "what passes its cables concerns several workers");
  if (config.capture) fail("record.capture", "no thread sees all frames in their order");
  if (config.fabric_interval) fail("record.fabric_interval", "no thread sees all queues at a time");
}

}  // namespace

void validate_workers(const RunConfig& config, const Tree& root) {
  check_repeat(config, root);
  check_sharded(config, root);
  const WorkersConfig& workers = config.workers;
  const std::set<uint32_t> cores(workers.cores.begin(), workers.cores.end());
  if (cores.size() != workers.cores.size()) fail_key(root, "workers.cores", "names a CPU twice");
  const Tree* const section = root.find("workers");
  const bool counted = section != nullptr && section->find("count") != nullptr && workers.count;
  if (counted && !cores.empty() && cores.size() != *workers.count)
    fail_key(root, "workers.cores", "names {} CPUs for {} workers; each has one", cores.size(), *workers.count);
  const size_t count = !cores.empty() ? cores.size() : workers.count.value_or(1);
  const char* const key = counted || cores.empty() ? "workers.count" : "workers.cores";
  size_t queues = 0;
  for (const PortConfig& port : config.ports) queues += port.queues;
  if (count > queues)
    fail_key(root, key, "{} workers, but {} ports with {} queues in all: each worker has one queue at least", count,
             config.ports.size(), queues);
  if (count == 1 && cores.empty()) return;
  if (config.run.cpu) fail_key(root, "run.cpu", "contradicts 'workers', of which 'cores' names the CPUs");
  if (count > 1 && config.transport.verb == VerbName::kRead && config.run.continue_on_failure)
    fail_key(root, "run.on_failure",
             "'continue' with 'verb: read' needs one worker: the source of a message would wait for a READ that has "
             "failed at another");
  if (count > 1 && !config.impairments.empty())
    fail_key(root, key, "impairments are counted over all ports, which one worker must have: leave it at 1");
}

}  // namespace rankwire
