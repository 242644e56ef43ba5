// Signals while machines share what follows from a run: threads of the test, of which one may die.
#include "emulator/assembly/machine_stop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "emulator/machines/machines.h"
#include "tests/machines/fake_links.h"

namespace rankwire {
namespace {

using testing::FakeLinks;
using testing::FakeNetwork;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Machines a, b and c; `lead` is done by a.
class Signal : public ::testing::Test {
 protected:
  void machines(const std::function<void(Machines& machines)>& lead) {
    std::vector<std::thread> threads;
    for (uint32_t own = 0; own < network_.count(); ++own)
      threads.emplace_back([&, own] {
        Machines all(std::make_unique<FakeLinks>(network_, own, std::string(1, static_cast<char>('a' + own))), "",
                     testing::kShortPatience);
        if (all.leads()) lead(all);
        all.leave({});
      });
    for (std::thread& thread : threads) thread.join();
  }
  /// Until it is true, or the test has failed.
  static void wait_for(const std::function<bool()>& what) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!what() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(what());
  }

  FakeNetwork network_{3};
  std::atomic<bool> signal_{false};
  const RunControl control_{signal_};
};

// As long as it could be spared: whoever does not end it at once waits for an hour.
constexpr std::chrono::hours kLong{1};

TEST_F(Signal, EndsAllAtOnceWhereEveryMachineIsThere) {
  machines([&](Machines& all) {
    const MachineStop stop(all, control_, kLong);
    EXPECT_FALSE(stop.control().interrupted.load());
    signal_ = true;
    wait_for([&] { return stop.control().interrupted.load(); });
    EXPECT_EQ(stop.gone(), "");
    EXPECT_EQ(stop.finding(1, 2), "");
    EXPECT_EQ(stop.control().stop_reason(), "stopped by a signal");
  });
}

TEST_F(Signal, OfAMachinesDeathEndsNothingWhileThereIsTime) {
  machines([&](Machines& all) {
    const MachineStop stop(all, control_, kLong);
    network_.cut_off(1);
    signal_ = true;
    wait_for([&] { return !stop.gone().empty(); });
    EXPECT_FALSE(stop.control().interrupted.load());
    EXPECT_EQ(stop.gone(), "machine 'b'");
    EXPECT_THAT(stop.finding(2, 2), StartsWith("machine 'b' has gone while models and the ensemble were simulated"));
    EXPECT_THAT(stop.finding(2, 2), HasSubstr("simulated without it"));
  });
}

TEST_F(Signal, OfAMachinesDeathEndsWhatTakesLongerAndSaysWhatIsMissing) {
  machines([&](Machines& all) {
    // Longer than it takes to miss a machine.
    const MachineStop stop(all, control_, 3 * testing::kShortPatience.silence);
    network_.cut_off(1);
    signal_ = true;
    wait_for([&] { return stop.control().interrupted.load() && !stop.gone().empty(); });
    EXPECT_THAT(stop.finding(5, 7), HasSubstr("a signal then left 0.9 s"));
    EXPECT_THAT(stop.finding(5, 7), HasSubstr("the reference's band is of 5 of 7 members"));
    EXPECT_EQ(stop.control().stop_reason(), "stopped by a signal: machine 'b' has gone");
  });
}

TEST_F(Signal, ThatComesAfterADeathIsSomebodysWish) {
  machines([&](Machines& all) {
    const MachineStop stop(all, control_, kLong);
    network_.cut_off(1);
    wait_for([&] { return all.is_gone(1); });
    EXPECT_THAT(stop.finding(2, 2), HasSubstr("simulated without it"));
    signal_ = true;
    wait_for([&] { return stop.control().interrupted.load(); });
    EXPECT_EQ(stop.finding(1, 2), "");
    EXPECT_EQ(stop.control().stop_reason(), "stopped by a signal: machine 'b' has gone");
  });
}

TEST_F(Signal, BeforeItBeginsIsHeeded) {
  signal_ = true;
  machines([&](Machines& all) {
    const MachineStop stop(all, control_, kLong);
    EXPECT_TRUE(stop.control().interrupted.load());
  });
}

TEST_F(Signal, MayComeAfterAMachineThatHadGoneBeforeWhichIsNoNews) {
  machines([&](Machines& all) {
    network_.cut_off(2);
    wait_for([&] { return all.is_gone(2); });
    const MachineStop stop(all, control_, kLong);
    signal_ = true;
    wait_for([&] { return stop.control().interrupted.load(); });
    EXPECT_EQ(stop.finding(1, 2), "");
  });
}

}  // namespace
}  // namespace rankwire
