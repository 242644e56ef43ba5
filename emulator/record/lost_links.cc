#include "emulator/record/lost_links.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire {

std::vector<PortSettingRow> lost_links(std::span<const PortSettingRow> settings) {
  std::vector<PortSettingRow> lost;
  for (const PortSettingRow& row : settings) {
    const bool is_lost =
        (row.name == kLinkSetting && row.after != kLinkIsUp) || (row.name == "state" && row.after != row.before);
    if (is_lost && std::ranges::find(lost, row.port, &PortSettingRow::port) == lost.end()) lost.push_back(row);
  }
  return lost;
}

std::string lost_link_text(const PortSettingRow& lost) {
  if (lost.name == kLinkSetting) return lost.after;
  return fmt::format("the state of its RDMA device was '{}', and then '{}'", lost.before, lost.after);
}

}  // namespace rankwire
