#include "emulator/input/validate_congestion.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace rankwire {
namespace {

constexpr const char* kSection = "transport.congestion_control";

bool follows_marks(AlgorithmName algorithm) {
  return algorithm == AlgorithmName::kDcqcn || algorithm == AlgorithmName::kDctcp;
}

bool follows_acknowledgements(AlgorithmName algorithm) {
  return algorithm == AlgorithmName::kDctcp || algorithm == AlgorithmName::kSwift;
}

/// `key` is that of the section or item that has both.
void check_algorithm(AlgorithmName algorithm, const std::optional<Bandwidth>& rate, const std::string& key,
                     const RunConfig& config, const Tree& root) {
  const TransportConfig& transport = config.transport;
  const std::string of_algorithm = key + ".algorithm";
  if (algorithm == AlgorithmName::kStatic && !rate)
    fail_key(root, of_algorithm, "'static' needs 'rate', that of each queue pair");
  if (algorithm != AlgorithmName::kStatic && rate) fail_key(root, key + ".rate", "needs 'algorithm: static'");
  if (follows_marks(algorithm) && transport.data.ecn.value_or(transport.ecn.value_or(true)) == false)
    fail_key(root, of_algorithm,
             "follows the marks of data packets, which must be ECN-capable: it needs 'transport.ecn: on', or "
             "'transport.markings.data.ecn: on'");
  if (transport.verb == VerbName::kRead && follows_acknowledgements(algorithm))
    fail_key(root, of_algorithm,
             "'dctcp' and 'swift' follow acknowledgements, which the data of 'transport.verb: read' does not have; "
             "'static' or 'dcqcn' holds it back");
  if (algorithm != AlgorithmName::kNone && std::ranges::all_of(config.ports, &PortConfig::is_rdma_device))
    fail_key(root, of_algorithm,
             "is for DPDK ports, and all ports are RDMA devices, whose congestion control is set by their driver");
}

/// What senders have, in the section `key`.
void check_sender(const CongestionConfig& control, const std::string& key, const RunConfig& config, const Tree& root) {
  check_algorithm(control.algorithm, control.rate, key, config, root);
  if (control.rp_max_rate && control.rp_min_rate && *control.rp_min_rate > *control.rp_max_rate)
    fail_key(root, key + ".rp_min_rate", "{} bit/s is above rp_max_rate {} bit/s", control.rp_min_rate->bits_per_second,
             control.rp_max_rate->bits_per_second);
  if (control.dctcp_g.numerator > control.dctcp_g.denominator)
    fail_key(root, key + ".dctcp_g", "{}/{} is more than 1", control.dctcp_g.numerator, control.dctcp_g.denominator);
}

}  // namespace

void place_congestion(RunConfig& config, const Tree& root) {
  std::vector<CongestionExceptionConfig>& exceptions = config.transport.congestion.exceptions;
  for (size_t i = 0; i < exceptions.size(); ++i)
    exceptions[i].place = nearest(root, fmt::format("{}.exceptions[{}]", kSection, i)).origin.place;
}

void validate_congestion(const RunConfig& config, const Tree& root) {
  const CongestionConfig& control = config.transport.congestion;
  check_sender(control, kSection, config, root);
  for (size_t i = 0; i < control.exceptions.size(); ++i) {
    const CongestionExceptionConfig& exception = control.exceptions[i];
    const std::string item = fmt::format("{}.exceptions[{}]", kSection, i);
    if (!exception.job && !exception.group) fail_key(root, item, "needs 'job', 'group' or both");
    check_algorithm(exception.algorithm, exception.rate, item, config, root);
  }
  for (size_t j = 0; j < config.jobs.size(); ++j) {
    if (config.jobs[j].congestion)
      check_sender(*config.jobs[j].congestion, fmt::format("jobs[{}].{}", j, kSection), config, root);
  }
}

}  // namespace rankwire
