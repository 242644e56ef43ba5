// What the mapping makes of each kind of group: what its members say to each other on the wire and locally.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/assembly/setup.h"

namespace rankwire {

/// Groups that are alike: in name but for numbers, in size, and in the distance of their ranks.
struct GroupTraffic {
  std::string group;               ///< pattern of the names, # for a number; "point-to-point" for SEND and RECV
  uint64_t groups = 0;             ///< that are alike and send anything; 0 for point-to-point
  uint32_t members = 0;            ///< of each; 2 for point-to-point
  std::optional<uint32_t> stride;  ///< from each member's rank to the next's, where it is the same for all
  Bytes wire, local;               ///< payload an iteration
};

/// Those that send anything, the most bytes first.
std::vector<GroupTraffic> group_traffic(const Setup& setup);

/// SENDs whose names differ in numbers alone, of all ranks.
struct TransferTraffic {
  std::string name;       ///< pattern, # for a number; "(other)" for those beyond the first kMostTransferNames
  uint64_t messages = 0;  ///< SENDs an iteration
  Bytes wire, local;      ///< payload an iteration
};
inline constexpr size_t kMostTransferNames = 32;

/// What is point-to-point, by what it is called; the most bytes first.
std::vector<TransferTraffic> transfer_traffic(const Setup& setup);
nlohmann::ordered_json transfer_traffic_json(const std::vector<TransferTraffic>& traffic);

/// What to change when neighbouring ranks that would fit into a host meet over the wire; empty when they do not.
std::string mapping_advice(const Setup& setup, const std::vector<GroupTraffic>& traffic);

nlohmann::ordered_json group_traffic_json(const std::vector<GroupTraffic>& traffic);

}  // namespace rankwire
