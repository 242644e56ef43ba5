// What machines agree on, and what becomes of one that fails or dies.
#include "emulator/machines/machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/log.h"
#include "tests/machines/fake_links.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using testing::FakeLinks;
using testing::FakeNetwork;

/// Each machine is a thread that does `act`, with what that throws.
class MachineThreads : public ::testing::Test {
 protected:
  void run(std::vector<std::string> names, const std::function<void(Machines&)>& act) {
    FakeNetwork network(static_cast<uint32_t>(names.size()));
    network_ = &network;
    errors_.assign(names.size(), std::nullopt);
    orderly_.resize(names.size());
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < names.size(); ++i)
      threads.emplace_back([&, i] {
        bool orderly = false;
        try {
          Machines machines(std::make_unique<FakeLinks>(network, i, names[i], &orderly), "", testing::kShortPatience);
          try {
            act(machines);
          } catch (const Error& error) {
            machines.fail(error);
            machines.leave({});
            throw;
          }
          const auto missed = machines.leave({.status = 0, .error = "", .hurry = &hurry_});
          if (machines.leads()) missed_ = missed;
        } catch (const Error& error) {
          errors_[i] = error;
        }
        orderly_[i] = orderly;
      });
    for (std::thread& thread : threads) thread.join();
  }
  std::string error(uint32_t machine) const { return errors_[machine] ? errors_[machine]->what() : "none"; }

  FakeNetwork* network_ = nullptr;
  std::vector<std::optional<Error>> errors_;
  std::vector<int> orderly_;
  std::vector<uint32_t> missed_;  // by the leader
  std::atomic<bool> hurry_{false};
};

/// Of an MPI that waits for one that has died.
class StuckLinks final : public MachineLinks {
 public:
  explicit StuckLinks(FakeNetwork& network) : links_(network, 0, "a") {}

  uint32_t own() const override { return links_.own(); }
  uint32_t count() const override { return links_.count(); }
  std::string system_name() const override { return links_.system_name(); }
  void send(uint32_t to, MachineTag tag, std::string_view bytes) override { links_.send(to, tag, bytes); }
  std::optional<MachineMessage> receive() override { return links_.receive(); }
  void leave(bool) override {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }

 private:
  FakeLinks links_;
};

TEST_F(MachineThreads, KnowEachOthersNamesAndWhatTheLeaderSays) {
  std::vector<std::string> gathered;
  run({"node1.lab.example", "node2", "node3"}, [&](Machines& machines) {
    EXPECT_THAT(machines.names(), ElementsAre("node1", "node2", "node3"));
    EXPECT_EQ(machines.system_name(0), "node1.lab.example");
    const auto all = machines.gather(machines.own_name());
    if (machines.leads()) gathered = all;
    EXPECT_EQ(machines.from_leader(machines.leads() ? "go" : ""), "go");
  });
  EXPECT_THAT(gathered, ElementsAre("node1", "node2", "node3"));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(error(i), "none");
  EXPECT_THAT(orderly_, ElementsAre(1, 1, 1));
}

TEST_F(MachineThreads, TwoOfOneNameAreRefusedEverywhere) {
  run({"node1", "node2", "node1"}, [](Machines&) { ADD_FAILURE(); });
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_THAT(error(i), ::testing::HasSubstr("two processes are on machine 'node1'"));
    EXPECT_EQ(errors_[i]->kind(), ErrorKind::kInput);
  }
}

TEST_F(MachineThreads, WhatOneCannotDoAllAreTold) {
  run({"a", "b", "c"}, [](Machines& machines) {
    if (machines.own_name() == "c") fail_input("run.yaml:3: wrong");
    machines.meet();
  });
  EXPECT_EQ(error(0), "machine 'c': run.yaml:3: wrong");
  EXPECT_EQ(error(1), "machine 'c': run.yaml:3: wrong");
  EXPECT_EQ(error(2), "run.yaml:3: wrong");
  EXPECT_THAT(orderly_, ElementsAre(1, 1, 1));
}

TEST_F(MachineThreads, NobodyWaitsForOneThatHasDied) {
  run({"a", "b", "c"}, [&](Machines& machines) {
    if (machines.own_name() == "b") network_->cut_off(1);
    machines.meet();
    machines.meet();
  });
  EXPECT_THAT(error(0), ::testing::StartsWith("machine 'b' has gone"));
  EXPECT_THAT(error(1), ::testing::StartsWith("machine 'a' has gone"));
  EXPECT_THAT(error(2), ::testing::StartsWith("machine 'b' has gone"));
  EXPECT_THAT(orderly_, ElementsAre(0, 0, 0));
}

TEST_F(MachineThreads, AfterARunTheLeaderHearsThoseThatAreThere) {
  std::vector<std::optional<std::string>> heard;
  run({"a", "b", "c"}, [&](Machines& machines) {
    machines.meet();
    if (machines.own_name() == "b") {
      network_->cut_off(1);
      return;
    }
    const auto all = machines.gather_from_present(machines.own_name());
    if (machines.leads()) heard = all;
  });
  EXPECT_THAT(heard, ElementsAre("a", std::nullopt, "c"));
  EXPECT_EQ(error(2), "none");
  EXPECT_THAT(missed_, ElementsAre(1)) << "who had gone before";
}

// Nobody has been silent for too long yet when the leader leaves.
TEST_F(MachineThreads, OneThatDiesAtTheEndIsMissedAndWaitedForByNobody) {
  run({"a", "b", "c"}, [&](Machines& machines) {
    machines.meet();
    if (machines.own_name() == "b") network_->cut_off(1);
  });
  EXPECT_THAT(missed_, ElementsAre(1));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(error(i), "none");
  EXPECT_THAT(orderly_, ElementsAre(0, 0, 0));
}

// Machine b is there, hears the leader's question and does not come to its end.
TEST_F(MachineThreads, ASignalEndsTheWaitForOneThatIsStillAtWork) {
  run({"a", "b"}, [&](Machines& machines) {
    if (machines.leads()) return;
    machines.take(0, MachineTag::kLeave);
    hurry_ = true;
  });
  EXPECT_THAT(missed_, ElementsAre(1));
  EXPECT_THAT(orderly_, ElementsAre(0, 0));
}

TEST(MachinesDeathTest, WhatNeverLetsAProcessGoIsLeftWithItsStatus) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto leave = [] {
    configure_log(Verbosity::kNormal);
    FakeNetwork network(1);
    Machines machines(std::make_unique<StuckLinks>(network), "", testing::kShortPatience);
    machines.leave({.status = 3, .error = "run.yaml:3: wrong", .hurry = nullptr});
  };
  EXPECT_EXIT(leave(), ::testing::ExitedWithCode(3), "run.yaml:3: wrong(.|\n)*MPI does not end on all machines");
}

// Threads of one machine have one clock.
TEST_F(MachineThreads, ClocksOfOneMachineAgreeWithinTheirError) {
  std::vector<ClockSample> samples;
  run({"a", "b"}, [&](Machines& machines) {
    machines.meet();
    if (machines.leads()) {
      machines.be_quick(true);
      samples = machines.ping(1, 50);
      machines.be_quick(false);
    }
    machines.meet();
  });
  ASSERT_FALSE(samples.empty());
  const ClockFit fit = fit_clock(samples);
  EXPECT_LE(std::abs(fit.offset_at(samples.front().sent)) * 1000, fit.error.ps);
}

}  // namespace
}  // namespace rankwire
