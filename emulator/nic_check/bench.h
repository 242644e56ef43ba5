// A NIC on a bench: a scripted peer on the other end of its wire, which sends and answers packet by packet, and the
// driver that the NIC's own end is asked through.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/transport.h"
#include "dataplane/neighbours/neighbours.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/wire/pause.h"
#include "emulator/nic_check/case_record.h"
#include "emulator/nic_check/nic_under_test.h"

namespace rankwire {

/// How long things may take.
struct BenchLimits {
  uint32_t timeout_exponent = 17;       ///< of queue pairs, 4.096 us x 2^n, unless a case wants another
  Duration answer = milliseconds(250);  ///< until an answer counts as missing; less than the time-out
  Duration quiet = milliseconds(50);    ///< how long nothing must come where nothing is to come
};

/// How far cases go that ask for ever more.
struct BenchScale {
  /// 2^31 bytes are the most that a message may have (IBTA Vol. 1).
  static constexpr uint32_t kMostBytes = 1u << 31, kMostQueuePairs = 100'000;

  uint32_t largest = 1 << 20;   ///< bytes of a message, at most kMostBytes
  uint32_t queue_pairs = 256;   ///< at most kMostQueuePairs
  Duration step = seconds(60);  ///< what a number of queue pairs may take, before no larger one is tried
};

/// Of the region of a NIC that is tested as far as that: 4 MiB, and behind them the largest message where it has no
/// room within.
constexpr uint32_t region_bytes_for(const BenchScale& scale) {
  constexpr uint32_t kBytes = 4 << 20;
  return kBytes + (scale.largest > 1 << 20 ? scale.largest : 0);
}

struct BenchOptions {
  Nic peer;        ///< MAC and IP addresses of rankwire's end
  Bandwidth line;  ///< of the wire
  BenchLimits limits;
  uint32_t mtu = 4096;  ///< the largest path MTU of the wire
  BenchScale scale;
  uint8_t traffic_class = 26 << 2 | 2;  ///< of queue pairs: DSCP 26, ECT(0)
};

/// What a queue pair of the NIC is connected with.
struct EndOptions {
  uint32_t mtu = 1024;
  uint32_t nic_psn = 0x10;   ///< the first that the NIC sends
  uint32_t peer_psn = 0x20;  ///< the first that it is sent
  std::optional<uint32_t> timeout_exponent = {};
  uint8_t retry_count = 7, not_ready_retry_count = 7;
  uint8_t not_ready_code = 12;
  uint8_t reads = 4;
  uint32_t depth = 64;
};

enum class Fate : uint8_t { kDelivered, kLost };

/// rankwire's end of a queue pair. As responder it answers as IBTA 9.7.5 has it, but for what a case lets happen.
struct PeerEnd {
  uint32_t number = 0, nic_number = 0;
  EndOptions options;
  HeaderTemplate path;

  uint32_t expected = 0, msn = 0;  ///< of requests of the NIC
  bool nak_outstanding = false;
  bool answers = true;                                 ///< ACKs and responses go out
  bool recovers = true;                                ///< a gap is answered by a NAK
  std::function<Fate(size_t frame)> on_request = {};   ///< asked of each request of the NIC before it is looked at
  std::function<Fate(uint32_t psn)> on_response = {};  ///< asked of each READ response before it is sent
  bool keeps_payload = true;
  std::vector<uint8_t> received = {};  ///< payload of requests in order, one behind the other
  bool compares_payload = false;
  uint64_t arrived = 0;                           ///< bytes of requests in order
  std::optional<uint64_t> first_wrong_byte = {};  ///< of these, with `compares_payload`: that is not the pattern's

  uint32_t next_psn = 0;  ///< of its own requests
};

/// A packet of the peer's.
struct PeerPacket {
  Opcode opcode = Opcode::kWriteOnly;
  std::optional<uint32_t> psn = {};  ///< absent: the next, which then counts
  std::vector<uint8_t> payload = {};
  bool ack_request = true;
  std::optional<uint64_t> address = {};     ///< absent: the NIC's target
  std::optional<uint32_t> rkey = {};        ///< absent: the NIC's
  std::optional<uint32_t> dma_length = {};  ///< absent: that of the payload
  uint32_t immediate = 0;
  uint8_t syndrome = 0x1F;
  uint32_t msn = 0;
  Ecn ecn = Ecn::kCapable0;
  std::function<void(Frame&)> before_seal = {};  ///< changes headers; ICRC and IP checksum follow
  std::function<void(Frame&)> after_seal = {};   ///< changes what then is wrong
};

/// One thread. Times are of `clock`.
class NicBench : public CaseRecord {
 public:
  /// What the NIC's work requests name at the peer; READs get the pattern of the address.
  static constexpr uint64_t kPeerAddress = 0x5000'0000'0000;
  static constexpr uint32_t kPeerKey = 0x77;
  /// Where in the NIC's memory what is used for what; behind kLarge messages of more than kSpace.
  static constexpr uint32_t kSource = 0, kReceive = 1 << 20, kTarget = 2 << 20, kSpace = 1 << 20, kLarge = 4 << 20;

  /// All outlive it.
  NicBench(NicUnderTest& nic, FramePort& port, Clock& clock, const BenchOptions& options);
  ~NicBench();

  NicUnderTest& nic() { return nic_; }
  const BenchOptions& options() const { return options_; }
  const BenchLimits& limits() const { return options_.limits; }
  const MacAddress& nic_mac() const { return nic_mac_; }
  Time now() { return clock_.now(); }

  /// Each case begins with an empty log and no queue pairs. `interrupted` outlives the case.
  void begin(const std::atomic<bool>& interrupted);
  void end();

  PeerEnd& open(const EndOptions& options = {});

  // What passes between two looks.
  /// Until `done`, at most for `limit` without the time in which rankwire was kept from looking. Whether it was.
  bool run_until(const std::function<bool()>& done, Duration limit);
  void run_for(Duration time) { run_until({}, time); }

  // The NIC's driver.
  /// Posts a work request of `bytes`, from the beginning of the source, whose byte i is `pattern(i)`, or, when it has
  /// no room there, from kLarge, where write_pattern has been. Its id.
  uint64_t post(PeerEnd& end, WorkKind kind, uint32_t bytes, uint32_t immediate = 0);
  /// Of `bytes` at `slot` times 64 KiB of the receive space.
  uint64_t post_receive(PeerEnd& end, uint32_t bytes = 65536, uint32_t slot = 0);
  const WorkCompletion* completion(uint64_t id) const;
  /// How often one has come.
  size_t completions(uint64_t id) const;
  /// All that have come in this case.
  const std::vector<WorkCompletion>& completions() const { return completions_; }
  /// Fails the case when there is none within `limit` or the status is another.
  void expect_completion(uint64_t id, WorkStatus status, Duration limit);
  /// Fails the case unless the memory is `bytes` from there.
  void expect_memory(uint32_t offset, const std::vector<uint8_t>& bytes, const std::string& what);
  /// Fills the memory from there: byte i is `pattern(i)`. Fails the case unless it is so.
  void write_pattern(uint32_t offset, uint32_t bytes);
  void expect_pattern(uint32_t offset, uint32_t bytes, const std::string& what);
  static uint8_t pattern(uint64_t i) { return static_cast<uint8_t>(i * 7 + (i >> 8) * 13 + 1); }
  static std::vector<uint8_t> pattern_bytes(uint32_t bytes, uint64_t from = 0);
  uint64_t target(uint32_t offset = 0) const { return nic_.region().address + kTarget + offset; }

  // The peer's frames.
  /// The number of the frame in the log.
  size_t send(PeerEnd& end, const PeerPacket& packet);
  size_t send_acknowledgement(PeerEnd& end, uint32_t psn, uint8_t syndrome = 0x1F, std::optional<uint32_t> msn = {});
  size_t send_notification(PeerEnd& end);
  size_t send_pause(const PauseFrame& pause);
  size_t send_bytes(const std::vector<uint8_t>& bytes);

  // What came from the NIC.
  /// The first from `from` on to this end that is a response, ACK or NAK, within `limit`.
  std::optional<size_t> answer(const PeerEnd& end, size_t from, Duration limit);
  std::vector<size_t> answers(const PeerEnd& end, size_t from = 0) const;
  std::vector<size_t> requests(const PeerEnd& end, size_t from = 0) const;
  std::vector<size_t> notifications(const PeerEnd& end, size_t from = 0) const;

  // Verdicts as of CaseRecord.
  size_t expect_ack(const PeerEnd& end, size_t from, uint32_t psn, std::optional<uint32_t> msn = {});
  size_t expect_nak(const PeerEnd& end, size_t from, Syndrome syndrome, uint32_t psn);
  /// No answer within `limits().quiet`.
  void expect_silence(const PeerEnd& end, size_t from, const std::string& why);
  /// The queue pair still works: a WRITE is acknowledged.
  void expect_alive(PeerEnd& end);
  /// Of the NIC's hw_counters; absent: it has none of this name.
  std::optional<uint64_t> counter(const std::string& name);

 private:
  bool step();
  /// Takes what has come and answers neighbours; leaves the NIC's driver alone. Whether anything was there.
  bool serve_wire(Time now);
  void note_look(Time now);
  /// What took time on purpose does not count as absence.
  void forgive_absence() { looked_ = clock_.now(); }
  void connect(uint32_t queue_pair, const QueuePairPath& path);
  void receive(const Frame& frame, Time now);
  void respond(PeerEnd& end, size_t frame);
  void respond_read(PeerEnd& end, const ParsedPacket& request);
  size_t transmit(Frame& frame);
  Frame allocate();
  PeerEnd* end_of(uint32_t number);
  std::vector<size_t> select(size_t from, const std::function<bool(const WireFrame&)>& wanted) const;

  NicUnderTest& nic_;
  FramePort& port_;
  Clock& clock_;
  const BenchOptions options_;
  Neighbours neighbours_;
  MacAddress nic_mac_;
  std::deque<PeerEnd> ends_;
  uint32_t next_number_ = 0x100;
  uint64_t next_id_ = 1;
  uint32_t source_filled_ = 0;  ///< bytes of the source that hold the pattern
  std::vector<WorkCompletion> completions_;
  Time polled_ = Time::long_ago();
  Time looked_;                 ///< at the wire, last
  Duration absent_altogether_;  ///< in this case, absences that count
  const std::atomic<bool>* interrupted_ = nullptr;
};

}  // namespace rankwire
