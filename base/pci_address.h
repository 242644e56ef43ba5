// Addresses of PCI functions as people write them.
#pragma once

#include <string>

namespace rankwire {

/// "0000:3b:00.0" or "3b:00.0".
bool is_pci_address(const std::string& text);
/// The same with its domain, 0000 where it has none.
std::string full_pci_address(const std::string& address);

}  // namespace rankwire
