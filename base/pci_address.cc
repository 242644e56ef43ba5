#include "base/pci_address.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace rankwire {

bool is_pci_address(const std::string& text) {
  if (text.find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos) return false;
  const std::string address = full_pci_address(text);
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  int length = 0;
  const int fields = std::sscanf(address.c_str(), "%8x:%2x:%2x.%1u%n", &domain, &bus, &slot, &function, &length);
  return fields == 4 && function <= 7 && static_cast<size_t>(length) == address.size();
}

std::string full_pci_address(const std::string& address) {
  return std::count(address.begin(), address.end(), ':') == 1 ? "0000:" + address : address;
}

}  // namespace rankwire
