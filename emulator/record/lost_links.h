// What the settings of ports say of links that a run has lost.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "emulator/record/run_record.h"

namespace rankwire {

/// PortSettingRow::name of the link of a DPDK device, and what it is but for a text of what is wrong with it. Of an
/// RDMA device the setting "state" tells.
inline constexpr const char* kLinkSetting = "link";
inline constexpr const char* kLinkIsUp = "up";

/// Of all settings those that tell of a port over which nothing went any more when the run ended, one of each port.
std::vector<PortSettingRow> lost_links(std::span<const PortSettingRow> settings);
/// What is wrong with one of these, naming its device: "device 0000:01:00.0 was removed".
std::string lost_link_text(const PortSettingRow& lost);

}  // namespace rankwire
