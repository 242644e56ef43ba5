// Messages whose payload was not what it must be, of operations of one name.
#pragma once

#include <cstdint>
#include <string>

namespace rankwire {

struct WrongMessagesRow {
  std::string operation;  ///< name of the node that received them
  uint64_t messages = 0;  ///< of all ranks and iterations, > 0
};

}  // namespace rankwire
