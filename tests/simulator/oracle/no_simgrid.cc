#include "tests/simulator/oracle/simgrid.h"

namespace rankwire {

std::optional<std::vector<std::vector<double>>> simgrid_rates(std::span<const FlowSet>) {
  return std::nullopt;
}

}  // namespace rankwire
