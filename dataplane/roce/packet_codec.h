// What writes and checks the packets of a transport.
#pragma once

#include "dataplane/roce/options.h"
#include "dataplane/roce/request_writer.h"
#include "dataplane/wire/pattern_icrc.h"
#include "dataplane/wire/receive_check.h"

namespace rankwire {

/// Built from the options once and never changed: threads may share it. Writer and check refer to `pattern_icrc`, so it
/// is not copied.
struct PacketCodec {
  explicit PacketCodec(const RoceOptions& options)
      : pattern_icrc(options.mtu),
        writer(pattern_icrc, options.payload, options.mtu, options.source_port),
        check(pattern_icrc, options.receive_check, options.mtu) {}
  PacketCodec(const PacketCodec&) = delete;
  PacketCodec& operator=(const PacketCodec&) = delete;

  const PatternIcrc pattern_icrc;
  const RequestWriter writer;
  const IcrcCheck check;
};

}  // namespace rankwire
