// The other end of an interoperation test: Reliable Connection queue pairs of libibverbs on the first RDMA device.
// Driven by lines on standard input; every command is answered by lines of results and then `ok`, or by `error TEXT`.
//
//   open MTU DEPTH RECEIVES MEMBERS SIZE@OFFSET...   one queue pair for messages of this size, or their parts with this
//                   offset, MEMBERS in a row of one connection, with RECEIVES posted, at most 2 x DEPTH
//                   -> end QPN PSN RKEY ADDRESS for each
//   connect LOCAL REMOTE TRAFFIC_CLASS {QPN PSN RKEY ADDRESS}...   addresses; the other ends, in the same order
//   write, write_imm, send, send_imm FIRST COUNT
//                   messages FIRST .. FIRST + COUNT - 1 on every queue pair, at most DEPTH, until all are acknowledged.
//                   RDMA WRITEs go to the start of the other end's memory, parts to their offset
//   offer FIRST COUNT   the same messages, which the other end is told of and reads
//   receive COUNT   COUNT messages on every queue pair, each by a WRITE with immediate or a SEND, or offered and read;
//                   compared with what they must be -> received QUEUE_PAIR INDEX BYTES KEY right|wrong, with the INDEX
//                   - where there is no immediate
//   inspect         what was last written -> memory QUEUE_PAIR KEY right|wrong for each
//   post_receives COUNT   more receives for every queue pair
//   close
//   run COMMAND     by the shell -> |LINE for each line that it writes, then status NUMBER
#include <endian.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>

#include "tests/interop/verbs_queue_pair.h"

namespace verbs {
namespace {

constexpr std::chrono::seconds kDeadline{30};

// The offer of a message and the answer that it has been read: dataplane/protocol/rendezvous.h. Big-endian.
struct __attribute__((packed)) Offer {
  uint32_t index, cookie;
  uint64_t address;
  uint32_t rkey, length;
};
struct Finished {
  uint32_t cookie;
};

class Peer {
 public:
  void open(std::istream& words) {
    close();
    uint32_t depth = 0, receives = 0;
    words >> route_.mtu >> depth >> receives >> members_;
    completions_ = made(ibv_create_cq(device_.context.get(), 4096, nullptr, device_.channel.get(), 0), "ibv_create_cq");
    check(ibv_req_notify_cq(completions_.get(), 0), "ibv_req_notify_cq");
    char at = 0;
    for (Part part; words >> part.bytes >> at >> part.offset;)
      pairs_.push_back(std::make_unique<QueuePair>(device_, completions_.get(), pairs_.size(), part, depth));
    receives_ = 0;
    post_receives(receives);
    for (const auto& pair : pairs_) {
      const End end = pair->own_end();
      std::printf("end 0x%x 0x%x 0x%x 0x%llx\n", end.queue_pair, end.psn, end.rkey,
                  static_cast<unsigned long long>(end.address));
    }
  }

  void connect(std::istream& words) {
    std::string local, remote;
    uint32_t traffic_class = 0;
    words >> local >> remote >> traffic_class;
    route_.remote = gid_of(remote);
    route_.local_gid = device_.gid_index(local);
    route_.traffic_class = static_cast<uint8_t>(traffic_class);
    words.unsetf(std::ios::basefield);
    for (const auto& pair : pairs_) {
      End end;
      if (!(words >> end.queue_pair >> end.psn >> end.rkey >> end.address))
        throw std::runtime_error("an end is missing");
      pair->connect(end, route_);
    }
  }

  void send(ibv_wr_opcode opcode, std::istream& words) {
    uint32_t first = 0, count = 0;
    words >> first >> count;
    for (size_t p = 0; p < pairs_.size(); ++p) {
      QueuePair& pair = *pairs_[p];
      check_depth(pair, count);
      for (uint32_t i = 0; i < count; ++i) {
        write_payload(message_key(p / members_, first + i), pair.outgoing(i), pair.bytes());
        pair.post(opcode, first + i, i, pair.bytes());
      }
    }
    await(count * pairs_.size(), [](const ibv_wc&) { return true; });
  }

  void offer(std::istream& words) {
    uint32_t first = 0, count = 0;
    words >> first >> count;
    for (size_t p = 0; p < pairs_.size(); ++p) {
      QueuePair& pair = *pairs_[p];
      // The offers stand behind the messages.
      check_depth(pair, 2 * count);
      for (uint32_t i = 0; i < count; ++i) {
        write_payload(message_key(p / members_, first + i), pair.outgoing(i), pair.bytes());
        const Offer offer{.index = htobe32(first + i),
                          .cookie = htobe32(i),
                          .address = htobe64(reinterpret_cast<uint64_t>(pair.outgoing(i))),
                          .rkey = htobe32(pair.rkey()),
                          .length = htobe32(static_cast<uint32_t>(pair.bytes()))};
        std::memcpy(pair.outgoing(count + i), &offer, sizeof offer);
        pair.post(IBV_WR_SEND, 0, count + i, sizeof offer);
      }
    }
    // The offer is acknowledged and answered.
    await(2 * count * pairs_.size(), [this](const ibv_wc& completion) {
      if (completion.opcode == IBV_WC_RECV) take_answer(completion);
      return true;
    });
  }

  void receive(std::istream& words) {
    uint32_t count = 0;
    words >> count;
    await(count * pairs_.size(), [this](const ibv_wc& completion) { return take(completion); });
  }

  void inspect() const {
    for (size_t p = 0; p < pairs_.size(); ++p) {
      const QueuePair& pair = *pairs_[p];
      std::printf("memory %zu 0x%llx %s\n", p, static_cast<unsigned long long>(key_of(pair.target(), pair.bytes())),
                  is_payload(pair.target(), pair.bytes()) ? "right" : "wrong");
    }
  }

  void post_receives(uint32_t count) {
    for (const auto& pair : pairs_)
      for (uint32_t i = 0; i < count; ++i) pair->post_receive(receives_ + i);
    receives_ += count;
  }

  void close() {
    pairs_.clear();
    completions_.reset();
  }

 private:
  static void check_depth(const QueuePair& pair, uint32_t count) {
    if (count > pair.depth()) throw std::runtime_error("more messages than a queue pair has room for");
  }

  void take_answer(const ibv_wc& completion) {
    if (completion.byte_len != sizeof(Finished)) throw std::runtime_error("no answer to an offer");
    pairs_[QueuePair::ordinal_of(completion)]->post_receive(QueuePair::slot_of(completion));
  }

  // Whether the completion is a message's last.
  bool take(const ibv_wc& completion) {
    const size_t ordinal = QueuePair::ordinal_of(completion);
    const uint32_t slot = QueuePair::slot_of(completion);
    QueuePair& pair = *pairs_[ordinal];
    switch (completion.opcode) {
      case IBV_WC_RECV_RDMA_WITH_IMM:
        print_received(ordinal, index_of(completion), completion.byte_len, pair.target());
        pair.post_receive(slot);
        return true;
      case IBV_WC_RECV:
        // No message has the size of an offer.
        if (completion.byte_len == sizeof(Offer)) {
          begin_read(pair, ordinal, slot);
          return false;
        }
        print_received(ordinal, index_of(completion), completion.byte_len, pair.incoming(slot));
        pair.post_receive(slot);
        return true;
      case IBV_WC_RDMA_READ:
        finish_read(pair, ordinal, slot);
        return false;
      default:
        return true;  // the answer to an offer is acknowledged
    }
  }

  static std::string index_of(const ibv_wc& completion) {
    return completion.wc_flags & IBV_WC_WITH_IMM ? std::to_string(ntohl(completion.imm_data)) : "-";
  }

  void begin_read(QueuePair& pair, size_t ordinal, uint32_t slot) {
    Offer& offer = offers_[ordinal << 16 | slot];
    std::memcpy(&offer, pair.incoming(slot), sizeof offer);
    if (be32toh(offer.length) != pair.bytes()) throw std::runtime_error("an offer of another length");
    pair.read(be64toh(offer.address), be32toh(offer.rkey), slot, pair.bytes());
  }

  void finish_read(QueuePair& pair, size_t ordinal, uint32_t slot) {
    const Offer& offer = offers_.at(ordinal << 16 | slot);
    print_received(ordinal, std::to_string(be32toh(offer.index)), static_cast<uint32_t>(pair.bytes()),
                   pair.incoming(slot));
    const Finished finished{.cookie = offer.cookie};
    const uint32_t outgoing = slot % pair.depth();
    std::memcpy(pair.outgoing(outgoing), &finished, sizeof finished);
    pair.post(IBV_WR_SEND, 0, outgoing, sizeof finished);
    pair.post_receive(slot);
  }

  // The contents are those of a whole message even when the last operation carried none of them.
  void print_received(size_t ordinal, const std::string& index, uint32_t bytes, const uint8_t* payload) const {
    const size_t whole = pairs_[ordinal]->bytes();
    std::printf("received %zu %s %u 0x%llx %s\n", ordinal, index.c_str(), bytes,
                static_cast<unsigned long long>(key_of(payload, whole)),
                is_payload(payload, whole) ? "right" : "wrong");
  }

  // Until `take` has called `count` completions the end of a message. Sleeps until completions come: with one virtual
  // processor, polling would keep the device itself from working.
  template <class Take>
  void await(size_t count, Take take) {
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    size_t done = 0;
    while (true) {
      ibv_wc completion;
      for (int n; (n = ibv_poll_cq(completions_.get(), 1, &completion)) != 0;) {
        if (n < 0) throw std::runtime_error("ibv_poll_cq");
        if (completion.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(completion.status));
        if (take(completion)) ++done;
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
  Route route_{};
  size_t members_ = 1;
  uint32_t receives_ = 0;
  Owned<ibv_cq> completions_;
  std::vector<std::unique_ptr<QueuePair>> pairs_;
  std::map<size_t, Offer> offers_;  // being read, by queue pair and slot
};

void run_command(std::istream& words) {
  std::string command;
  std::getline(words, command);
  std::FILE* const output = popen((command + " 2>&1 </dev/null").c_str(), "r");
  if (output == nullptr) throw std::runtime_error(std::string("popen: ") + std::strerror(errno));
  char line[4096];
  while (std::fgets(line, sizeof line, output) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    std::printf("|%s\n", line);
  }
  const int status = pclose(output);
  std::printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

void obey(Peer& peer, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  words >> verb;
  if (verb == "open") return peer.open(words);
  if (verb == "connect") return peer.connect(words);
  if (verb == "write") return peer.send(IBV_WR_RDMA_WRITE, words);
  if (verb == "write_imm") return peer.send(IBV_WR_RDMA_WRITE_WITH_IMM, words);
  if (verb == "send") return peer.send(IBV_WR_SEND, words);
  if (verb == "send_imm") return peer.send(IBV_WR_SEND_WITH_IMM, words);
  if (verb == "offer") return peer.offer(words);
  if (verb == "receive") return peer.receive(words);
  if (verb == "inspect") return peer.inspect();
  if (verb == "close") return peer.close();
  if (verb == "run") return run_command(words);
  uint32_t count = 0;
  if (verb == "post_receives" && words >> count) return peer.post_receives(count);
  throw std::runtime_error("no command: " + line);
}

}  // namespace
}  // namespace verbs

int main() {
  std::unique_ptr<verbs::Peer> peer;
  try {
    peer = std::make_unique<verbs::Peer>();
    std::printf("ok\n");
  } catch (const std::exception& error) {
    std::printf("error %s\n", error.what());
  }
  std::fflush(stdout);
  for (std::string line; peer && std::getline(std::cin, line);) {
    try {
      verbs::obey(*peer, line);
      std::printf("ok\n");
    } catch (const std::exception& error) {
      std::printf("error %s\n", error.what());
    }
    std::fflush(stdout);
  }
  return 0;
}
