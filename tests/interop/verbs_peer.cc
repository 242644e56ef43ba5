// The other end of an interoperation test: Reliable Connection queue pairs of libibverbs on the first RDMA device.
// Driven by lines on standard input; every command is answered by lines of results and then `ok`, or by `error TEXT`.
//
//   open MTU DEPTH SIZE...                     one queue pair a message size -> end QPN PSN RKEY ADDRESS for each
//   connect IP {QPN PSN RKEY ADDRESS}...       the other ends, in the same order
//   write FIRST COUNT, write_imm FIRST COUNT   messages FIRST .. FIRST + COUNT - 1 on every queue pair, at most DEPTH,
//                                              each to the start of the other end's memory, until all are acknowledged
//   receive COUNT                              COUNT writes with immediate on every queue pair; compares the memory at
//                                              each completion -> received CONNECTION INDEX BYTES KEY right|wrong
//   close
//
// A payload is 64-bit little-endian words: word i is key + i x 0x9E3779B97F4A7C15, the last one cut off.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr uint64_t kPayloadStep = 0x9E3779B97F4A7C15u;
constexpr uint8_t kPort = 1;
// 4.096 us x 2^17 = 0.54 s: an emulated guest easily takes longer for an answer than the usual 67 ms.
constexpr uint8_t kAckTimeout = 17;
constexpr std::chrono::seconds kDeadline{30};

struct Delete {
  void operator()(ibv_context* p) const { ibv_close_device(p); }
  void operator()(ibv_pd* p) const { ibv_dealloc_pd(p); }
  void operator()(ibv_comp_channel* p) const { ibv_destroy_comp_channel(p); }
  void operator()(ibv_cq* p) const { ibv_destroy_cq(p); }
  void operator()(ibv_mr* p) const { ibv_dereg_mr(p); }
  void operator()(ibv_qp* p) const { ibv_destroy_qp(p); }
};
template <class Object>
using Owned = std::unique_ptr<Object, Delete>;

template <class Object>
Owned<Object> made(Object* object, const char* call) {
  if (object == nullptr) throw std::runtime_error(std::string(call) + ": " + std::strerror(errno));
  return Owned<Object>(object);
}

void check(int status, const char* call) {
  if (status != 0) throw std::runtime_error(std::string(call) + ": " + std::strerror(status));
}

uint64_t message_key(size_t connection, uint32_t index) {
  return (uint64_t{connection + 1} << 32 | (index + 1)) * 0xD1342543DE82EF95u;
}

void write_payload(uint64_t key, uint8_t* out, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 8, key += kPayloadStep)
    std::memcpy(out + at, &key, std::min<size_t>(8, bytes - at));
}

// The first min(8, bytes) bytes, zero-extended.
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

struct RemoteEnd {
  uint32_t queue_pair = 0, psn = 0, rkey = 0;
  uint64_t address = 0;
};

struct Device {
  Device() {
    ibv_device** const list = ibv_get_device_list(nullptr);
    if (list == nullptr || *list == nullptr) throw std::runtime_error("no RDMA device");
    context = made(ibv_open_device(*list), "ibv_open_device");
    ibv_free_device_list(list);
    domain = made(ibv_alloc_pd(context.get()), "ibv_alloc_pd");
    channel = made(ibv_create_comp_channel(context.get()), "ibv_create_comp_channel");
  }
  // The index of the IPv4 address ::ffff:a.b.c.d among the port's GIDs.
  uint8_t ipv4_gid() const {
    static constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    ibv_gid gid;
    for (uint8_t i = 0; i < 16 && ibv_query_gid(context.get(), kPort, i, &gid) == 0; ++i)
      if (std::memcmp(gid.raw, kMapped, sizeof kMapped) == 0) return i;
    throw std::runtime_error("no IPv4 GID");
  }

  Owned<ibv_context> context;
  Owned<ibv_pd> domain;
  Owned<ibv_comp_channel> channel;
};

/// A queue pair and its memory: what the other end writes to, then `depth` messages to be sent.
class QueuePair {
 public:
  QueuePair(const Device& device, ibv_cq* completions, size_t ordinal, size_t bytes, uint32_t depth)
      : ordinal_(ordinal), bytes_(bytes), depth_(depth), memory_((depth + 1) * std::max<size_t>(bytes, 8)) {
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    region_ = made(ibv_reg_mr(device.domain.get(), memory_.data(), memory_.size(), access), "ibv_reg_mr");
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = completions;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {.max_send_wr = depth, .max_recv_wr = 2 * depth, .max_send_sge = 1, .max_recv_sge = 1};
    qp_ = made(ibv_create_qp(device.domain.get(), &attributes), "ibv_create_qp");
    ibv_qp_attr init{};
    init.qp_state = IBV_QPS_INIT;
    init.port_num = kPort;
    init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    modify(init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
    for (uint32_t i = 0; i < 2 * depth; ++i) post_receive();
  }

  void connect(const RemoteEnd& remote, in_addr ip, uint32_t mtu, uint8_t gid) {
    remote_ = remote;
    ibv_qp_attr receive{};
    receive.qp_state = IBV_QPS_RTR;
    receive.path_mtu = static_cast<ibv_mtu>(std::bit_width(mtu) - 8);  // IBV_MTU_256 is 1
    receive.dest_qp_num = remote.queue_pair;
    receive.rq_psn = remote.psn;
    receive.max_dest_rd_atomic = 1;
    receive.min_rnr_timer = 12;  // 0.64 ms
    receive.ah_attr.is_global = 1;
    receive.ah_attr.port_num = kPort;
    receive.ah_attr.grh.sgid_index = gid;
    receive.ah_attr.grh.hop_limit = 64;
    receive.ah_attr.grh.dgid.raw[10] = receive.ah_attr.grh.dgid.raw[11] = 0xFF;
    std::memcpy(receive.ah_attr.grh.dgid.raw + 12, &ip, sizeof ip);
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
    send.max_rd_atomic = 1;
    modify(
        send,
        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
        "RTS");
  }

  void post_write(ibv_wr_opcode opcode, uint32_t index, uint32_t slot) {
    uint8_t* const payload = memory_.data() + (slot + 1) * std::max<size_t>(bytes_, 8);
    write_payload(message_key(ordinal_, index), payload, bytes_);
    ibv_sge piece{reinterpret_cast<uint64_t>(payload), static_cast<uint32_t>(bytes_), region_->lkey};
    ibv_send_wr request{};
    request.wr_id = ordinal_;
    request.sg_list = &piece;
    request.num_sge = bytes_ > 0 ? 1 : 0;
    request.opcode = opcode;
    request.send_flags = IBV_SEND_SIGNALED;
    request.imm_data = htonl(index);
    request.wr.rdma.remote_addr = remote_.address;
    request.wr.rdma.rkey = remote_.rkey;
    ibv_send_wr* refused = nullptr;
    check(ibv_post_send(qp_.get(), &request, &refused), "ibv_post_send");
  }

  void post_receive() {
    ibv_recv_wr request{};
    request.wr_id = ordinal_;
    ibv_recv_wr* refused = nullptr;
    check(ibv_post_recv(qp_.get(), &request, &refused), "ibv_post_recv");
  }

  RemoteEnd own_end() const {
    return {qp_->qp_num, first_psn(), region_->rkey, reinterpret_cast<uint64_t>(memory_.data())};
  }
  const uint8_t* memory() const { return memory_.data(); }
  uint32_t depth() const { return depth_; }

 private:
  // A few packets before the numbers wrap round.
  uint32_t first_psn() const { return 0xFFFFFC - static_cast<uint32_t>(ordinal_); }
  void modify(ibv_qp_attr& attributes, int mask, const char* state) {
    check(ibv_modify_qp(qp_.get(), &attributes, mask), state);
  }

  size_t ordinal_, bytes_;
  uint32_t depth_;
  std::vector<uint8_t> memory_;
  Owned<ibv_mr> region_;
  Owned<ibv_qp> qp_;
  RemoteEnd remote_;
};

class Peer {
 public:
  void open(std::istream& words) {
    close();
    uint32_t depth = 0;
    words >> mtu_ >> depth;
    completions_ = made(ibv_create_cq(device_.context.get(), 4096, nullptr, device_.channel.get(), 0), "ibv_create_cq");
    check(ibv_req_notify_cq(completions_.get(), 0), "ibv_req_notify_cq");
    for (size_t bytes; words >> bytes;)
      pairs_.push_back(std::make_unique<QueuePair>(device_, completions_.get(), pairs_.size(), bytes, depth));
    for (const auto& pair : pairs_) {
      const RemoteEnd end = pair->own_end();
      std::printf("end 0x%x 0x%x 0x%x 0x%llx\n", end.queue_pair, end.psn, end.rkey,
                  static_cast<unsigned long long>(end.address));
    }
  }

  void connect(std::istream& words) {
    std::string text;
    words >> text;
    in_addr ip;
    if (inet_pton(AF_INET, text.c_str(), &ip) != 1) throw std::runtime_error("no IPv4 address: " + text);
    words.unsetf(std::ios::basefield);
    for (const auto& pair : pairs_) {
      RemoteEnd remote;
      if (!(words >> remote.queue_pair >> remote.psn >> remote.rkey >> remote.address))
        throw std::runtime_error("an end is missing");
      pair->connect(remote, ip, mtu_, device_.ipv4_gid());
    }
  }

  void write(ibv_wr_opcode opcode, std::istream& words) {
    uint32_t first = 0, count = 0;
    words >> first >> count;
    for (const auto& pair : pairs_) {
      if (count > pair->depth()) throw std::runtime_error("more messages than a queue pair has room for");
      for (uint32_t i = 0; i < count; ++i) pair->post_write(opcode, first + i, i);
    }
    await(count * pairs_.size(), [](const ibv_wc&) {});
  }

  void receive(std::istream& words) {
    uint32_t count = 0;
    words >> count;
    await(count * pairs_.size(), [this](const ibv_wc& completion) {
      QueuePair& pair = *pairs_[completion.wr_id];
      if (completion.opcode != IBV_WC_RECV_RDMA_WITH_IMM) throw std::runtime_error("a completion of another kind");
      const uint32_t bytes = completion.byte_len;
      std::printf("received %zu %u %u 0x%llx %s\n", static_cast<size_t>(completion.wr_id), ntohl(completion.imm_data),
                  bytes, static_cast<unsigned long long>(key_of(pair.memory(), bytes)),
                  is_payload(pair.memory(), bytes) ? "right" : "wrong");
      pair.post_receive();
    });
  }

  void close() {
    pairs_.clear();
    completions_.reset();
  }

 private:
  // Sleeps until completions come: with one virtual processor, polling would keep the device itself from working.
  template <class Take>
  void await(size_t count, Take take) {
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    size_t done = 0;
    while (true) {
      ibv_wc completion;
      for (int n; (n = ibv_poll_cq(completions_.get(), 1, &completion)) != 0;) {
        if (n < 0) throw std::runtime_error("ibv_poll_cq");
        if (completion.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(completion.status));
        take(completion);
        ++done;
      }
      if (done >= count) return;
      if (std::chrono::steady_clock::now() > end)
        throw std::runtime_error("deadline: " + std::to_string(done) + " of " + std::to_string(count));
      wait_for_event();
    }
  }

  void wait_for_event() {
    pollfd channel{.fd = device_.channel->fd, .events = POLLIN, .revents = 0};
    if (::poll(&channel, 1, 100) <= 0) return;
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    check(ibv_get_cq_event(device_.channel.get(), &queue, &context), "ibv_get_cq_event");
    ibv_ack_cq_events(queue, 1);
    check(ibv_req_notify_cq(queue, 0), "ibv_req_notify_cq");
  }

  Device device_;
  uint32_t mtu_ = 0;
  Owned<ibv_cq> completions_;
  std::vector<std::unique_ptr<QueuePair>> pairs_;
};

void obey(Peer& peer, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  words >> verb;
  if (verb == "open") return peer.open(words);
  if (verb == "connect") return peer.connect(words);
  if (verb == "write") return peer.write(IBV_WR_RDMA_WRITE, words);
  if (verb == "write_imm") return peer.write(IBV_WR_RDMA_WRITE_WITH_IMM, words);
  if (verb == "receive") return peer.receive(words);
  if (verb == "close") return peer.close();
  throw std::runtime_error("no command: " + line);
}

}  // namespace

int main() {
  std::unique_ptr<Peer> peer;
  try {
    peer = std::make_unique<Peer>();
    std::printf("ok\n");
  } catch (const std::exception& error) {
    std::printf("error %s\n", error.what());
  }
  std::fflush(stdout);
  for (std::string line; peer && std::getline(std::cin, line);) {
    try {
      obey(*peer, line);
      std::printf("ok\n");
    } catch (const std::exception& error) {
      std::printf("error %s\n", error.what());
    }
    std::fflush(stdout);
  }
  return 0;
}
