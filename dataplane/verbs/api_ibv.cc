// VerbsApi by libibverbs.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "base/error.h"
#include "dataplane/verbs/api.h"
#include "dataplane/verbs/events_ibv.h"

namespace rankwire {
namespace {

static_assert(IBV_WC_SUCCESS == static_cast<int>(WorkStatus::kSuccess));
static_assert(IBV_WC_WR_FLUSH_ERR == static_cast<int>(WorkStatus::kFlushed));
static_assert(IBV_WC_REM_ACCESS_ERR == static_cast<int>(WorkStatus::kRemoteAccess));
static_assert(IBV_WC_RETRY_EXC_ERR == static_cast<int>(WorkStatus::kRetryExceeded));
static_assert(IBV_WC_RNR_RETRY_EXC_ERR == static_cast<int>(WorkStatus::kNotReadyExceeded));
static_assert(IBV_WC_GENERAL_ERR == static_cast<int>(WorkStatus::kGeneral));

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

using ContextHandle = std::unique_ptr<ibv_context, decltype(&ibv_close_device)>;
using DomainHandle = std::unique_ptr<ibv_pd, decltype(&ibv_dealloc_pd)>;
using RegionHandle = std::unique_ptr<ibv_mr, int (*)(ibv_mr*)>;
using CompletionHandle = std::unique_ptr<ibv_cq, decltype(&ibv_destroy_cq)>;
using SharedHandle = std::unique_ptr<ibv_srq, decltype(&ibv_destroy_srq)>;
using QueuePairHandle = std::unique_ptr<ibv_qp, decltype(&ibv_destroy_qp)>;

int deregister(ibv_mr* region) {
  return ibv_dereg_mr(region);
}

class Region final : public VerbsRegion {
 public:
  explicit Region(RegionHandle region) : region_(std::move(region)) {}
  uint32_t local_key() const noexcept override { return region_->lkey; }
  uint32_t remote_key() const noexcept override { return region_->rkey; }

 private:
  RegionHandle region_;
};

class CompletionQueue final : public VerbsCompletionQueue {
 public:
  explicit CompletionQueue(CompletionHandle queue) : queue_(std::move(queue)) {}
  ibv_cq* handle() const { return queue_.get(); }

  std::optional<size_t> poll(std::span<WorkCompletion> completions) noexcept override {
    const int most = static_cast<int>(std::min(completions.size(), polled_.size()));
    const int n = ibv_poll_cq(queue_.get(), most, polled_.data());
    if (n < 0) return std::nullopt;
    for (int i = 0; i < n; ++i) {
      const ibv_wc& polled = polled_[static_cast<size_t>(i)];
      completions[static_cast<size_t>(i)] = {
          .id = polled.wr_id,
          .queue_pair = polled.qp_num,
          .bytes = polled.byte_len,
          .immediate = ntohl(polled.imm_data),
          .vendor_error = polled.vendor_err,
          .status = polled.status < static_cast<int>(kWorkStatuses) ? static_cast<WorkStatus>(polled.status)
                                                                    : WorkStatus::kGeneral,
          .has_immediate = polled.status == IBV_WC_SUCCESS && (polled.wc_flags & IBV_WC_WITH_IMM) != 0};
    }
    return static_cast<size_t>(n);
  }

 private:
  CompletionHandle queue_;
  std::array<ibv_wc, VerbsApi::kBatch> polled_;
};

// `post_chain(first, bad)` posts a chain of requests; returns how many were taken.
template <class Request, class PostChain>
size_t post_linked(std::span<Request> requests, PostChain post_chain) noexcept {
  if (requests.empty()) return 0;
  for (size_t i = 0; i + 1 < requests.size(); ++i) requests[i].next = &requests[i + 1];
  requests.back().next = nullptr;
  Request* bad = nullptr;
  if (post_chain(requests.data(), &bad) == 0) return requests.size();
  return bad == nullptr ? 0 : static_cast<size_t>(bad - requests.data());
}

/// Receives in the form of libibverbs.
class ReceiveChain {
 public:
  std::span<ibv_recv_wr> make(std::span<const ReceiveWork> receives) noexcept {
    const size_t n = std::min(receives.size(), requests_.size());
    for (size_t i = 0; i < n; ++i) {
      const ReceiveWork& receive = receives[i];
      pieces_[i] = {.addr = receive.address, .length = receive.bytes, .lkey = receive.local_key};
      requests_[i] = {};
      requests_[i].wr_id = receive.id;
      requests_[i].sg_list = &pieces_[i];
      requests_[i].num_sge = receive.bytes > 0 ? 1 : 0;
    }
    return {requests_.data(), n};
  }

 private:
  std::array<ibv_recv_wr, VerbsApi::kBatch> requests_;
  std::array<ibv_sge, VerbsApi::kBatch> pieces_;
};

class SharedReceiveQueue final : public VerbsReceiveQueue {
 public:
  explicit SharedReceiveQueue(SharedHandle queue) : queue_(std::move(queue)) {}
  ibv_srq* handle() const { return queue_.get(); }
  size_t post(std::span<const ReceiveWork> receives) noexcept override {
    return post_linked(chain_.make(receives), [&](ibv_recv_wr* first, ibv_recv_wr** bad) {
      return ibv_post_srq_recv(queue_.get(), first, bad);
    });
  }

 private:
  SharedHandle queue_;
  ReceiveChain chain_;
};

constexpr ibv_wr_opcode opcode_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::kWrite:
      return IBV_WR_RDMA_WRITE;
    case WorkKind::kWriteImmediate:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case WorkKind::kSend:
      return IBV_WR_SEND;
    case WorkKind::kSendImmediate:
      return IBV_WR_SEND_WITH_IMM;
    case WorkKind::kRead:
      return IBV_WR_RDMA_READ;
  }
  return IBV_WR_SEND;
}

/// Work requests in the form of libibverbs; one thread posts, so one chain serves all queue pairs of a device.
class SendChain {
 public:
  std::span<ibv_send_wr> make(std::span<const SendWork> work) noexcept {
    const size_t n = std::min(work.size(), requests_.size());
    for (size_t i = 0; i < n; ++i) {
      const SendWork& item = work[i];
      pieces_[i] = {.addr = item.address, .length = item.bytes, .lkey = item.local_key};
      ibv_send_wr& request = requests_[i] = {};
      request.wr_id = item.id;
      request.sg_list = &pieces_[i];
      request.num_sge = item.bytes > 0 ? 1 : 0;
      request.opcode = opcode_of(item.kind);
      if (item.signalled) request.send_flags |= IBV_SEND_SIGNALED;
      if (item.by_value) request.send_flags |= IBV_SEND_INLINE;
      request.imm_data = htonl(item.immediate);
      request.wr.rdma = {.remote_addr = item.remote_address, .rkey = item.remote_key};
    }
    return {requests_.data(), n};
  }

 private:
  std::array<ibv_send_wr, VerbsApi::kBatch> requests_;
  std::array<ibv_sge, VerbsApi::kBatch> pieces_;
};

ibv_qp_attr ready_to_receive(const QueuePairPath& path) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = static_cast<ibv_mtu>(std::bit_width(path.mtu) - 8);  // IBV_MTU_256 is 1
  attributes.dest_qp_num = path.remote_queue_pair;
  attributes.rq_psn = path.remote_psn;
  attributes.max_dest_rd_atomic = path.answered_reads;
  attributes.min_rnr_timer = path.not_ready_code;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.port_num = static_cast<uint8_t>(path.port);
  attributes.ah_attr.sl = path.service_level;
  attributes.ah_attr.grh.sgid_index = static_cast<uint8_t>(path.gid_index);
  attributes.ah_attr.grh.flow_label = path.flow_label;
  attributes.ah_attr.grh.hop_limit = path.hop_limit;
  attributes.ah_attr.grh.traffic_class = path.traffic_class;
  std::memcpy(attributes.ah_attr.grh.dgid.raw, path.remote_gid.bytes.data(), sizeof attributes.ah_attr.grh.dgid.raw);
  return attributes;
}

ibv_qp_attr ready_to_send(const QueuePairPath& path) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = path.timeout_exponent;
  attributes.retry_cnt = path.retry_count;
  attributes.rnr_retry = path.not_ready_retry_count;
  attributes.sq_psn = path.local_psn;
  attributes.max_rd_atomic = path.initiated_reads;
  return attributes;
}

class QueuePair final : public VerbsQueuePair {
 public:
  QueuePair(QueuePairHandle queue_pair, SendChain& sends, ReceiveChain& receives)
      : queue_pair_(std::move(queue_pair)), sends_(sends), receives_(receives) {}

  uint32_t number() const noexcept override { return queue_pair_->qp_num; }

  ConnectOutcome connect(const QueuePairPath& path) override {
    ibv_qp_attr receive = ready_to_receive(path);
    constexpr int kReceive = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (const int error = ibv_modify_qp(queue_pair_.get(), &receive, kReceive)) return refused(path, "RTR", error);
    ibv_qp_attr send = ready_to_send(path);
    constexpr int kSend =
        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
    if (const int error = ibv_modify_qp(queue_pair_.get(), &send, kSend)) return refused(path, "RTS", error);
    return {};
  }

  bool fail() noexcept override {
    ibv_qp_attr error{};
    error.qp_state = IBV_QPS_ERR;
    return ibv_modify_qp(queue_pair_.get(), &error, IBV_QP_STATE) == 0;
  }

  size_t send(std::span<const SendWork> work) noexcept override {
    return post_linked(sends_.make(work), [&](ibv_send_wr* first, ibv_send_wr** bad) {
      return ibv_post_send(queue_pair_.get(), first, bad);
    });
  }
  size_t post(std::span<const ReceiveWork> receives) noexcept override {
    return post_linked(receives_.make(receives), [&](ibv_recv_wr* first, ibv_recv_wr** bad) {
      return ibv_post_recv(queue_pair_.get(), first, bad);
    });
  }

 private:
  static ConnectOutcome refused(const QueuePairPath& path, const char* state, int error) {
    using Kind = ConnectOutcome::Kind;
    const std::string peer = to_string(path.remote_gid);
    if (error == ETIMEDOUT || error == EHOSTUNREACH)
      return {Kind::kNoNeighbour,
              fmt::format("the kernel found no link address of {} in time; see that it is there, or tell the kernel: "
                          "'ip neigh replace {} lladdr MAC dev INTERFACE nud permanent'",
                          peer, peer)};
    if (error == ENETUNREACH)
      return {Kind::kNoNeighbour, fmt::format("the kernel has no route to {}; see 'ip route get {}'", peer, peer)};
    return {Kind::kRefused, fmt::format("a queue pair to {} QP {:#x} did not become ready (state {}): {}", peer,
                                        path.remote_queue_pair, state, std::strerror(error))};
  }

  QueuePairHandle queue_pair_;
  SendChain& sends_;
  ReceiveChain& receives_;
};

class DeviceContext final : public VerbsContext {
 public:
  DeviceContext(std::string name, ContextHandle context, DomainHandle domain)
      : name_(std::move(name)), context_(std::move(context)), domain_(std::move(domain)) {}

  std::unique_ptr<VerbsRegion> register_memory(std::span<uint8_t> memory) override {
    RegionHandle region(ibv_reg_mr(domain_.get(), memory.data(), memory.size(), kAccess), deregister);
    if (region) return std::make_unique<Region>(std::move(region));
    const int error = errno;
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    const std::string locked =
        limit.rlim_cur == RLIM_INFINITY
            ? std::string()
            : fmt::format("the limit on locked memory is {} bytes: raise it with 'ulimit -l unlimited', or ",
                          limit.rlim_cur);
    fail_input("{}: {} bytes of memory cannot be registered ({}); {}lower transport.receive_queue", name_,
               memory.size(), std::strerror(error), locked);
  }

  std::unique_ptr<VerbsCompletionQueue> make_completion_queue(uint32_t entries) override {
    CompletionHandle queue(ibv_create_cq(context_.get(), static_cast<int>(entries), nullptr, nullptr, 0),
                           ibv_destroy_cq);
    if (!queue)
      fail_input(
          "{}: no completion queue of {} entries ({}); lower transport.queue_pairs, transport.verbs.send_queue or "
          "transport.receive_queue",
          name_, entries, std::strerror(errno));
    return std::make_unique<CompletionQueue>(std::move(queue));
  }

  std::unique_ptr<VerbsReceiveQueue> make_shared_receive_queue(uint32_t receives) override {
    ibv_srq_init_attr attributes{};
    attributes.attr = {.max_wr = receives, .max_sge = 1, .srq_limit = 0};
    SharedHandle queue(ibv_create_srq(domain_.get(), &attributes), ibv_destroy_srq);
    if (!queue)
      fail_input("{}: no shared receive queue of {} receives ({}); lower transport.receive_queue", name_, receives,
                 std::strerror(errno));
    return std::make_unique<SharedReceiveQueue>(std::move(queue));
  }

  std::unique_ptr<VerbsQueuePair> make_queue_pair(uint32_t port, const QueuePairSize& size,
                                                  VerbsCompletionQueue& completions,
                                                  VerbsReceiveQueue* shared) override {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = static_cast<CompletionQueue&>(completions).handle();
    if (shared != nullptr) attributes.srq = static_cast<SharedReceiveQueue*>(shared)->handle();
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {.max_send_wr = size.sends,
                      .max_recv_wr = shared == nullptr ? size.receives : 0,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = size.inline_bytes};
    QueuePairHandle queue_pair(ibv_create_qp(domain_.get(), &attributes), ibv_destroy_qp);
    if (!queue_pair)
      fail_input(
          "{}: no queue pair of {} sends, {} receives and {} bytes inline ({}); lower transport.queue_pairs, "
          "transport.verbs.send_queue, transport.receive_queue or transport.verbs.inline",
          name_, size.sends, size.receives, size.inline_bytes, std::strerror(errno));
    ibv_qp_attr init{};
    init.qp_state = IBV_QPS_INIT;
    init.port_num = static_cast<uint8_t>(port);
    init.qp_access_flags = kAccess;
    constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (const int error = ibv_modify_qp(queue_pair.get(), &init, kInit))
      fail_run("{}: a queue pair did not become ready (state INIT): {}", name_, std::strerror(error));
    return std::make_unique<QueuePair>(std::move(queue_pair), sends_, receives_);
  }

  std::optional<DeviceEvent> next_event() noexcept override { return next_device_event(*context_); }

 private:
  std::string name_;
  ContextHandle context_;
  DomainHandle domain_;
  SendChain sends_;
  ReceiveChain receives_;
};

class LibIbverbs final : public VerbsApi {
 public:
  std::unique_ptr<VerbsContext> open(const VerbsDeviceInfo& device) override {
    int count = 0;
    const std::unique_ptr<ibv_device*, decltype(&ibv_free_device_list)> list(ibv_get_device_list(&count),
                                                                             ibv_free_device_list);
    for (int i = 0; i < count; ++i) {
      ibv_device* candidate = list.get()[i];
      if (device.name != ibv_get_device_name(candidate)) continue;
      ContextHandle context(ibv_open_device(candidate), ibv_close_device);
      if (!context) fail_input("RDMA device {} cannot be opened: {}", device.name, std::strerror(errno));
      make_events_nonblocking(*context, device.name);
      DomainHandle domain(ibv_alloc_pd(context.get()), ibv_dealloc_pd);
      if (!domain) fail_run("{}: no protection domain: {}", device.name, std::strerror(errno));
      return std::make_unique<DeviceContext>(device.name, std::move(context), std::move(domain));
    }
    fail_input("RDMA device {} is not there any more", device.name);
  }
  std::vector<VerbsCounter> counters(const std::string& device, uint32_t port) const override {
    return verbs_counters(device, port);
  }
};

}  // namespace

std::unique_ptr<VerbsApi> make_verbs_api() {
  return std::make_unique<LibIbverbs>();
}

}  // namespace rankwire
