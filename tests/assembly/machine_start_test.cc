// How a run over many machines begins: what each sends, of as many as hundreds that are threads of one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "emulator/assembly/machine_report.h"
#include "emulator/assembly/machine_run.h"
#include "emulator/assembly/machine_verbs.h"
#include "emulator/assembly/setup.h"
#include "emulator/input/config.h"
#include "tests/machines/fake_links.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using testing::FakeLinks;
using testing::FakeNetwork;

/// Nobody is gone because the others had the processors.
constexpr MachinePatience kPatience{.silence = std::chrono::minutes(1), .presence = std::chrono::milliseconds(250)};

struct Sent {
  std::atomic<uint64_t> messages{0}, bytes{0};
};

/// Counts what goes from the leader to others and what they send it, but for what is sent time and again.
class CountedLinks final : public MachineLinks {
 public:
  CountedLinks(FakeNetwork& network, uint32_t own, Sent& from_leader, Sent& to_leader)
      : links_(network, own, "node" + std::to_string(own)), from_leader_(from_leader), to_leader_(to_leader) {}

  uint32_t own() const override { return links_.own(); }
  uint32_t count() const override { return links_.count(); }
  std::string system_name() const override { return links_.system_name(); }
  void send(uint32_t to, MachineTag tag, std::string_view bytes) override {
    const bool counts = tag != MachineTag::kPresence && tag != MachineTag::kState && tag != MachineTag::kEndPoints;
    if (counts && (own() == 0 || to == 0)) {
      Sent& sent = own() == 0 ? from_leader_ : to_leader_;
      ++sent.messages, sent.bytes += bytes.size();
    }
    links_.send(to, tag, bytes);
  }
  std::optional<MachineMessage> receive() override { return links_.receive(); }
  void leave(bool orderly) override { links_.leave(orderly); }

 private:
  FakeLinks links_;
  Sent &from_leader_, &to_leader_;
};

/// A rank, an emulated host and a port each, in one ring.
void prepare_ring(rankwire::Setup& setup, uint32_t machines, const std::filesystem::path& folder) {
  const std::string count = std::to_string(machines);
  std::vector<std::string> settings{"name=machines",
                                    "workload.generate.layers=1",
                                    "workload.generate.hidden=64",
                                    "workload.generate.sequence=16",
                                    "workload.generate.vocabulary=100",
                                    "workload.generate.tensor_parallel=1",
                                    "workload.generate.data_parallel=" + count,
                                    "hosts.count=" + count,
                                    "hosts.npus=1",
                                    "ports.count=" + count};
  for (uint32_t p = 0; p < machines; ++p) {
    const std::string port = "ports[" + std::to_string(p) + "].";
    settings.push_back(port + "device=net_af_packet0,iface=x");
    settings.push_back(port + "on=node" + std::to_string(p));
  }
  prepare(setup, load_config("", settings), folder);
}

class MachineStart : public ::testing::TestWithParam<uint32_t> {};

// All of one: it knows what is its own, agrees with the others, gives its ends of connections to their peers, is ready
// and begins.
TEST_P(MachineStart, CostsTheLeaderElevenMessagesAMachine) {
  const uint32_t count = GetParam();
  const testing::TemporaryFolder folder;
  rankwire::Setup setup;
  prepare_ring(setup, count, folder.path());
  FakeNetwork network(count);
  Sent from_leader, to_leader;
  std::atomic<uint32_t> begun{0};
  std::vector<std::thread> threads;
  for (uint32_t own = 0; own < count; ++own)
    threads.emplace_back([&, own] {
      Machines machines(std::make_unique<CountedLinks>(network, own, from_leader, to_leader), "", kPatience);
      least_path_mtu(machines, 4096);
      agree_on_setup(machines, setup, "1");
      MachineRun run(setup, machines);
      std::vector<EndPoint> ends;
      for (const Connection& c : setup.plan.transport.connections) {
        if (c.source.value == own) ends.push_back({.connection = c.id, .at_source = true});
        if (c.destination.value == own) ends.push_back({.connection = c.id, .at_source = false});
      }
      const size_t own_ends = ends.size();
      run.exchange(ends);
      EXPECT_GT(own_ends, 0u);
      EXPECT_EQ(ends.size(), 2 * own_ends);
      while (!run.all_ready(true)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      RunTeam team(2);
      std::array<SharedIterations, 1> jobs{SharedIterations(2)};
      run.begin(team, jobs);
      run.clock().start();
      ++begun;
      run.end();
      EXPECT_FALSE(team.ended()) << team.reason();
      machines.leave({});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(begun, count);
  const uint64_t others = count - 1;
  // Names; that all have met; the path MTU; the digest of the set-up; whether it is asked for; that all agree; that all
  // are ready; that they have met again; when it begins; that it is over, and how they leave.
  EXPECT_EQ(from_leader.messages, 11 * others);
  // A name, and that it has met; its path MTU; whether it differs, and in what; that it is ready, and has met; that it
  // is at its end, too.
  EXPECT_EQ(to_leader.messages, 8 * others);
  // To each the names, twice, of 4 to 7 characters with a line's end, and the starts, of up to 19 digits and a space,
  // of all: it grows with the square, but the configuration, of some 500 bytes a port, is not in it.
  EXPECT_LE(from_leader.bytes, others * (count * (2 * 8 + 20) + 200));
  RecordProperty("leader_sent_bytes", std::to_string(from_leader.bytes));
  RecordProperty("leader_got_bytes", std::to_string(to_leader.bytes));
}

// The second of three; all are told of it.
TEST(MachineAgreement, AnotherVersionOfTheProgramIsRefused) {
  const testing::TemporaryFolder folder;
  rankwire::Setup setup;
  prepare_ring(setup, 3, folder.path());
  FakeNetwork network(3);
  std::array<std::string, 3> refusals;
  std::vector<std::thread> threads;
  for (uint32_t own = 0; own < 3; ++own)
    threads.emplace_back([&, own] {
      Machines machines(std::make_unique<FakeLinks>(network, own, "node" + std::to_string(own)), "", kPatience);
      try {
        agree_on_setup(machines, setup, own == 1 ? "1.1" : "1.0");
      } catch (const Error& error) {
        refusals[own] = error.what();
        machines.fail(error);
      }
      machines.leave({});
    });
  for (std::thread& thread : threads) thread.join();
  const char* const expected = "machine 'node1' differs from 'node0': is rankwire 1.1, not 1.0";
  EXPECT_EQ(refusals[0], expected);
  EXPECT_EQ(refusals[1], expected);
  EXPECT_EQ(refusals[2], expected);
}

INSTANTIATE_TEST_SUITE_P(Few, MachineStart, ::testing::Values(2, 8, 24));
INSTANTIATE_TEST_SUITE_P(Hundreds, MachineStart, ::testing::Values(128, 512));

}  // namespace
}  // namespace rankwire
