#include "emulator/serve/run_queue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "emulator/serve/run_configuration.h"
#include "emulator/serve/serve_error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;

constexpr std::chrono::seconds kPatience{30};

TEST(RunDevices, OfTheEmbeddedSwitchAreNobodysOwn) {
  EXPECT_THAT(devices_of("{ports: {count: 2}}"), ElementsAre());
  EXPECT_THAT(devices_of("{ports: [{device: ring}, {device: memory}, {device: none, verbs: mlx5_77}]}"),
              ElementsAre("mlx5_77"));
}

// Names that this machine does not have: they stand for themselves.
TEST(RunDevices, AreKnownByWhatTheyStandOn) {
  EXPECT_THAT(
      devices_of("{ports: [{device: '0000:c1:00.0,dv_flow_en=1'}, {device: 'net_af_packet3,iface=rw77,qpairs=2'},"
                 "{verbs: netdev rw78}, {device: 'net_null0,size=64'}]}"),
      ElementsAre("0000:c1:00.0", "net_null0,size=64", "rw77", "rw78"));
}

/// A program that runs until it is told to end, whatever its configuration says.
class RunQueueTest : public ::testing::Test {
 protected:
  RunQueueTest() {
    std::ofstream(program_) << "#!/bin/sh\nexec sleep 60\n";
    std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
  }

  static int status_of(const std::function<void()>& work) {
    try {
      work();
    } catch (const ServeError& error) {
      return error.status();
    }
    return 0;
  }

  std::string submit(RunQueue& queue, const std::string& device, bool at_once = false) {
    return queue.submit("{ports: [{device: " + device + "}, {device: ring}]}", {}, at_once);
  }
  RunState begun(RunQueue& queue, const std::string& id) { return queue.await(id, RunState::kQueued, kPatience).state; }

  const testing::TemporaryFolder folder_;
  const std::filesystem::path program_ = folder_.path() / "program";
  KeptRuns store_{folder_.path() / "root", {}};
};

TEST_F(RunQueueTest, DisjointDevicesRunBesideEachOther) {
  RunQueue queue(program_, store_, 16, 2);
  const std::string a = submit(queue, "a"), also_a = submit(queue, "a"), b = submit(queue, "b"), c = submit(queue, "c");
  EXPECT_EQ(begun(queue, a), RunState::kStarting);
  EXPECT_EQ(begun(queue, b), RunState::kStarting) << "past one that waits for a device";
  EXPECT_EQ(queue.status(also_a).state, RunState::kQueued);
  EXPECT_EQ(queue.status(c).state, RunState::kQueued) << "two go on";
  queue.stop(a);
  EXPECT_EQ(begun(queue, also_a), RunState::kStarting);
  EXPECT_EQ(queue.status(c).state, RunState::kQueued);
}

TEST_F(RunQueueTest, NobodyOvertakesWhoWaitsForTheSameDevice) {
  RunQueue queue(program_, store_, 16, 3);
  const std::string a = submit(queue, "a");
  const std::string both = queue.submit("{ports: [{device: a}, {device: b}]}", {}, false), b = submit(queue, "b"),
                    ring = submit(queue, "ring");
  EXPECT_EQ(begun(queue, a), RunState::kStarting);
  EXPECT_EQ(begun(queue, ring), RunState::kStarting);
  EXPECT_EQ(queue.status(b).state, RunState::kQueued);
  EXPECT_EQ(queue.status(both).state, RunState::kQueued);
}

TEST_F(RunQueueTest, WhatCannotWaitIsRefused) {
  RunQueue queue(program_, store_, 16, 2);
  const std::string a = submit(queue, "a", true);
  const auto refusal = [&](const std::string& device) {
    try {
      submit(queue, device, true);
    } catch (const ServeError& error) {
      return error.errors().at(0);
    }
    return std::string();
  };
  EXPECT_THAT(refusal("a"), ::testing::HasSubstr("run " + a + " goes on"));
  EXPECT_EQ(refusal("b"), "");
  EXPECT_THAT(refusal("c"), ::testing::HasSubstr("goes on")) << "two do";
}

TEST_F(RunQueueTest, WhatIsInTheWayIsSaidToWaitWhereItDoes) {
  RunQueue queue(program_, store_, 16, 3);
  const std::string a = submit(queue, "a"), both = queue.submit("{ports: [{device: a}, {device: b}]}", {}, false);
  const auto refusal = [](const std::function<void()>& work) {
    try {
      work();
    } catch (const ServeError& error) {
      return fmt::format("{} {}", error.status(), error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal([&] { submit(queue, "b", true); }),
            fmt::format("409 run {} waits and comes first: stop it, or wait until it has ended", both));
  EXPECT_EQ(refusal([&] { queue.remove(both); }), fmt::format("409 run {} waits: stop it first", both));
}

TEST_F(RunQueueTest, WordsAreMissedWhereNothingElseIsKnown) {
  std::ofstream(program_) << "#!/bin/sh\nexit 1\n";
  RunQueue queue(program_, store_, 16, 1);
  const std::string id = submit(queue, "a");
  EXPECT_EQ(queue.await(id, RunState::kStopping, kPatience).last_words, "it ended without a word");
}

TEST_F(RunQueueTest, WhatBeginsPastThoseThatWaitIsNotRefused) {
  RunQueue queue(program_, store_, 1, 3);
  const std::string a = submit(queue, "a"), waits = submit(queue, "a");
  EXPECT_THAT(status_of([&] { submit(queue, "a", true); }), 409);
  const std::string ring = submit(queue, "ring", true);
  EXPECT_EQ(begun(queue, ring), RunState::kStarting);
  EXPECT_EQ(queue.status(waits).state, RunState::kQueued);
  submit(queue, "b", true);
  EXPECT_THAT(status_of([&] { submit(queue, "ring", true); }), 409) << "three go on";
}

TEST_F(RunQueueTest, WhatWasStoppedBeforeItBeganSaysSoAndIsKnownToTheNextServer) {
  std::string started, waits;
  {
    RunQueue queue(program_, store_, 16, 1);
    started = submit(queue, "a"), waits = submit(queue, "a");
    queue.stop(waits);
    EXPECT_EQ(queue.status(waits).reason, "stopped before it began");
    EXPECT_FALSE(queue.status(waits).exit_status);
    begun(queue, started);
    queue.stop(started);
    EXPECT_EQ(queue.await(started, RunState::kStopping, kPatience).state, RunState::kEnded);
  }
  RunQueue next(program_, store_, 16, 1);
  for (const std::string& id : {started, waits}) EXPECT_EQ(next.status(id).reason, "stopped before it began");
  EXPECT_EQ(next.status(started).exit_status, 128 + SIGINT);
  EXPECT_EQ(next.status(started).last_words, "") << "the reason is known";
}

TEST_F(RunQueueTest, ARunThatFillsTheQuotaSaysSo) {
  KeptRuns store(folder_.path() / "small", {.quota = 10'000});
  std::ofstream(program_) << "#!/bin/sh\nhead -c 20000 /dev/zero\nexec sleep 60\n";
  RunQueue queue(program_, store, 16, 1);
  const std::string id = submit(queue, "a");
  EXPECT_EQ(queue.await(id, RunState::kStopping, kPatience).state, RunState::kEnded);
  EXPECT_THAT(queue.status(id).reason, ::testing::HasSubstr("10000 bytes (--quota)"));
}

}  // namespace
}  // namespace rankwire
