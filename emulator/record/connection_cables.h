// Which cables between switches carry what of a connection.
#pragma once

#include <string>

#include "base/id.h"

namespace rankwire {

/// Of a connection through several switches of the embedded fabric, all of whose queue pairs take the same way. A cable
/// in one direction is named as the port that sends on it, "SWITCH.NEIGHBOUR".
struct ConnectionCables {
  ConnectionId connection;
  std::string out, into;            ///< of its data: out of their first switch, and into their last one
  std::string back_out, back_into;  ///< the same of its acknowledgements
};

}  // namespace rankwire
