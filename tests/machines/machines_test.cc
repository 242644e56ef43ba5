// What machines agree on, and what becomes of one that fails or dies.
#include "emulator/machines/machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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
            machines.leave();
            throw;
          }
          machines.leave();
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
