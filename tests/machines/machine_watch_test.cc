// Teams of machines: threads that end iterations, finish, end the run or die.
#include "emulator/machines/machine_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "tests/machines/fake_links.h"

namespace rankwire {
namespace {

using testing::FakeLinks;
using testing::FakeNetwork;

/// Until it is so, for ever: a test that hangs has a time-out.
void wait_until(const std::function<bool()>& is_so) {
  while (!is_so()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

struct Team {
  RunTeam team{2};
  std::array<SharedIterations, 1> jobs{SharedIterations(2)};
};

class WatchedTeams : public ::testing::Test {
 protected:
  void run(uint32_t count, const std::function<void(Machines&, Team&)>& act) {
    FakeNetwork network(count);
    network_ = &network;
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        Machines machines(std::make_unique<FakeLinks>(network, i, std::string(1, static_cast<char>('a' + i))), "",
                          testing::kShortPatience);
        Team own;
        {
          const MachineWatch watch(machines, own.team, own.jobs);
          act(machines, own);
        }
        machines.leave();
      });
    for (std::thread& thread : threads) thread.join();
  }

  FakeNetwork* network_ = nullptr;
};

TEST_F(WatchedTeams, WhatAllHaveEndedIsTheLeastThatAnyHas) {
  run(3, [](Machines& machines, Team& own) {
    own.jobs[0].note_end(0, Time(1000 + machines.own()));
    own.jobs[0].publish(0, 5 + machines.own());
    wait_until([&] { return own.jobs[0].ended_by(1) == 5; });
    EXPECT_EQ(own.jobs[0].ended_by_all(), 5u);
    own.team.note_progress(0, Time(machines.own() == 2 ? 7'000'000 : 1'000));
    wait_until([&] { return own.team.last_progress() == Time(7'000'000); });
    EXPECT_EQ(own.jobs[0].last_end(), Time(1002));
    own.team.finish(0);
    wait_until([&] { return own.team.finished(); });
    EXPECT_FALSE(own.team.ended());
  });
}

TEST_F(WatchedTeams, NobodyHasFinishedBeforeAllHave) {
  std::atomic<bool> may_finish{false};
  run(2, [&](Machines& machines, Team& own) {
    if (machines.leads()) {
      own.team.finish(0);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_FALSE(own.team.finished());
      may_finish = true;
    } else {
      wait_until([&] { return may_finish.load(); });
      own.team.finish(0);
    }
    wait_until([&] { return own.team.finished(); });
  });
}

TEST_F(WatchedTeams, OneEndsTheRunForAll) {
  run(3, [](Machines& machines, Team& own) {
    if (machines.own() == 1) own.team.end(Verdict::kStalled, "no progress for 5 s");
    wait_until([&] { return own.team.ended(); });
    EXPECT_EQ(own.team.verdict(), Verdict::kStalled);
    EXPECT_EQ(own.team.reason(), machines.own() == 1 ? "no progress for 5 s" : "on machine 'b': no progress for 5 s");
  });
}

TEST_F(WatchedTeams, AMachineThatDiesEndsTheRunAndIsNamed) {
  run(3, [&](Machines& machines, Team& own) {
    if (machines.own() == 2) network_->cut_off(2);
    wait_until([&] { return own.team.ended(); });
    EXPECT_EQ(own.team.verdict(), Verdict::kFailed);
    EXPECT_THAT(own.team.reason(),
                ::testing::StartsWith(machines.own() == 2 ? "machine 'a' has gone" : "machine 'c' has gone"));
  });
}

}  // namespace
}  // namespace rankwire
