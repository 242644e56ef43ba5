// Cases that are driven by perftest, against a client of it whose NIC is a transport: what is right passes, and what is
// not is found.
#include "emulator/nic_check/perftest_bench.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "emulator/nic_check/catalogue.h"
#include "emulator/nic_check/config.h"
#include "emulator/peer/tcp_socket.h"
#include "emulator/suite/suite.h"
#include "tests/peer/perftest_client.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

constexpr Bandwidth kSlowLine(10'000'000'000);

/// `ib_write_bw` or `ib_send_bw` of a host: begins when its command line is typed, and ends when its messages are
/// acknowledged.
class ClientProgram {
 public:
  ClientProgram(FramePort& port, const RoceOptions& roce) : port_(port), roce_(roce) {}
  ~ClientProgram() { hang_up(); }

  uint32_t left_out = 0;  ///< messages that it does not send

  void type(const std::string& command) {
    std::istringstream words(command);
    uint16_t tcp_port = 0;
    words >> program_;
    for (std::string option; words >> option;) {
      if (option == "-s") words >> bytes_;
      if (option == "-n") words >> messages_;
      if (option == "-m") words >> roce_.mtu;
      if (option == "-p") words >> tcp_port;
    }
    messages_ -= left_out;
    roce_.verb = program_ == "ib_send_bw" ? DataVerb::kSend : DataVerb::kWrite;
    open_transport();
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(tcp_port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string keys = testing::text(format_perftest_keys(own_keys()));
    to_say_ = {testing::text(format_perftest_version()),
               testing::text(format_perftest_number(4096)),
               testing::text(format_perftest_number(64)),
               testing::text(format_perftest_mtu(roce_.mtu)),
               keys,
               keys};
    said_ = posted_ = sent_ = 0;
    answered_ = true;
  }

  void step(Time now) {
    if (socket_ < 0) return;
    if (said_ < to_say_.size() || !answered_) talk();
    std::array<Event, 32> events;
    const size_t n = transport_->poll(now, events);
    for (size_t i = 0; i < n; ++i) sent_ += events[i].kind == EventKind::kSent;
    if (said_ < to_say_.size() || !answered_ || !transport_->ready()) return;
    // As by -t: as many at a time as have room.
    while (posted_ < messages_ && posted_ - sent_ < kDepth) post(now);
    if (sent_ == messages_) hang_up();
  }

 private:
  static constexpr uint32_t kDepth = 1;

  void open_transport() {
    TransportPlan plan;
    plan.nics = {testing::nic(0, "10.5.0.1"), testing::nic(1, "10.5.0.9")};
    plan.nics[0].mac = {{2, 0, 0, 0, 0, 9}};
    Connection connection;
    connection.id = ConnectionId(0);
    connection.source_nic = NicId(0);
    connection.destination_nic = NicId(1);
    connection.largest_message = Bytes(1 << 20);
    plan.messages_in_flight = kDepth;
    plan.connections = {connection};
    transport_ = std::make_unique<RoceTransport>(roce_, std::vector<PortBinding>{{PortId(0), &port_, kSlowLine}});
    own_ = transport_->prepare(plan);
  }
  PerftestKeys own_keys() const {
    return {.queue_pair = own_[0].queue_pair,
            .psn = own_[0].psn,
            .rkey = program_ == "ib_send_bw" ? 0 : own_[0].rkey,
            .address = own_[0].address,
            .gid = *parse_ip("10.5.0.1")};
  }
  // Each thing that is said is answered by as many bytes. The first keys that come back are the server's.
  void talk() {
    char piece[256];
    const ssize_t n = ::recv(socket_, piece, sizeof piece, MSG_DONTWAIT);
    if (n > 0) answer_.append(piece, static_cast<size_t>(n));
    if (said_ > 0 && !answered_ && answer_.size() == to_say_[said_ - 1].size()) {
      answered_ = true;
      if (said_ == to_say_.size() - 1) connect(testing::read_keys(answer_));
    }
    if (!answered_ || said_ == to_say_.size()) return;
    if (said_ == to_say_.size() - 1 && !transport_->ready()) return;
    answer_.clear();
    answered_ = false;
    const std::string& words = to_say_[said_++];
    ASSERT_EQ(::send(socket_, words.data(), words.size(), MSG_NOSIGNAL), static_cast<ssize_t>(words.size()));
  }
  void connect(const PerftestKeys& keys) {
    EndPoint end;
    end.connection = ConnectionId(0);
    end.ip = keys.gid;
    end.queue_pair = keys.queue_pair;
    end.psn = keys.psn;
    end.rkey = keys.rkey;
    end.address = keys.address;
    ASSERT_TRUE(transport_->connect({&end, 1}).empty());
  }
  void post(Time now) {
    Message message;
    message.bytes = Bytes(bytes_);
    message.connection = ConnectionId(0);
    message.index = posted_++;
    ASSERT_EQ(transport_->post(now, {&message, 1}), 1u);
  }
  void hang_up() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

  FramePort& port_;
  RoceOptions roce_;
  std::unique_ptr<RoceTransport> transport_;
  std::vector<EndPoint> own_;
  std::string program_, answer_;
  std::vector<std::string> to_say_;
  size_t said_ = 0;
  bool answered_ = false;
  int socket_ = -1;
  int64_t bytes_ = 0;
  uint32_t messages_ = 0, posted_ = 0, sent_ = 0;
};

/// The test's time: with each look at it the client has its turn.
class SharedClock final : public Clock {
 public:
  explicit SharedClock(ClientProgram& client) : client_(client) {}
  void start() noexcept override {}
  Time now() noexcept override {
    now_ += testing::kStep;
    client_.step(now_);
    return now_;
  }
  void idle_until(Time) noexcept override {}
  bool runs_by_itself() const noexcept override { return true; }

 private:
  ClientProgram& client_;
  Time now_;
};

NicCheckConfig configuration(const std::string& hook) {
  NicCheckConfig config;
  config.rate = kSlowLine;
  config.mtu = 1024;
  config.peer = testing::nic(0, "10.5.0.9");
  config.nic_ip = *parse_ip("10.5.0.1");
  config.gid_index = 3;
  // 67 ms, the time-out of rankwire's own profile.
  config.limits = {.timeout_exponent = 14, .answer = milliseconds(10), .quiet = milliseconds(1)};
  config.perftest = {.hook = hook, .device = "mlx5_0", .listen = "127.0.0.1:0", .patience = seconds(2)};
  return config;
}

RoceOptions nic_options() {
  RoceOptions roce = perftest_roce(NicProfile{});
  roce.markings.data = {.dscp = 26, .ecn = Ecn::kCapable0};
  return roce;
}

CaseOutcome check(const std::string& id, const RoceOptions& roce = nic_options(), uint32_t left_out = 0) {
  FramePool pool(4096);
  const auto link = make_memory_link(pool, 1024, "link");
  ClientProgram client(*link.second, roce);
  client.left_out = left_out;
  SharedClock clock(client);
  std::string asked;
  PerftestBench bench(configuration(""), *link.first, clock, [&](const std::string& command) {
    asked = command;
    client.type(command);
  });
  const testing::TemporaryFolder folder;
  const std::atomic<bool> interrupted{false};
  const SuiteResult suite = run_suite(select_cases(perftest_catalogue(&bench), std::vector<std::string>{id}),
                                      {.name = "nic-check", .version = "test", .folder = folder.path()}, interrupted);
  EXPECT_THAT(asked, HasSubstr(" -d mlx5_0 -x 3 -F -m "));
  EXPECT_TRUE(asked.ends_with(" 127.0.0.1")) << asked;
  return suite.cases.at(0).outcome;
}

TEST(PerftestBench, PassesWhatIsRight) {
  for (const char* const id :
       {"perftest.write_bw", "perftest.send_bw", "perftest.mtu.512", "perftest.marking", "perftest.loss.write.first",
        "perftest.loss.send.middle", "perftest.loss.write.last", "perftest.loss.repair", "perftest.loss.ack"}) {
    const CaseOutcome outcome = check(id);
    EXPECT_EQ(outcome.verdict, CaseVerdict::kPass) << id << ": " << outcome.reason;
    EXPECT_EQ(outcome.artefacts.size(), 1u) << id;
  }
}

TEST(PerftestBench, FindsDataThatIsNotMarked) {
  RoceOptions roce = nic_options();
  roce.markings.data.dscp = 0;
  EXPECT_THAT(check("perftest.marking", roce).reason, HasSubstr("DSCP 0, expected 26"));
  roce = nic_options();
  roce.markings.data.ecn = Ecn::kNotCapable;
  EXPECT_EQ(check("perftest.marking", roce).verdict, CaseVerdict::kFail);
}

TEST(PerftestBench, FindsMessagesThatDoNotCome) {
  const CaseOutcome outcome = check("perftest.write_bw", nic_options(), 1);
  EXPECT_EQ(outcome.verdict, CaseVerdict::kFail);
  EXPECT_THAT(outcome.reason, HasSubstr("49 messages were delivered of 50"));
}

TEST(PerftestBench, FindsATimeOutThatIsTooLong) {
  RoceOptions roce = nic_options();
  roce.profile.timeout_exponent = 17;  // eight times what perftest was told
  EXPECT_EQ(check("perftest.loss.write.last", roce).verdict, CaseVerdict::kFail);
}

TEST(PerftestBench, FindsWhetherNotificationsAreObeyed) {
  RoceOptions roce = nic_options();
  EXPECT_EQ(check("perftest.cnp.obeyed", roce).verdict, CaseVerdict::kFail);
  roce.congestion.algorithm = CongestionAlgorithm::kDcqcn;
  const CaseOutcome obeyed = check("perftest.cnp.obeyed", roce);
  EXPECT_EQ(obeyed.verdict, CaseVerdict::kPass) << obeyed.reason;
}

TEST(PerftestBench, SaysWhatNeedsVerbs) {
  const std::vector<TestCase> tests = perftest_catalogue(nullptr);
  const auto other = std::ranges::find(tests, "requester.retry.count_7", &TestCase::id);
  ASSERT_NE(other, tests.end());
  const std::atomic<bool> interrupted{false};
  const CaseOutcome outcome = other->run({{}, interrupted});
  EXPECT_EQ(outcome.verdict, CaseVerdict::kSkipped);
  EXPECT_THAT(outcome.reason, HasSubstr("needs verbs"));
}

TEST(PerftestBench, NamesFileAndKeyOfAnAddressThatIsTaken) {
  const testing::TemporaryFolder folder;
  const TcpListener other("127.0.0.1:0");
  const std::filesystem::path file = folder / "nic.yaml";
  std::ofstream(file) << "wire: {port: net_ring0, mac: 02:00:0a:05:00:01, ip: 10.5.0.1/24}\n"
                         "nic:\n"
                         "  ip: 10.5.0.9\n"
                         "  mac: 02:00:00:00:00:09\n"
                         "  perftest: print\n"
                         "  device: mlx5_0\n"
                         "  gid_index: 1\n"
                      << fmt::format("  listen: 127.0.0.1:{}\n", other.port());
  const NicCheckConfig config = read_nic_check_config(file);
  FramePool pool(1024);
  const auto link = make_memory_link(pool, 256, "link");
  RealClock clock;
  EXPECT_THAT(
      [&] { PerftestBench(config, *link.first, clock, nullptr); },
      ::testing::ThrowsMessage<Error>(HasSubstr(fmt::format(
          "{}:8: nic.listen: cannot listen at 127.0.0.1:{}: Address already in use", file.string(), other.port()))));
}

// A hook that fails before its program has come tells nothing of the NIC.
TEST(PerftestBench, ReportsHooksThatFail) {
  FramePool pool(1024);
  const auto link = make_memory_link(pool, 256, "link");
  RealClock clock;
  PerftestBench bench(configuration("sh -c 'echo {command}; exit 3'"), *link.first, clock, nullptr);
  const testing::TemporaryFolder folder;
  const std::atomic<bool> interrupted{false};
  const SuiteResult suite =
      run_suite(select_cases(perftest_catalogue(&bench), std::vector<std::string>{"perftest.write_lat"}),
                {.name = "nic-check", .version = "test", .folder = folder.path()}, interrupted);
  const CaseOutcome& outcome = suite.cases.at(0).outcome;
  EXPECT_EQ(outcome.verdict, CaseVerdict::kError);
  EXPECT_THAT(outcome.reason, HasSubstr("ended with status 3; it wrote: ib_write_lat -d mlx5_0"));
}

}  // namespace
}  // namespace rankwire
