// The keys of `transport.congestion_control`, as schema.h has the others.
#pragma once

#include "emulator/input/congestion_config.h"
#include "emulator/input/job_choice_syntax.h"
#include "emulator/input/syntax.h"

namespace rankwire {

/// The reaction point: what a sender makes of CNPs.
template <class Visitor>
void describe_reaction_point(Visitor& visit, CongestionConfig& control) {
  const auto preset = [](auto syntax) { return Or{"preset", syntax}; };
  const Interval clock{nanoseconds(1), seconds(10)};
  visit.field("rp_clamp_tgt_rate", control.rp_clamp_tgt_rate, preset(on_or_off()));
  visit.field("rp_clamp_tgt_rate_ati", control.rp_clamp_tgt_rate_ati, preset(on_or_off()));
  visit.field("rp_time_reset", control.rp_time_reset, preset(clock));
  visit.field("rp_byte_reset", control.rp_byte_reset, preset(Size{Bytes(0), Bytes(1LL << 40)}));
  visit.field("rp_threshold", control.rp_threshold, preset(Integer<uint32_t>{1, 1'000'000}));
  visit.field("rp_ai_rate", control.rp_ai_rate, preset(Rate{}));
  visit.field("rp_hai_rate", control.rp_hai_rate, preset(Rate{}));
  visit.field("rp_max_rate", control.rp_max_rate, Or{"line", Rate{}});
  visit.field("rp_min_rate", control.rp_min_rate, preset(Rate{}));
  visit.field("rp_min_dec_fac", control.rp_min_dec_fac, preset(Integer<uint32_t>{0, 100}));
  visit.field("rp_rate_to_set_on_first_cnp", control.rp_rate_to_set_on_first_cnp, Or{"none", Rate{}});
  visit.field("rp_dce_tcp_g", control.rp_dce_tcp_g, preset(Integer<uint32_t>{0, 1'024}));
  visit.field("rp_dce_tcp_rtt", control.rp_dce_tcp_rtt, preset(clock));
  visit.field("rp_rate_reduce_monitor_period", control.rp_rate_reduce_monitor_period,
              preset(Interval{Duration(), seconds(10)}));
  visit.field("rp_initial_alpha_value", control.rp_initial_alpha_value, preset(Integer<uint32_t>{0, 1'024}));
  visit.field("rp_gd", control.rp_gd, preset(Integer<uint32_t>{10, 20}));
  visit.field("dcqcn_window", control.dcqcn_window, preset(Interval{Duration(), seconds(1)}));
}

/// The notification point: what a receiver makes of marks.
template <class Visitor>
void describe_notification_point(Visitor& visit, CongestionConfig& control) {
  visit.field("np_enable", control.np_enable, Or{"auto", on_or_off()});
  visit.field("np_min_time_between_cnps", control.np_min_time_between_cnps,
              Or{"preset", Interval{Duration(), seconds(10)}});
  visit.field("np_scope", control.np_scope,
              Choice<ScopeName>{{{"queue_pair", ScopeName::kQueuePair},
                                 {"address_pair", ScopeName::kAddressPair},
                                 {"port", ScopeName::kPort}}});
}

inline Choice<AlgorithmName> congestion_algorithm() {
  return {{{"none", AlgorithmName::kNone},
           {"static", AlgorithmName::kStatic},
           {"dcqcn", AlgorithmName::kDcqcn},
           {"dctcp", AlgorithmName::kDctcp},
           {"swift", AlgorithmName::kSwift}}};
}

template <class Visitor>
void describe_algorithm(Visitor& visit, CongestionConfig& control) {
  visit.field("algorithm", control.algorithm, congestion_algorithm());
  visit.field("preset", control.preset,
              Choice<PresetName>{{{"mlx5", PresetName::kMlx5},
                                  {"paper", PresetName::kPaper},
                                  {"hpcc", PresetName::kHpcc},
                                  {"hpcc_paper", PresetName::kHpccPaper},
                                  {"hpcc_vwin", PresetName::kHpccWindow},
                                  {"hpcc_paper_vwin", PresetName::kHpccPaperWindow}}});
  visit.field("rate", control.rate, Or{"none", Rate{}});
}

/// Of the algorithms that have windows.
template <class Visitor>
void describe_window_control(Visitor& visit, CongestionConfig& control) {
  visit.field("dctcp_g", control.dctcp_g, Fraction{});
  visit.field("swift_base_target", control.swift_base_target, Interval{nanoseconds(1), seconds(1)});
  visit.field("swift_fs_range", control.swift_fs_range, Interval{Duration(), seconds(1)});
  visit.field("swift_beta", control.swift_beta_ppm, Share{});
  visit.field("swift_max_mdf", control.swift_max_mdf_ppm, Share{});
}

/// What senders may have for themselves.
template <class Visitor>
void describe_sender_control(Visitor& visit, CongestionConfig& control) {
  describe_algorithm(visit, control);
  describe_reaction_point(visit, control);
  describe_window_control(visit, control);
}

template <class Visitor>
void describe_congestion_control(Visitor& visit, CongestionConfig& control) {
  describe_algorithm(visit, control);
  visit.field("burst", control.burst, Integer<uint32_t>{1, 1'024});
  describe_reaction_point(visit, control);
  describe_notification_point(visit, control);
  describe_window_control(visit, control);
  visit.items("exceptions", control.exceptions, [](auto& keys, CongestionExceptionConfig& exception) {
    keys.field("job", exception.job, Or{"any", JobChoiceSyntax{}});
    keys.field("group", exception.group, Or{"any", Text{}});
    keys.field("algorithm", exception.algorithm, congestion_algorithm());
    keys.field("rate", exception.rate, Or{"none", Rate{}});
  });
}

}  // namespace rankwire
