// Congestion control as plain values, read from `transport.congestion_control`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/input/job_choice.h"

namespace rankwire {

enum class AlgorithmName : uint8_t { kNone, kStatic, kDcqcn, kDctcp, kSwift };
enum class PresetName : uint8_t { kMlx5, kPaper, kHpcc, kHpccPaper, kHpccWindow, kHpccPaperWindow };
enum class ScopeName : uint8_t { kQueuePair, kAddressPair, kPort };

/// Another algorithm for the connections of one job, of one process group, or of both; one is given at least.
struct CongestionExceptionConfig {
  std::optional<JobChoice> job;
  std::optional<std::string> group;
  AlgorithmName algorithm = AlgorithmName::kNone;
  std::optional<Bandwidth> rate;  ///< kStatic
  std::string place;              ///< file and line
};

/// Absent values are the preset's, but for `rate`, which only the algorithm `static` has, `rp_max_rate` (the line's)
/// and `rp_rate_to_set_on_first_cnp` (none). Those that begin with rp_ and np_ are mlx5's, in its units where there are
/// none.
struct CongestionConfig {
  AlgorithmName algorithm = AlgorithmName::kNone;
  PresetName preset = PresetName::kMlx5;
  std::optional<Bandwidth> rate;
  uint32_t burst = 1;  ///< packets

  std::optional<bool> rp_clamp_tgt_rate, rp_clamp_tgt_rate_ati;
  std::optional<Duration> rp_time_reset;
  std::optional<Bytes> rp_byte_reset;  ///< 0: no byte counter
  std::optional<uint32_t> rp_threshold;
  std::optional<Bandwidth> rp_ai_rate, rp_hai_rate, rp_max_rate, rp_min_rate;
  std::optional<uint32_t> rp_min_dec_fac;  ///< percent
  std::optional<Bandwidth> rp_rate_to_set_on_first_cnp;
  std::optional<uint32_t> rp_dce_tcp_g;  ///< 1024ths
  std::optional<Duration> rp_dce_tcp_rtt, rp_rate_reduce_monitor_period;
  std::optional<uint32_t> rp_initial_alpha_value;  ///< 1024ths
  std::optional<uint32_t> rp_gd;                   ///< log2

  std::optional<Duration> dcqcn_window;  ///< 0: none

  std::optional<bool> np_enable;  ///< absent: with the algorithms that need it
  std::optional<Duration> np_min_time_between_cnps;
  ScopeName np_scope = ScopeName::kQueuePair;

  Scale dctcp_g{1, 16};
  Duration swift_base_target = microseconds(20), swift_fs_range = microseconds(100);
  uint32_t swift_beta_ppm = 800'000, swift_max_mdf_ppm = 500'000;  ///< parts per million

  std::vector<CongestionExceptionConfig> exceptions;  ///< the first that is a connection's holds for it

  bool uses(AlgorithmName name) const {
    return algorithm == name ||
           std::ranges::find(exceptions, name, &CongestionExceptionConfig::algorithm) != exceptions.end();
  }
};

}  // namespace rankwire
