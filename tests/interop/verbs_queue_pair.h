// A Reliable Connection queue pair of libibverbs with its memory, and the payloads that it sends and compares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/interop/verbs_device.h"

namespace verbs {

/// A payload is 64-bit little-endian words: word i is key + i x 0x9E3779B97F4A7C15, the last one cut off.
uint64_t message_key(size_t connection, uint32_t index);
void write_payload(uint64_t key, uint8_t* out, size_t bytes);
/// The first min(8, bytes) bytes, zero-extended.
uint64_t key_of(const uint8_t* payload, size_t bytes);
bool is_payload(const uint8_t* payload, size_t bytes);

/// One end as its peer must know it.
struct End {
  uint32_t queue_pair = 0, psn = 0, rkey = 0;
  uint64_t address = 0;
};

/// Where a queue pair's packets go.
struct Route {
  ibv_gid remote;
  uint8_t local_gid = 0;  ///< index
  uint8_t traffic_class = 0;
  uint32_t mtu = 1024;
};

/// What a queue pair carries: whole messages, or of each the part that begins at `offset`.
struct Part {
  size_t bytes = 0, offset = 0;
};

/// Its memory: what the other end writes to, `depth` messages to be sent, 2 x `depth` to be received.
class QueuePair {
 public:
  QueuePair(const Device& device, ibv_cq* completions, size_t ordinal, const Part& part, uint32_t depth);

  End own_end() const;
  void connect(const End& remote, const Route& route);

  /// Messages to be sent. `slot` < depth; `immediate` is used where the operation has one.
  uint8_t* outgoing(uint32_t slot) { return place(1 + slot); }
  void post(ibv_wr_opcode opcode, uint32_t immediate, uint32_t slot, size_t bytes);
  void read(uint64_t address, uint32_t rkey, uint32_t slot, size_t bytes);
  /// Messages to be received. `slot` < 2 x depth.
  uint8_t* incoming(uint32_t slot) { return place(1 + depth_ + slot); }
  void post_receive(uint32_t slot);

  /// What the other end has written last.
  const uint8_t* target() const { return memory_.data() + part_.offset; }
  size_t bytes() const { return part_.bytes; }
  uint32_t depth() const { return depth_; }
  uint32_t rkey() const { return region_->rkey; }

  /// Of a completion: which queue pair and which slot. Receives and READs name an incoming slot.
  static size_t ordinal_of(const ibv_wc& completion) { return completion.wr_id >> 32; }
  static uint32_t slot_of(const ibv_wc& completion) { return static_cast<uint32_t>(completion.wr_id); }

 private:
  // A few packets before the numbers wrap round.
  uint32_t first_psn() const { return 0xFFFFFC - static_cast<uint32_t>(ordinal_); }
  uint8_t* place(size_t i) { return memory_.data() + i * stride_; }
  void modify(ibv_qp_attr& attributes, int mask, const char* state);
  void send(ibv_send_wr& request, uint8_t* memory, size_t bytes, uint32_t slot);

  size_t ordinal_;
  Part part_;
  size_t stride_;
  uint32_t depth_;
  std::vector<uint8_t> memory_;
  Owned<ibv_mr> region_;
  Owned<ibv_qp> qp_;
  End remote_;
};

}  // namespace verbs
