#include "emulator/nic_check/perftest_bench.h"

#include <fmt/format.h>

#include <chrono>
#include <future>

#include "base/error.h"
#include "emulator/hooks/hook.h"

namespace rankwire {
namespace {

/// How seldom a NIC is told of congestion: what NICs of the first kind do that had DCQCN (np_min_time_between_cnps).
constexpr Duration kNotificationInterval = microseconds(50);

/// A command that runs beside this thread, and is ended with this.
class Program {
 public:
  Program(const std::string& command, Duration patience)
      : output_(std::async(std::launch::async, [this, command, patience] {
          return run_hook("nic.perftest", command, std::chrono::milliseconds(patience.ps / milliseconds(1).ps), ended_);
        })) {}
  ~Program() { ended_ = true; }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  bool has_ended() const { return output_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  /// What it printed. Throws as run_hook does.
  std::string output() { return output_.get(); }

 private:
  std::atomic<bool> ended_{false};
  std::future<std::string> output_;
};

TcpListener listen_at(const PerftestDriver& driver) {
  try {
    return TcpListener(driver.listen);
  } catch (const Error& error) {
    if (driver.listen_place.empty()) throw;
    throw Error(error.kind(), fmt::format("{}: {}", driver.listen_place, error.what()));
  }
}

}  // namespace

PerftestBench::PerftestBench(const NicCheckConfig& config, FramePort& port, Clock& clock, Ask ask)
    : config_(config),
      port_(port),
      clock_(clock),
      ask_(std::move(ask)),
      wire_(port, config.peer.mac, log_),
      listener_(listen_at(*config.perftest)) {}

void PerftestBench::begin(const std::atomic<bool>& interrupted) {
  interrupted_ = &interrupted;
  clear();
}

std::string PerftestBench::command_for(const PerftestRun& run) const {
  const std::string& listen = config_.perftest->listen;
  const size_t colon = listen.rfind(':');
  std::string host = listen.substr(0, colon);
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  return fmt::format("{} -d {} -x {} -F -m {} -u {} --tclass {} -p {} {} {}", run.program, config_.perftest->device,
                     *config_.gid_index, run.mtu.value_or(mtu()), limits().timeout_exponent, kTrafficClass,
                     listener_.port(), run.options, host);
}

PerftestOptions PerftestBench::options_for(const PerftestRun& run) {
  PerftestOptions options;
  options.nic = config_.peer;
  options.port = {PortId(0), &wire_, config_.rate};
  options.roce = perftest_roce(NicProfile{});
  options.roce.mtu = run.mtu.value_or(mtu());
  options.roce.markings.data.ecn = run.ecn;
  options.roce.congestion.notifies = true;
  options.roce.congestion.notification.min_time_between_cnps = kNotificationInterval;
  options.queue_pairs = kQueuePairs;
  options.tests = run.program == "ib_write_lat" ? PerftestTests::kAll : PerftestTests::kBandwidth;
  options.patience = config_.perftest->patience;
  return options;
}

// Until the program has come and gone.
PerftestResult PerftestBench::serve(const PerftestOptions& options, const std::string& command) {
  PerftestSession session(options, listener_, seed_++);
  std::optional<Program> program;
  if (const std::string& hook = config_.perftest->hook; hook.empty()) {
    ask_(command);
  } else {
    std::string words = hook;
    words.replace(words.find(kPerftestCommand), std::string_view(kPerftestCommand).size(), command);
    program.emplace(words, options.patience);
  }
  const Time begin = clock_.now();
  Time now = begin;
  while (session.step(now)) {
    const Time before = std::exchange(now, clock_.now());
    longest_absence_ = std::max(longest_absence_, now - before);
    if (*interrupted_) skip("interrupted");
    if (session.has_client()) continue;
    if (program && program->has_ended())
      fail_run("the program ended before it had come to {}; {}", config_.perftest->listen,
               words_of_hook(program->output()));
    if (now - begin > options.patience)
      fail_run("no program came to {} within {} s", config_.perftest->listen, options.patience.ps / seconds(1).ps);
  }
  PerftestResult result = session.result();
  if (!result.named_itself()) fail_run("{}", result.failure);
  require(result.failure.empty(), {}, result.failure);
  if (!program) return result;
  try {
    program->output();
  } catch (const Error& error) {
    fail({}, error.what());
  }
  return result;
}

PerftestResult PerftestBench::run(const PerftestRun& run) {
  if (run.mtu.value_or(mtu()) > config_.mtu) skip(fmt::format("the wire carries a path MTU of {} bytes", config_.mtu));
  const uint64_t missed = port_.counters().rx_missed;
  wire_.follow(run.script);
  const PerftestResult result = serve(options_for(run), command_for(run));
  if (const uint64_t now_missed = port_.counters().rx_missed; now_missed > missed)
    undecided(fmt::format("rankwire's port had no room for {} frames", now_missed - missed));
  uint64_t messages = 0;
  for (const Throughput& t : result.throughputs) messages += t.messages;
  for (const TurnAround& t : result.turns) messages += t.half_round_trip.count() + 1;
  require(messages == run.messages, {},
          fmt::format("{} messages were delivered of {} that the program was to send", messages, run.messages));
  require(result.mtu == run.mtu.value_or(mtu()), {}, fmt::format("the NIC's path MTU is {} bytes", result.mtu));
  return result;
}

std::vector<size_t> PerftestBench::select(const std::function<bool(const ParsedPacket&)>& wanted) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < log_.size(); ++i)
    if (frame(i).from_nic && packet(i).reject == Reject::kNone && wanted(packet(i))) found.push_back(i);
  return found;
}

std::vector<size_t> PerftestBench::requests() const {
  return select(
      [](const ParsedPacket& p) { return !is_response(p.opcode) && p.opcode != Opcode::kCongestionNotification; });
}

std::vector<size_t> PerftestBench::notifications() const {
  return select([](const ParsedPacket& p) { return p.opcode == Opcode::kCongestionNotification; });
}

}  // namespace rankwire
