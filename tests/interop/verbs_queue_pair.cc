#include "tests/interop/verbs_queue_pair.h"

#include <algorithm>
#include <bit>

namespace verbs {
namespace {

constexpr uint64_t kPayloadStep = 0x9E3779B97F4A7C15u;
// 4.096 us x 2^17 = 0.54 s: an emulated guest easily takes longer for an answer than the usual 67 ms.
constexpr uint8_t kAckTimeout = 17;
constexpr uint8_t kReads = 16;         // outstanding in either direction
constexpr size_t kSmallestPlace = 64;  // a control message fits
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

}  // namespace

uint64_t message_key(size_t connection, uint32_t index) {
  return (uint64_t{connection + 1} << 32 | (index + 1)) * 0xD1342543DE82EF95u;
}

void write_payload(uint64_t key, uint8_t* out, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 8, key += kPayloadStep)
    std::memcpy(out + at, &key, std::min<size_t>(8, bytes - at));
}

uint64_t key_of(const uint8_t* payload, size_t bytes) {
  uint64_t key = 0;
  std::memcpy(&key, payload, std::min<size_t>(8, bytes));
  return key;
}

bool is_payload(const uint8_t* payload, size_t bytes) {
  uint64_t word = key_of(payload, bytes);
  for (size_t at = 0; at < bytes; at += 8, word += kPayloadStep)
    if (std::memcmp(payload + at, &word, std::min<size_t>(8, bytes - at)) != 0) return false;
  return true;
}

QueuePair::QueuePair(const Device& device, ibv_cq* completions, size_t ordinal, const Part& part, uint32_t depth)
    : ordinal_(ordinal),
      part_(part),
      stride_(std::max(part.offset + part.bytes, kSmallestPlace)),
      depth_(depth),
      memory_((1 + 3 * depth) * stride_) {
  region_ = made(ibv_reg_mr(device.domain.get(), memory_.data(), memory_.size(), kAccess), "ibv_reg_mr");
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = completions;
  attributes.qp_type = IBV_QPT_RC;
  // Each message received may be read by one request and acknowledged by another.
  attributes.cap = {.max_send_wr = 4 * depth, .max_recv_wr = 2 * depth, .max_send_sge = 1, .max_recv_sge = 1};
  qp_ = made(ibv_create_qp(device.domain.get(), &attributes), "ibv_create_qp");
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = kPort;
  init.qp_access_flags = kAccess;
  modify(init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
}

End QueuePair::own_end() const {
  return {qp_->qp_num, first_psn(), region_->rkey, reinterpret_cast<uint64_t>(memory_.data())};
}

void QueuePair::connect(const End& remote, const Route& route) {
  remote_ = remote;
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = static_cast<ibv_mtu>(std::bit_width(route.mtu) - 8);  // IBV_MTU_256 is 1
  receive.dest_qp_num = remote.queue_pair;
  receive.rq_psn = remote.psn;
  receive.max_dest_rd_atomic = kReads;
  receive.min_rnr_timer = 12;  // 0.64 ms
  receive.ah_attr.is_global = 1;
  receive.ah_attr.port_num = kPort;
  receive.ah_attr.grh.sgid_index = route.local_gid;
  receive.ah_attr.grh.hop_limit = 64;
  receive.ah_attr.grh.traffic_class = route.traffic_class;
  receive.ah_attr.grh.dgid = route.remote;
  modify(receive,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
             IBV_QP_MIN_RNR_TIMER,
         "RTR");
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.timeout = kAckTimeout;
  send.retry_cnt = 7;
  send.rnr_retry = 7;
  send.sq_psn = first_psn();
  send.max_rd_atomic = kReads;
  modify(send,
         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
         "RTS");
}

void QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* state) {
  check(ibv_modify_qp(qp_.get(), &attributes, mask), state);
}

void QueuePair::post(ibv_wr_opcode opcode, uint32_t immediate, uint32_t slot, size_t bytes) {
  ibv_send_wr request{};
  request.opcode = opcode;
  request.imm_data = htonl(immediate);
  request.wr.rdma = {.remote_addr = remote_.address + part_.offset, .rkey = remote_.rkey};
  send(request, outgoing(slot), bytes, slot);
}

void QueuePair::read(uint64_t address, uint32_t rkey, uint32_t slot, size_t bytes) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_READ;
  request.wr.rdma = {.remote_addr = address, .rkey = rkey};
  send(request, incoming(slot), bytes, slot);
}

void QueuePair::send(ibv_send_wr& request, uint8_t* memory, size_t bytes, uint32_t slot) {
  ibv_sge piece{reinterpret_cast<uint64_t>(memory), static_cast<uint32_t>(bytes), region_->lkey};
  request.wr_id = uint64_t{ordinal_} << 32 | slot;
  request.sg_list = &piece;
  request.num_sge = bytes > 0 ? 1 : 0;
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* refused = nullptr;
  check(ibv_post_send(qp_.get(), &request, &refused), "ibv_post_send");
}

void QueuePair::post_receive(uint32_t slot) {
  ibv_sge piece{reinterpret_cast<uint64_t>(incoming(slot)), static_cast<uint32_t>(stride_), region_->lkey};
  ibv_recv_wr request{};
  request.wr_id = uint64_t{ordinal_} << 32 | slot;
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  check(ibv_post_recv(qp_.get(), &request, &refused), "ibv_post_recv");
}

}  // namespace verbs
