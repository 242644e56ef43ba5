// An RDMA device of this host, driven through verbs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/verbs/api.h"
#include "emulator/nic_check/nic_under_test.h"

namespace rankwire {

class VerbsNic final : public NicUnderTest {
 public:
  static constexpr uint32_t kGuardBytes = 64 << 10;

  /// `api` outlives it. `mac` is that of the frames that it sends. Throws Error when the device cannot be used.
  VerbsNic(VerbsApi& api, const VerbsPlace& place, const MacAddress& mac, uint32_t region_bytes);
  ~VerbsNic() override;

  const NicFacts& facts() const override { return facts_; }
  const NicRegion& region() const override { return region_; }
  uint32_t make_queue_pair(uint32_t depth) override;
  void connect(uint32_t queue_pair, const QueuePairPath& path) override;
  void destroy(uint32_t queue_pair) override;
  void post_receive(uint32_t queue_pair, uint64_t id, uint32_t offset, uint32_t bytes) override;
  void post(uint32_t queue_pair, const NicWork& work) override;
  std::vector<WorkCompletion> poll() override;
  void write_memory(uint32_t offset, std::span<const uint8_t> bytes) override;
  std::vector<uint8_t> read_memory(uint32_t offset, uint32_t bytes) override;
  std::vector<uint8_t> read_guard() override;
  std::vector<VerbsCounter> counters() override;
  std::string vanished() override;

 private:
  VerbsQueuePair& find(uint32_t queue_pair);

  VerbsApi& api_;
  const std::string device_;
  const uint32_t port_, gid_index_;
  NicFacts facts_;
  NicRegion region_;
  std::vector<uint8_t> memory_;
  std::unique_ptr<VerbsContext> context_;
  std::unique_ptr<VerbsRegion> registered_;
  std::unique_ptr<VerbsCompletionQueue> completions_;
  std::map<uint32_t, std::unique_ptr<VerbsQueuePair>> queue_pairs_;
};

}  // namespace rankwire
