#include "emulator/assembly/port_certification.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/affinity.h"
#include "base/clock.h"
#include "base/on_threads.h"
#include "dataplane/ports/rate_probe.h"

namespace rankwire {
namespace {

/// What a worker sends from.
struct Share {
  std::vector<PortId> ids;
  std::vector<ProbedPort> queues;
  ProbeResults results;
};

/// Those without a link send nothing: a driver may take their frames all the same.
using Linkless = std::map<PortId, std::string>;

Linkless linkless_ports(const Setup& setup, const Testbed& testbed) {
  Linkless linkless;
  for (const Nic& nic : setup.plan.transport.nics)
    if (const std::string trouble = testbed.link_trouble(nic.port); !trouble.empty())
      linkless.try_emplace(nic.port, trouble);
  return linkless;
}

std::vector<Share> shares_of(const Setup& setup, Testbed& testbed, const WorkerShares& workers,
                             const Linkless& linkless) {
  std::map<PortId, const Nic*> nics;  // the first of each port
  for (const Nic& nic : setup.plan.transport.nics) nics.try_emplace(nic.port, &nic);
  std::vector<Share> shares(workers.workers());
  PortId port;
  uint32_t queue = 0;
  for (const PortBinding& binding : testbed.ports()) {
    queue = std::exchange(port, binding.id) == binding.id ? queue + 1 : 0;
    const auto nic = nics.find(binding.id);
    if (nic == nics.end() || linkless.contains(binding.id)) continue;
    Share& share = shares[workers.of_queue(binding.id, queue)];
    share.ids.push_back(binding.id);
    share.queues.push_back({binding.port, binding.rate, nic->second->mac, nic->second->vlan});
  }
  return shares;
}

/// Adds what one of its queues did.
void add(const ProbeResult& queue, PortCertificate& port) {
  port.frames += queue.frames, port.returned += queue.returned;
  port.errors.resize(std::max(port.errors.size(), queue.errors.size()), -1);
  for (size_t i = 0; i < queue.errors.size(); ++i) port.errors[i] = std::max(port.errors[i], queue.errors[i]);
  port.slipped = std::max(port.slipped, queue.slipped);
  port.worst_stall = std::max(port.worst_stall, queue.worst_stall);
}

}  // namespace

std::vector<PortCertificate> certify_ports(const Setup& setup, Testbed& testbed, const WorkerShares& workers,
                                           std::span<const uint32_t> cpus, const std::atomic<bool>& interrupted) {
  Linkless linkless = linkless_ports(setup, testbed);
  std::vector<Share> shares = shares_of(setup, testbed, workers, linkless);
  const ProbeOptions options{.payload = *setup.config.transport.mtu, .catch_up = setup.config.transport.catch_up};
  const std::thread::id own = std::this_thread::get_id();
  const auto work = [&](size_t worker) {
    std::shared_ptr<void> entered;
    if (std::this_thread::get_id() != own) entered = testbed.enter_thread();
    std::optional<PinnedThread> pinned;
    if (!cpus.empty()) pinned.emplace(cpus[worker]);
    RealClock clock(setup.config.dilation.factor);
    shares[worker].results = probe_rates(shares[worker].queues, options, clock, interrupted);
  };
  if (const std::exception_ptr error = on_threads(workers.workers(), shares.size(), work))
    std::rethrow_exception(error);
  std::map<PortId, PortCertificate> ports;
  for (const Share& share : shares)
    for (size_t i = 0; i < share.ids.size(); ++i) add(share.results.ports[i], ports[share.ids[i]]);
  // One whose link went meanwhile has no figures, either.
  linkless.merge(linkless_ports(setup, testbed));
  for (const auto& [id, trouble] : linkless) {
    PortCertificate without;
    without.link_trouble = trouble;
    ports[id] = std::move(without);
  }
  std::vector<PortCertificate> all;
  for (auto& [id, port] : ports) {
    port.port = setup.config.ports[id.value].name;
    all.push_back(std::move(port));
  }
  return all;
}

}  // namespace rankwire
