// What a benchmark measures with: runs of the suite's configuration with another workload, each in a process of its
// own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/bmwg/suite_file.h"
#include "emulator/input/config.h"
#include "emulator/suite/test_case.h"

namespace rankwire {

/// `rankwire run CONFIG --set ... --out FOLDER`.
struct BmwgRun {
  std::string config;
  std::vector<std::string> settings;
  std::filesystem::path folder;
  std::chrono::milliseconds patience{0};  ///< after which it is ended
};

/// Ends a test of which nobody can tell how it would have ended. `what` is the verdict's reason.
class BmwgUndecided : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns what went wrong where the folder has no summary; "" otherwise, whatever the verdict. Throws BmwgUndecided
/// where it had no core to run on. Blocks.
using BmwgRunner = std::function<std::string(const BmwgRun& run)>;

/// The outcome of a run.
class BmwgMeasurement {
 public:
  BmwgMeasurement(nlohmann::ordered_json summary, std::filesystem::path folder)
      : summary_(std::move(summary)), folder_(std::move(folder)) {}

  const nlohmann::ordered_json& summary() const { return summary_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// Of `summary.transport`; 0 where there is none.
  uint64_t counter(const char* name) const;
  /// `counter` over the data packets that arrived.
  double share_of_packets(const char* name) const;
  /// Rows of TABLE.csv, by column; where it has rows of several runs those of the emulated side.
  std::vector<std::map<std::string, std::string>> rows(const char* table) const;
  /// Data packets that each connection had sent by the end, what was sent again not counted twice.
  std::vector<double> packets_by_flow() const;
  /// The longest time in all that a priority of a generator's port was paused. Seconds.
  double longest_pause() const;
  /// Data packets that the network lost, per million. NaN where none were sent, or nobody knows.
  double lost_ppm() const;
  /// Bytes that the queues of the embedded switches held, in rising order, as sampled by `record.fabric_interval`;
  /// empty without.
  std::vector<double> queue_depths() const;
  /// Of an entry of the background; null where it carried nothing.
  const nlohmann::ordered_json& background(std::string_view name) const;
  /// What that entry counted, such as "delivered_bps"; 0 where it carried nothing.
  double carried(std::string_view name, const char* figure) const;
  /// Whether it came to its end; else the summary says why not.
  bool ended_well() const;
  std::string reason() const;  ///< "stalled: no progress for 5 s"
  /// Whether the generator, not the device, may have set the pace.
  bool generator_limited() const { return summary_.value("fidelity", "") == "generator_limited"; }
  /// Seconds; NaN where the run was not ok.
  double completion() const { return completion_of("emulated"); }
  double reference() const { return completion_of("reference"); }
  /// Of a collective of one size: its row of `summary.collective`, whose `emulated` is there. Where no call came to its
  /// end it throws BmwgUndecided if the generator may be why, else Error(kRun).
  const nlohmann::ordered_json& only_size() const;

 private:
  double completion_of(const char* side) const;

  nlohmann::ordered_json summary_;
  std::filesystem::path folder_;
};

/// Bytes that parallel links of the fabric have sent, by name.
using LinkBytes = std::map<std::string, double>;

/// Given to one test while it runs. One thread.
class BmwgBench {
 public:
  /// `settings`: "key=value", of all runs of this test. No run begins after `allowed` from now.
  BmwgBench(const BmwgSuite& suite, const RunConfig& base, const BmwgRunner& runner, const CaseContext& context,
            std::vector<std::string> settings, std::chrono::milliseconds allowed);

  const RunConfig& base() const { return base_; }
  size_t ports() const { return base_.ports.size(); }
  const std::string& port(size_t index) const { return base_.ports.at(index).name; }
  /// Names of `count` ports from `first` on, beginning anew behind the last one: "p2, p3, p0".
  std::string port_names(size_t first, size_t count) const;
  double rate() const;    ///< of the slowest port, bit/s
  uint32_t npus() const;  ///< of all hosts
  bool has_fabric() const { return base_.fabric.has_value(); }
  /// Whether all ports are of the embedded switch, which tells what happens inside it.
  bool is_embedded() const;

  /// Runs the suite's configuration with these settings, whose workload is among them; expected to take `length`. What
  /// failed or stalled is a result as well. Throws Error(kRun) where there is none: it could not be started, failed
  /// before it began, was stopped, or did not end in time; BmwgUndecided when the test's time is over, or where the run
  /// had no core to run on.
  BmwgMeasurement attempt(const std::string& name, std::vector<std::string> settings, Duration length);
  /// The same of background flows alone: `entries` are items of `background` as flow YAML, for `length`.
  BmwgMeasurement attempt_flows(const std::string& name, const std::string& entries, Duration length,
                                std::vector<std::string> settings = {});
  /// `attempt` of what has to come to its end. Throws Error(kRun) when it did not, or BmwgUndecided where the generator
  /// was too slow for it.
  BmwgMeasurement measure(const std::string& name, std::vector<std::string> settings, Duration length);
  BmwgMeasurement measure_flows(const std::string& name, const std::string& entries, Duration length,
                                std::vector<std::string> settings = {});
  /// Has the queues of the embedded switches sampled; nothing of other devices.
  std::vector<std::string> sampling() const;
  /// Seconds that such calls of a collective take at the rate of the ports, those that warm up included, about.
  double seconds_of_calls(uint32_t ranks, Bytes size, uint32_t iterations) const;
  /// The same of a collective as `rankwire collective` measures it, with up to five calls that warm up.
  BmwgMeasurement attempt_collective(const std::string& name, std::string_view operation, uint32_t ranks, Bytes size,
                                     uint32_t iterations, std::vector<std::string> settings = {});
  BmwgMeasurement measure_collective(const std::string& name, std::string_view operation, uint32_t ranks, Bytes size,
                                     uint32_t iterations, std::vector<std::string> settings = {});

  /// Of a run over the embedded switches: the cables from those that have hosts to those that have none,
  /// "leaf0.spine1".
  LinkBytes uplinks(const BmwgMeasurement& run) const;

  /// Of a run of that name.
  std::filesystem::path run_folder(const std::string& name) const { return context_.folder / name; }
  /// Prefix of traces for `workload.traces`, in the folder of the test.
  std::string trace_prefix(const std::string& name) const { return (context_.folder / name).string(); }
  bool has_hook(const std::string& name) const { return suite_.hooks.contains(name); }
  /// "mirror: 'COMMAND'", as errors name a hook that there is.
  std::string hook_text(const std::string& name) const;
  /// Throws Error(kRun) as run_hook does.
  void hook(const std::string& name) const;
  /// The same, to its end also when the test is interrupted: what mends what another hook has broken.
  void mending_hook(const std::string& name) const;
  /// What the command `counters` prints; null without one. Throws Error(kRun) where that is no JSON object.
  nlohmann::ordered_json counters() const;
  /// What the command `mirror` prints, which mirror_counts reads; null without one. Throws Error(kRun) likewise.
  nlohmann::ordered_json mirror() const;

 private:
  /// The JSON object that a hook prints; null where there is no such hook. Throws Error(kRun) where it is none.
  nlohmann::ordered_json printed_by(const std::string& hook) const;

  const BmwgSuite& suite_;
  const RunConfig& base_;
  const BmwgRunner& runner_;
  const CaseContext& context_;
  const std::vector<std::string> settings_;
  const std::chrono::milliseconds allowed_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  uint64_t runs_ = 0;  ///< that have ended
};

}  // namespace rankwire
