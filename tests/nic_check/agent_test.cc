// The agent's protocol between two threads, with an emulated NIC behind it.
#include "emulator/nic_check/agent.h"

#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/error.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "emulator/nic_check/emulated_nic.h"
#include "emulator/nic_check/line_socket.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr MacAddress kMac{{2, 0, 0, 0, 0, 7}};
constexpr Ipv4Address kIp{0xC6120007};

/// An agent of an emulated NIC that nobody's wire ends at.
class AgentTest : public ::testing::Test {
 protected:
  AgentTest() : server_([this] { serve_agent(nic_, listener_, "secret", ended_); }) {}
  ~AgentTest() override {
    ended_ = true;
    server_.join();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(listener_.port()); }

  FramePool pool_{64};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> link_ = make_memory_link(pool_, 64, "agent");
  EmulatedNic nic_{*link_.second,
                   {.facts = {.name = "behind", .mac = kMac, .ip = kIp, .mtu = 2048, .reads = 3, .largest = 1 << 23},
                    .peer_mac = kMac,
                    .line = Bandwidth(1'000'000'000)}};
  LineListener listener_{"127.0.0.1:0"};
  std::atomic<bool> ended_{false};
  std::thread server_;
};

TEST_F(AgentTest, TellsWhatTheNicIs) {
  AgentNic nic(address(), "secret");
  EXPECT_EQ(nic.facts().name, "behind");
  EXPECT_EQ(nic.facts().mac, kMac);
  EXPECT_EQ(nic.facts().ip, IpAddress(kIp));
  EXPECT_EQ(nic.facts().mtu, 2048u);
  EXPECT_EQ(nic.facts().reads, 3u);
  EXPECT_EQ(nic.facts().largest, 1u << 23);
  EXPECT_EQ(nic.region().bytes, nic_.region().bytes);
}

TEST_F(AgentTest, CarriesMemoryAndWork) {
  AgentNic nic(address(), "secret");
  const std::vector<uint8_t> bytes = {0x00, 0x7F, 0xFF};
  nic.write_memory(5, bytes);
  EXPECT_EQ(nic.read_memory(5, 3), bytes);
  const uint32_t queue_pair = nic.make_queue_pair(4);
  QueuePairPath path;
  path.remote_gid = kIp;
  path.remote_queue_pair = 9;
  path.mtu = 1024;
  nic.connect(queue_pair, path);
  nic.post(queue_pair, {.id = 77, .kind = WorkKind::kWrite, .bytes = 10});
  EXPECT_THAT(nic.poll(), ElementsAre());
  nic.destroy(queue_pair);
}

TEST(WrongAddress, IsNoHostOrNoPort) {
  for (const char* const right : {"127.0.0.1:7791", "[2001:db8::1]:0", "lab:65535"})
    EXPECT_EQ(wrong_address(right), "");
  for (const char* const wrong : {"lab", ":7791", "lab:"})
    EXPECT_THAT(wrong_address(wrong), HasSubstr("is not HOST:PORT"));
  for (const char* const wrong : {"lab:65536", "lab:-1", "lab:7x", "lab:http"})
    EXPECT_THAT(wrong_address(wrong), HasSubstr("the port is not 0 .. 65535")) << wrong;
}

TEST_F(AgentTest, RefusesWhoDoesNotKnowTheToken) {
  try {
    AgentNic nic(address(), "secreT");
    FAIL() << "was let in";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("token"));
  }
  EXPECT_THROW(AgentNic(address(), ""), Error);
  EXPECT_NO_THROW(AgentNic(address(), "secret"));
}

TEST_F(AgentTest, StaysWithinItsRegionAndQueuePairs) {
  AgentNic nic(address(), "secret");
  const uint32_t bytes = nic.region().bytes;
  EXPECT_THROW(nic.read_memory(bytes - 1, 2), Error);
  EXPECT_THROW(nic.read_memory(UINT32_MAX, 2), Error);
  EXPECT_THROW(nic.write_memory(bytes, std::vector<uint8_t>(1)), Error);
  EXPECT_THROW(nic.destroy(4711), Error);
  EXPECT_THROW(nic.make_queue_pair(0), Error);
  const uint32_t queue_pair = nic.make_queue_pair(4);
  EXPECT_THROW(nic.post(queue_pair, {.id = 1, .offset = bytes - 5, .bytes = 10}), Error);
  // It goes on afterwards.
  EXPECT_EQ(nic.read_memory(0, 1).size(), 1u);
}

TEST_F(AgentTest, AnswersNonsenseByAReason) {
  LineSocket client = LineSocket::connect(address());
  client.write(R"({"op":"hello","token":"secret"})");
  client.read(std::chrono::seconds(5));
  for (const char* nonsense : {"", "{", "[]", R"({"op":"fly"})", R"({"op":"read_memory","offset":-1,"bytes":"x"})"}) {
    client.write(nonsense);
    EXPECT_THAT(client.read(std::chrono::seconds(5)).value_or(""), HasSubstr("error")) << nonsense;
  }
}

}  // namespace
}  // namespace rankwire
