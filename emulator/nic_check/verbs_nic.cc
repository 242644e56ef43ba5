#include "emulator/nic_check/verbs_nic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "dataplane/verbs/sysfs.h"

namespace rankwire {
namespace {

constexpr uint32_t kCompletions = 4096;

}  // namespace

VerbsNic::VerbsNic(VerbsApi& api, const VerbsPlace& place, const MacAddress& mac, uint32_t region_bytes)
    : api_(api),
      device_(place.device.name),
      port_(place.port.number),
      gid_index_(place.gid.index),
      facts_{place.device.name,
             mac,
             place.gid.ip,
             place.port.active_mtu,
             std::min({place.device.limits.initiated_reads, place.device.limits.answered_reads, 16u}),
             place.port.max_message},
      memory_(size_t{region_bytes} + kGuardBytes),
      context_(api.open(place.device)),
      registered_(context_->register_memory(std::span(memory_).first(region_bytes))),
      completions_(context_->make_completion_queue(kCompletions)) {
  region_ = {reinterpret_cast<uint64_t>(memory_.data()), region_bytes, registered_->remote_key()};
}

VerbsNic::~VerbsNic() = default;

uint32_t VerbsNic::make_queue_pair(uint32_t depth) {
  std::unique_ptr<VerbsQueuePair> made =
      context_->make_queue_pair(port_, {.sends = depth, .receives = depth}, *completions_, nullptr);
  const uint32_t number = made->number();
  queue_pairs_[number] = std::move(made);
  return number;
}

VerbsQueuePair& VerbsNic::find(uint32_t queue_pair) {
  const auto found = queue_pairs_.find(queue_pair);
  if (found == queue_pairs_.end()) fail_run("{}: there is no queue pair {}", device_, queue_pair);
  return *found->second;
}

void VerbsNic::connect(uint32_t queue_pair, const QueuePairPath& path) {
  QueuePairPath own = path;
  own.port = port_;
  own.gid_index = gid_index_;
  const ConnectOutcome outcome = find(queue_pair).connect(own);
  if (outcome.kind != ConnectOutcome::Kind::kConnected)
    fail_run("{}: a queue pair to {} cannot be connected: {}", device_, to_string(path.remote_gid), outcome.reason);
}

void VerbsNic::destroy(uint32_t queue_pair) {
  queue_pairs_.erase(queue_pair);
}

void VerbsNic::post_receive(uint32_t queue_pair, uint64_t id, uint32_t offset, uint32_t bytes) {
  const ReceiveWork work{id, region_.address + offset, bytes, registered_->local_key()};
  if (find(queue_pair).post({&work, 1}) != 1) fail_run("{}: a receive could not be posted", device_);
}

void VerbsNic::post(uint32_t queue_pair, const NicWork& work) {
  SendWork send;
  send.id = work.id;
  send.address = region_.address + work.offset;
  send.remote_address = work.remote_address;
  send.bytes = work.bytes;
  send.local_key = registered_->local_key();
  send.remote_key = work.remote_key;
  send.immediate = work.immediate;
  send.kind = work.kind;
  send.signalled = true;
  if (find(queue_pair).send({&send, 1}) != 1) fail_run("{}: a work request could not be posted", device_);
}

std::vector<WorkCompletion> VerbsNic::poll() {
  std::vector<WorkCompletion> all;
  std::array<WorkCompletion, VerbsApi::kBatch> some;
  while (true) {
    const std::optional<size_t> n = completions_->poll(some);
    if (!n) fail_run("{}: the completion queue cannot be read", device_);
    all.insert(all.end(), some.begin(), some.begin() + static_cast<int64_t>(*n));
    if (*n < some.size()) return all;
  }
}

void VerbsNic::write_memory(uint32_t offset, std::span<const uint8_t> bytes) {
  std::ranges::copy(bytes, memory_.begin() + offset);
}

std::vector<uint8_t> VerbsNic::read_memory(uint32_t offset, uint32_t bytes) {
  return {memory_.begin() + offset, memory_.begin() + offset + bytes};
}

std::vector<uint8_t> VerbsNic::read_guard() {
  return {memory_.begin() + region_.bytes, memory_.end()};
}

std::string VerbsNic::vanished() {
  if (std::ranges::binary_search(VerbsSysfs().devices(), device_)) return {};
  return fmt::format("RDMA device {}: it is not there any more", device_);
}

std::vector<VerbsCounter> VerbsNic::counters() {
  return api_.counters(device_, port_);
}

}  // namespace rankwire
