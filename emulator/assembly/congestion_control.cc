#include "emulator/assembly/congestion_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "emulator/assembly/default_value.h"
#include "emulator/assembly/traffic_names.h"

namespace rankwire {
namespace {

DcqcnPreset dcqcn_preset_of(PresetName preset) {
  switch (preset) {
    case PresetName::kMlx5:
      return DcqcnPreset::kMlx5;
    case PresetName::kPaper:
      return DcqcnPreset::kPaper;
    case PresetName::kHpcc:
      return DcqcnPreset::kHpcc;
    case PresetName::kHpccPaper:
      return DcqcnPreset::kHpccPaper;
    case PresetName::kHpccWindow:
      return DcqcnPreset::kHpccWindow;
    case PresetName::kHpccPaperWindow:
      return DcqcnPreset::kHpccPaperWindow;
  }
  return DcqcnPreset::kMlx5;
}

/// Whether any connection has the algorithm.
bool uses(const RunConfig& config, AlgorithmName name) {
  return config.transport.congestion.uses(name) || std::ranges::any_of(config.jobs, [&](const JobConfig& job) {
           return job.congestion && job.congestion->uses(name);
         });
}

/// With HPCC's simulator every acknowledgement carries a mark, which alpha's clock gathers: CNPs that are closer than
/// its shortest period change nothing. DCTCP counts them.
Duration interval_of(const RunConfig& config) {
  if (uses(config, AlgorithmName::kDctcp)) return Duration();
  switch (config.transport.congestion.preset) {
    case PresetName::kMlx5:
      return microseconds(4);
    case PresetName::kPaper:
      return microseconds(50);
    case PresetName::kHpcc:
    case PresetName::kHpccPaper:
    case PresetName::kHpccWindow:
    case PresetName::kHpccPaperWindow:
      return microseconds(1);
  }
  return microseconds(4);
}

CongestionAlgorithm algorithm_of(AlgorithmName algorithm) {
  switch (algorithm) {
    case AlgorithmName::kNone:
      return CongestionAlgorithm::kNone;
    case AlgorithmName::kStatic:
      return CongestionAlgorithm::kStatic;
    case AlgorithmName::kDcqcn:
      return CongestionAlgorithm::kDcqcn;
    case AlgorithmName::kDctcp:
      return CongestionAlgorithm::kDctcp;
    case AlgorithmName::kSwift:
      return CongestionAlgorithm::kSwift;
  }
  return CongestionAlgorithm::kNone;
}

NotificationScope scope_of(ScopeName scope) {
  switch (scope) {
    case ScopeName::kQueuePair:
      return NotificationScope::kQueuePair;
    case ScopeName::kAddressPair:
      return NotificationScope::kAddressPair;
    case ScopeName::kPort:
      return NotificationScope::kPort;
  }
  return NotificationScope::kQueuePair;
}

void fill_reaction_point(CongestionConfig& control, const DcqcnOptions& preset) {
  fill(control.rp_clamp_tgt_rate, preset.clamp_tgt_rate);
  fill(control.rp_clamp_tgt_rate_ati, preset.clamp_tgt_rate_ati);
  fill(control.rp_time_reset, preset.time_reset);
  fill(control.rp_byte_reset, preset.byte_reset);
  fill(control.rp_threshold, preset.threshold);
  fill(control.rp_ai_rate, preset.ai_rate);
  fill(control.rp_hai_rate, preset.hai_rate);
  fill(control.rp_min_rate, preset.min_rate);
  fill(control.rp_min_dec_fac, preset.min_dec_fac);
  fill(control.rp_dce_tcp_g, preset.dce_tcp_g);
  fill(control.rp_dce_tcp_rtt, preset.dce_tcp_rtt);
  fill(control.rp_rate_reduce_monitor_period, preset.rate_reduce_monitor_period);
  fill(control.rp_initial_alpha_value, preset.initial_alpha_value);
  fill(control.rp_gd, preset.gd);
  fill(control.dcqcn_window, preset.window);
}

DcqcnOptions dcqcn_options(const CongestionConfig& control) {
  return {.clamp_tgt_rate = *control.rp_clamp_tgt_rate,
          .clamp_tgt_rate_ati = *control.rp_clamp_tgt_rate_ati,
          .time_reset = *control.rp_time_reset,
          .byte_reset = *control.rp_byte_reset,
          .threshold = *control.rp_threshold,
          .ai_rate = *control.rp_ai_rate,
          .hai_rate = *control.rp_hai_rate,
          .max_rate = control.rp_max_rate.value_or(Bandwidth()),
          .min_rate = *control.rp_min_rate,
          .min_dec_fac = *control.rp_min_dec_fac,
          .rate_to_set_on_first_cnp = control.rp_rate_to_set_on_first_cnp.value_or(Bandwidth()),
          .dce_tcp_g = *control.rp_dce_tcp_g,
          .dce_tcp_rtt = *control.rp_dce_tcp_rtt,
          .rate_reduce_monitor_period = *control.rp_rate_reduce_monitor_period,
          .initial_alpha_value = *control.rp_initial_alpha_value,
          .gd = *control.rp_gd,
          .window = *control.dcqcn_window};
}

bool follows_marks(const CongestionConfig& control) {
  return control.uses(AlgorithmName::kDcqcn) || control.uses(AlgorithmName::kDctcp);
}

/// What senders have, in the section `key`. `fastest` is the rate of a port.
void settle_sender(CongestionConfig& control, const RunConfig& config, Bandwidth fastest, const std::string& key) {
  const TransportConfig& transport = config.transport;
  if (follows_marks(control) && !transport.data.ecn.value_or(*transport.ecn))
    fail_key(config.places, key + ".algorithm",
             "follows the marks of data packets, and those of the profile are not ECN-capable: it needs "
             "'transport.ecn: on'");
  fill_reaction_point(control, dcqcn_preset(dcqcn_preset_of(control.preset), fastest));
  if (control.uses(AlgorithmName::kDcqcn) && *control.dcqcn_window > Duration() && transport.verb == VerbName::kRead)
    fail_key(
        config.places, key + ".dcqcn_window",
        "follows acknowledgements, which the data of 'transport.verb: read' does not have; 'dcqcn_window: 0us' has "
        "no window");
}

}  // namespace

void apply_congestion_preset(RunConfig& config) {
  constexpr const char* kControl = "transport.congestion_control";
  Bandwidth fastest;
  for (const PortConfig& port : config.ports) fastest = std::max(fastest, port.rate);
  CongestionConfig& control = config.transport.congestion;
  settle_sender(control, config, fastest, kControl);
  for (size_t j = 0; j < config.jobs.size(); ++j) {
    if (config.jobs[j].congestion)
      settle_sender(*config.jobs[j].congestion, config, fastest, fmt::format("jobs[{}].{}", j, kControl));
  }
  fill(control.np_enable, uses(config, AlgorithmName::kDcqcn) || uses(config, AlgorithmName::kDctcp));
  fill(control.np_min_time_between_cnps, interval_of(config));
}

CongestionOptions congestion_options(const CongestionConfig& control) {
  constexpr int64_t kMillion = 1'000'000;
  CongestionOptions options;
  options.algorithm = algorithm_of(control.algorithm);
  options.rate = control.rate.value_or(Bandwidth());
  options.burst = control.burst;
  options.dcqcn = dcqcn_options(control);
  options.dctcp.gain = control.dctcp_g;
  options.swift = {.base_target = control.swift_base_target,
                   .fs_range = control.swift_fs_range,
                   .beta = {control.swift_beta_ppm, kMillion},
                   .max_mdf = {control.swift_max_mdf_ppm, kMillion}};
  options.notifies = *control.np_enable;
  options.notification = {.min_time_between_cnps = *control.np_min_time_between_cnps,
                          .scope = scope_of(control.np_scope)};
  return options;
}

std::vector<CongestionException> congestion_exceptions(const Setup& setup) {
  const CongestionConfig& control = setup.config.transport.congestion;
  std::vector<CongestionException> exceptions;
  for (size_t i = 0; i < control.exceptions.size(); ++i) {
    const CongestionExceptionConfig& config = control.exceptions[i];
    const auto check = [&](const char* key, const std::string& reason) {
      if (!reason.empty())
        fail_input("{}: transport.congestion_control.exceptions[{}].{}: {}", config.place, i, key, reason);
    };
    if (config.job) check("job", explain_job(setup, config.job->number));
    if (config.group) check("group", explain_group(setup, *config.group));
    CongestionException exception;
    exception.options = congestion_options(control);
    exception.options.algorithm = algorithm_of(config.algorithm);
    exception.options.rate = config.rate.value_or(Bandwidth());
    if (config.job) exception.job = JobId(config.job->number);
    if (!config.group) exceptions.push_back(exception);
    // Jobs may call groups alike, and so may ranks.
    for (uint32_t g = 0; config.group && g < setup.workload.groups.size(); ++g) {
      if (setup.workload.groups[g].name != *config.group) continue;
      exception.group = GroupId(g);
      exceptions.push_back(exception);
    }
  }
  for (uint32_t j = 0; j < setup.config.jobs.size(); ++j) {
    if (!setup.config.jobs[j].congestion) continue;
    CongestionConfig own = *setup.config.jobs[j].congestion;
    own.np_enable = control.np_enable, own.np_min_time_between_cnps = control.np_min_time_between_cnps;
    exceptions.push_back({.job = JobId(j), .group = {}, .options = congestion_options(own)});
  }
  return exceptions;
}

}  // namespace rankwire
