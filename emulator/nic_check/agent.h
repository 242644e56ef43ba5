// The driver of a NIC in another process: `agent` serves it, AgentNic is asked in its place. One JSON object a line
// each way; docs/nic-check.md has the protocol.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "emulator/nic_check/agent_texts.h"
#include "emulator/nic_check/line_socket.h"
#include "emulator/nic_check/nic_under_test.h"

namespace rankwire {

/// Serves one client after the other until `interrupted`. Who does not know the token is told so and closed. A request
/// that cannot be done is answered by its reason; memory outside the region is never touched.
void serve_agent(NicUnderTest& nic, LineListener& listener, const std::string& token,
                 const std::atomic<bool>& interrupted);

class AgentNic final : public NicUnderTest {
 public:
  /// Connects. Throws Error(kRun) naming the agent when nobody answers, the token is wrong or an answer is not what it
  /// should be, then with the field.
  AgentNic(const std::string& address, const std::string& token);

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
  /// Its answer. Throws Error(kRun) naming the agent. One that is lost is not asked again: the reason stays.
  AgentJson ask(const AgentJson& request);
  std::string answer_to(const std::string& request);
  void take_facts(const AgentJson& facts);

  const std::string address_;
  std::string lost_;  ///< why it cannot be asked any more; empty: it can
  LineSocket socket_;
  NicFacts facts_;
  NicRegion region_;
};

}  // namespace rankwire
