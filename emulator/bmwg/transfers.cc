#include "emulator/bmwg/transfers.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire {

Duration transfer_length(const BmwgBench& bench, const BmwgParameters& parameters, Bytes size) {
  const double one = 8e12 * static_cast<double>(size.count) / bench.rate();
  return std::max(parameters.duration("duration"), Duration(static_cast<int64_t>(20 * one)));
}

std::string transfers(const BmwgBench& bench, const std::string& name, uint32_t pairs, const std::string& how) {
  const size_t half = bench.ports() / 2;
  std::string from, to;
  for (uint32_t i = 0; i < pairs; ++i) {
    from += (i == 0 ? "" : ", ") + bench.port(i % half);
    // The next time round a prefill port has another decode port.
    to += (i == 0 ? "" : ", ") + bench.port(half + (i + i / half) % half);
  }
  return fmt::format("{{name: {}, pattern: pairs, from: [{}], to: [{}], {}}}", name, from, to, how);
}

const nlohmann::ordered_json& ended_transfers(const BmwgMeasurement& run, const std::string& name) {
  const nlohmann::ordered_json& entry = run.background(name);
  if (!entry.is_object() || entry.at("completion_time").at("count") == 0)
    throw BmwgUndecided(fmt::format("{}: no transfer came to its end", run.folder().filename().string()));
  return entry;
}

double transfer_time(const nlohmann::ordered_json& transfers, const char* quantile) {
  return transfers.at("completion_time").at(quantile).get<double>() * 1e-6;
}

}  // namespace rankwire
