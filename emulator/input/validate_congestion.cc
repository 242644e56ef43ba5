#include "emulator/input/validate_congestion.h"

#include <algorithm>
#include <string>
#include <utility>

namespace rankwire {
namespace {

template <class... Args>
[[noreturn]] void fail(const Tree& root, const char* key, fmt::format_string<Args...> format, Args&&... args) {
  const std::string path = fmt::format("transport.congestion_control.{}", key);
  fail_at(nearest(root, path).origin, "{}: {}", path, fmt::format(format, std::forward<Args>(args)...));
}

bool follows_marks(AlgorithmName algorithm) {
  return algorithm == AlgorithmName::kDcqcn || algorithm == AlgorithmName::kDctcp;
}

void check_rates(const CongestionConfig& control, const Tree& root) {
  if (control.algorithm == AlgorithmName::kStatic && !control.rate)
    fail(root, "algorithm", "'static' needs 'rate', that of each queue pair");
  if (control.algorithm != AlgorithmName::kStatic && control.rate) fail(root, "rate", "needs 'algorithm: static'");
  if (control.rp_max_rate && control.rp_min_rate && *control.rp_min_rate > *control.rp_max_rate)
    fail(root, "rp_min_rate", "{} bit/s is above rp_max_rate {} bit/s", control.rp_min_rate->bits_per_second,
         control.rp_max_rate->bits_per_second);
}

}  // namespace

void validate_congestion(const RunConfig& config, const Tree& root) {
  const TransportConfig& transport = config.transport;
  const CongestionConfig& control = transport.congestion;
  check_rates(control, root);
  if (control.dctcp_g.numerator > control.dctcp_g.denominator)
    fail(root, "dctcp_g", "{}/{} is more than 1", control.dctcp_g.numerator, control.dctcp_g.denominator);
  if (follows_marks(control.algorithm) && transport.data.ecn.value_or(transport.ecn.value_or(true)) == false)
    fail(root, "algorithm",
         "follows the marks of data packets, which must be ECN-capable: it needs 'transport.ecn: on', or "
         "'transport.markings.data.ecn: on'");
  if (control.algorithm == AlgorithmName::kNone) return;
  const bool has_window = control.algorithm == AlgorithmName::kDctcp || control.algorithm == AlgorithmName::kSwift;
  if (transport.verb == VerbName::kRead && has_window)
    fail(root, "algorithm",
         "'dctcp' and 'swift' follow acknowledgements, which the data of 'transport.verb: read' does not have; "
         "'static' or 'dcqcn' holds it back");
  if (std::ranges::all_of(config.ports, &PortConfig::is_rdma_device))
    fail(root, "algorithm",
         "is for DPDK ports, and all ports are RDMA devices, whose congestion control is set by their driver");
}

}  // namespace rankwire
