// Teams of machines: threads that end iterations, finish, end the run or die.
#include "emulator/machines/machine_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
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

/// Of so many workers and the others.
struct Team {
  explicit Team(uint32_t workers) : team(workers + 1), jobs{SharedIterations(workers + 1)} {}

  RunTeam team;
  std::array<SharedIterations, 1> jobs;
};

class WatchedTeams : public ::testing::Test {
 protected:
  void run(uint32_t count, const std::function<void(Machines&, Team&)>& act, uint32_t workers = 1) {
    FakeNetwork network(count);
    network_ = &network;
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < count; ++i)
      threads.emplace_back([&, i, workers] {
        Machines machines(std::make_unique<FakeLinks>(network, i, std::string(1, static_cast<char>('a' + i))), "",
                          testing::kShortPatience);
        Team own(workers);
        {
          const MachineWatch watch(machines, own.team, own.jobs);
          act(machines, own);
        }
        machines.leave({});
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

// Workers 0 and 1 of a have ended 5 and 6 iterations, those of b 7 and 8; the second of b ends last.
TEST_F(WatchedTeams, AMachineIsAsFarAsTheLastOfItsWorkers) {
  constexpr uint32_t kOthers = 2;
  std::atomic<bool> may_finish{false}, have_seen{false};
  const auto act = [&](Machines& machines, Team& own) {
    for (uint32_t worker = 0; worker < 2; ++worker) {
      const uint32_t place = 2 * machines.own() + worker;
      own.jobs[0].note_end(worker, Time(1000 + place));
      own.jobs[0].publish(worker, 5 + place);
      own.team.note_progress(worker, Time(10'000 + place));
    }
    wait_until([&] { return own.jobs[0].ended_by(kOthers) == 5; });
    EXPECT_EQ(own.jobs[0].ended_by_all(), 5u);
    wait_until([&] { return own.team.progress_of(kOthers) == Time(10'003); });
    EXPECT_EQ(own.jobs[0].last_end(), Time(1003));
    own.team.finish(0);
    if (machines.leads()) {
      wait_until([&] { return have_seen.load(); });
      may_finish = true;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_FALSE(own.team.has_finished(kOthers)) << "the second worker of neither machine has finished";
      have_seen = true;
      wait_until([&] { return may_finish.load(); });
    }
    own.team.finish(1);
    wait_until([&] { return own.team.finished(); });
    EXPECT_FALSE(own.team.ended());
  };
  run(2, act, 2);
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
