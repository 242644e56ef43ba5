// DCQCN's reaction point: a rate for each queue pair, cut by CNPs and raised by time and bytes sent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "dataplane/congestion/control.h"

namespace rankwire {

/// The parameters of mlx5, without their prefix rp_ (Linux drivers/infiniband/hw/mlx5/cong.c; NVIDIA, "DCQCN CC
/// Parameters"). The defaults are a ConnectX's factory settings as mlxconfig shows them.
struct DcqcnOptions {
  /// A cut lowers the target rate to the current one always, or else only if the rate was raised since the last cut: by
  /// the byte counter or, with `clamp_tgt_rate_ati` (after time increase), by the timer too.
  bool clamp_tgt_rate = false;
  bool clamp_tgt_rate_ati = true;
  Duration time_reset = microseconds(300);  ///< period of the increase timer, > 0
  /// Of the byte counter: an increase whenever so much has been sent. 0: there is none. The factory's 32767 is taken to
  /// count units of 64 bytes.
  Bytes byte_reset = Bytes(32767 * 64);
  uint32_t threshold = 1;                      ///< F: stage at which fast recovery ends, >= 1
  Bandwidth ai_rate = Bandwidth(5'000'000);    ///< additive increase
  Bandwidth hai_rate = Bandwidth(50'000'000);  ///< hyper increase
  Bandwidth max_rate;                          ///< 0: the line's
  Bandwidth min_rate = Bandwidth(1'000'000);   ///< > 0
  uint32_t min_dec_fac = 50;                   ///< what a cut leaves at least, percent, 0 .. 100
  Bandwidth rate_to_set_on_first_cnp;          ///< 0: the first CNP sets no rate
  uint32_t dce_tcp_g = 1019;                   ///< 1 - g in 1024ths, 0 .. 1024
  Duration dce_tcp_rtt = microseconds(1);      ///< period K of alpha's clock, > 0
  /// Of the clock on which CNPs cut the rate, at most once a period. 0: every CNP cuts at once, as in the paper.
  Duration rate_reduce_monitor_period = microseconds(4);
  uint32_t initial_alpha_value = 1023;  ///< 1024ths, 0 .. 1024
  uint32_t gd = 11;                     ///< a cut takes away alpha x 2^(10 - gd) of the rate, 10 .. 20
  /// At most what the current rate sends in so long is on its way: the variable window of HPCC's simulator
  /// (rdma-queue-pair.cc, GetWin), which takes the round trip without queues. 0: nothing bounds it.
  Duration window;

  bool operator==(const DcqcnOptions&) const = default;
};

enum class DcqcnPreset : uint8_t {
  kMlx5,        ///< the defaults above
  kPaper,       ///< Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, at 40 Gb/s; hyper
                ///< increase, which it leaves open, as in its authors' simulator
  kHpcc,        ///< "dcqcn" of Li et al., HPCC, SIGCOMM 2019 (simulation/run.py), which scales with the line rate
  kHpccPaper,   ///< "dcqcn_paper" there: the same with the clocks of the DCQCN paper
  kHpccWindow,  ///< "dcqcn_vwin": kHpcc with a window of 13 us, the round trip of its authors' network
  kHpccPaperWindow,  ///< "dcqcn_paper_vwin": both
};

/// `line` is the rate of the port, > 0.
DcqcnOptions dcqcn_preset(DcqcnPreset preset, Bandwidth line);

/// A queue pair sends at line rate, and with a whole window, until its first CNP. Then there are three clocks, which
/// run alpha first and the increase last when they coincide:
///   alpha:    every `dce_tcp_rtt`: alpha = (1 - g) alpha, + g if a CNP arrived in the period
///   cut:      every `rate_reduce_monitor_period`, if a CNP arrived in the period: the current rate RC becomes
///             RC (1 - alpha 2^(10 - gd)), within `min_dec_fac` and `min_rate`; the target rate RT as `clamp_tgt_rate`
///             says; the stages of increase are forgotten, and their timer starts anew
///   increase: every `time_reset` and every `byte_reset`: one stage further, RT += nothing (fast recovery), `ai_rate`
///             or `hai_rate`, at most the line's rate, and then RC = (RC + RT) / 2
/// With a monitor period of 0 the first two are the paper's: a CNP cuts at once, then alpha = (1 - g) alpha + g, and
/// alpha's clock starts anew.
///
/// With a byte counter, b and t count the increases by bytes and by time since the cut: fast recovery while max(b, t) <
/// F, hyper increase by i x hai_rate if i = min(b, t) - F > 0, else additive. Without one there are the timer's stages
/// of HPCC's simulator (rdma-hw.cc): F fast recoveries, one additive increase, then hyper increases by hai_rate each.
class Dcqcn final : public CongestionControl {
 public:
  /// `lines`: the line rate of each queue pair.
  Dcqcn(const DcqcnOptions& options, std::span<const Bandwidth> lines);

  void notified(uint32_t queue_pair, Time now) noexcept override;
  void sent(uint32_t queue_pair, Time now, Bytes on_line) noexcept override;
  Allowance allowance(uint32_t queue_pair, Time now) noexcept override;
  Time next_update(uint32_t queue_pair) const noexcept override;

  /// For people and tests, as of the last look.
  double alpha(uint32_t queue_pair) const noexcept { return flows_[queue_pair].alpha; }

 private:
  struct Flow {
    double current = 0, target = 0, most = 0;  // bit/s
    double alpha = 0;
    Time first = Time::never();  // CNP; the clock of cuts counts from there
    Time alpha_due = Time::never();
    Time cut_due = Time::never();        // while a CNP is unanswered
    Time increase_due = Time::never();   // from the first cut on
    int64_t counted = 0;                 // bytes of the byte counter
    uint32_t by_bytes = 0, by_time = 0;  // increases since the last cut
    bool marked = false;                 // a CNP arrived since alpha's clock ran
  };

  void advance(Flow& flow, Time now) const noexcept;
  void start(Flow& flow, Time now) const noexcept;
  void update_alpha(Flow& flow, Time now) const noexcept;
  void cut(Flow& flow, Time at) const noexcept;
  void run_timer(Flow& flow, Time now) const noexcept;
  void increase(Flow& flow, uint32_t& counter) const noexcept;
  double raise_of_target(const Flow& flow) const noexcept;

  DcqcnOptions options_;
  double keep_;    // 1 - g
  double factor_;  // 2^(10 - gd)
  std::vector<Flow> flows_;
};

}  // namespace rankwire
