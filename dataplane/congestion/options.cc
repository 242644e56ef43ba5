#include "dataplane/congestion/options.h"

#include <algorithm>
#include <vector>

#include "base/check_range.h"
#include "base/error.h"

namespace rankwire {
namespace {

/// A rate that nothing changes.
class StaticRate final : public CongestionControl {
 public:
  StaticRate(Bandwidth rate, std::span<const Bandwidth> lines) : rates_(lines.begin(), lines.end()) {
    for (Bandwidth& each : rates_) each = std::min(each, rate);
  }
  void notified(uint32_t, Time) noexcept override {}
  Allowance allowance(uint32_t queue_pair, Time) noexcept override { return {.rate = rates_[queue_pair]}; }
  bool heeds_notifications(uint32_t) const noexcept override { return false; }

 private:
  std::vector<Bandwidth> rates_;
};

template <class Unit>
void check_positive(const char* what, Unit value) {
  if (value <= Unit()) fail_input("{} is not positive", what);
}

void check_share(const char* what, Scale share) {
  if (share.numerator < 0 || share.denominator <= 0 || share.numerator > share.denominator)
    fail_input("{} is {}/{}; it must be 0 to 1", what, share.numerator, share.denominator);
}

void check_dcqcn(const DcqcnOptions& options) {
  check_positive("rp_time_reset", options.time_reset);
  check_positive("rp_dce_tcp_rtt", options.dce_tcp_rtt);
  check_positive("rp_min_rate", options.min_rate);
  if (options.rate_reduce_monitor_period < Duration()) fail_input("rp_rate_reduce_monitor_period is negative");
  if (options.window < Duration()) fail_input("dcqcn_window is negative");
  if (options.byte_reset < Bytes()) fail_input("rp_byte_reset is negative");
  check_range("rp_threshold", options.threshold, 1, UINT32_MAX);
  check_range("rp_min_dec_fac", options.min_dec_fac, 0, 100);
  check_range("rp_dce_tcp_g", options.dce_tcp_g, 0, 1024);
  check_range("rp_initial_alpha_value", options.initial_alpha_value, 0, 1024);
  check_range("rp_gd", options.gd, 10, 20);
}

}  // namespace

void check_congestion_options(const CongestionOptions& options) {
  check_range("burst", options.burst, 1, UINT32_MAX);
  if (options.algorithm == CongestionAlgorithm::kStatic) check_positive("the rate of a queue pair", options.rate);
  if (options.algorithm == CongestionAlgorithm::kDcqcn) check_dcqcn(options.dcqcn);
  if (options.algorithm == CongestionAlgorithm::kDctcp) check_share("dctcp_g", options.dctcp.gain);
  if (options.algorithm == CongestionAlgorithm::kSwift) {
    check_positive("swift_base_target", options.swift.base_target);
    check_share("swift_beta", options.swift.beta);
    check_share("swift_max_mdf", options.swift.max_mdf);
  }
  if (options.notification.min_time_between_cnps < Duration()) fail_input("np_min_time_between_cnps is negative");
}

std::unique_ptr<CongestionControl> make_congestion_control(const CongestionOptions& options, const WindowLimits& limits,
                                                           std::span<const Bandwidth> lines) {
  switch (options.algorithm) {
    case CongestionAlgorithm::kNone:
      break;
    case CongestionAlgorithm::kStatic:
      return std::make_unique<StaticRate>(options.rate, lines);
    case CongestionAlgorithm::kDcqcn:
      return std::make_unique<Dcqcn>(options.dcqcn, lines);
    case CongestionAlgorithm::kDctcp:
      return std::make_unique<Dctcp>(options.dctcp, limits, lines);
    case CongestionAlgorithm::kSwift:
      return std::make_unique<Swift>(options.swift, limits, lines);
  }
  return nullptr;
}

}  // namespace rankwire
