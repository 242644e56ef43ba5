// The benchmarks of the IETF's drafts on AI fabrics, as tests of a suite.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/bmwg/bench.h"
#include "emulator/bmwg/outcome.h"
#include "emulator/bmwg/parameters.h"
#include "emulator/suite/test_case.h"

namespace rankwire {

/// A value with which a test could not be carried out.
struct RefusedValue {
  const char* parameter;
  std::string why;  ///< with the value: "2: ..."
};

/// `lacks`, `seconds` and `run` are given the same bench; only `run` measures.
struct BmwgTest {
  const char* id;  ///< category of the training draft, -03, or "I" for the inference draft: "T1.throughput"
  const char* title;
  const char* stimulus;
  const char* expectation;
  const char* source;
  const char* needs;  ///< of the device or its surroundings, beyond ports; empty: nothing; may begin with kOfDevices
  std::vector<ParameterDefault> parameters;
  /// Why it can only be skipped here; empty: it can be run.
  std::string (*lacks)(const BmwgBench& bench, const BmwgParameters& parameters);
  /// Seconds that the measurements take at these parameters and at the rate of the ports, without set-up.
  double (*seconds)(const BmwgBench& bench, const BmwgParameters& parameters);
  /// Throws as BmwgBench does. What it has measured by then counts.
  void (*run)(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome);
  /// How many take part where `accelerators` is one number, which there may be no NPUs for. Null: it is a list, of
  /// which each is measured or left out, or there is none.
  uint32_t (*ranks)(const BmwgBench& bench, const BmwgParameters& parameters) = nullptr;
  /// What the hook `mirror` is asked for, before and after each of its runs; empty: it is not.
  const char* mirrored = "";
  /// Bytes that its sizes are multiples of, but for those of messages: an element of a collective.
  uint32_t element = 1;
  /// The parameter whose sizes are those of single messages, at most kLongestMessage; empty: none.
  const char* messages = "";
  /// Why a size of its parameters cannot be measured over these ports; empty: it can. Null: all can.
  std::string (*refuses)(const BmwgBench& bench, Bytes size) = nullptr;
  /// The first value that cannot be measured with the others. Null: all can.
  std::optional<RefusedValue> (*contradicts)(const BmwgBench& bench, const BmwgParameters& parameters) = nullptr;
};

/// How needs begin that embedded switches have not.
inline constexpr std::string_view kOfDevices = "of a device that is not embedded";

/// Of the messages of flows (`background[].size`).
inline constexpr Bytes kLongestMessage(2'147'483'647);

/// Of a float, which collectives move.
inline constexpr uint32_t kElementBytes = 4;

/// Sets `accelerators` of a test to those that take part. Returns what was asked for beyond them: "128 accelerators
/// were cut to 8: the hosts hold 8", likewise of those of a list that are left out; empty: nothing.
std::string fit_accelerators(const BmwgTest& test, const BmwgBench& bench, BmwgParameters& parameters);

/// Throws Error(kInput) naming file, line and parameter where the suite gives a test a size that it refuses.
void check_sizes(const BmwgTest& test, const BmwgSuite& suite, const BmwgBench& bench);

/// The same of values that go with others of the test's `parameters`, of which accelerators are cut to the NPUs.
void check_values(const BmwgTest& test, const BmwgSuite& suite, const BmwgBench& bench,
                  const BmwgParameters& parameters);

/// Runs a test that lacks nothing. Throws what is no BmwgUndecided.
CaseOutcome carry_out(const BmwgTest& test, BmwgBench& bench, const BmwgParameters& parameters);

/// In the order in which they are run.
std::span<const BmwgTest> bmwg_catalogue();

/// Those of each category, a file each.
std::vector<BmwgTest> bmwg_rdma_tests();
std::vector<BmwgTest> bmwg_ultra_ethernet_tests();
std::vector<BmwgTest> bmwg_congestion_tests();
std::vector<BmwgTest> bmwg_deadlock_tests();
std::vector<BmwgTest> bmwg_balancing_tests();
std::vector<BmwgTest> bmwg_collective_tests();
std::vector<BmwgTest> bmwg_job_tests();
std::vector<BmwgTest> bmwg_scale_tests();
std::vector<BmwgTest> bmwg_inference_tests();
std::vector<BmwgTest> bmwg_inference_load_tests();

}  // namespace rankwire
