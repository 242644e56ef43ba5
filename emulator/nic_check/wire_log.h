// The frames of one test as they stood on the wire at rankwire's end, and the capture that is kept of them.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "base/units.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

/// A frame that was sent to the NIC or has come from it.
struct WireFrame {
  Time at;
  bool from_nic = false;
  bool icrc_good = false;      ///< of a RoCEv2 packet
  std::vector<uint8_t> bytes;  ///< without FCS
  ParsedPacket packet;         ///< refers to `bytes`
  std::string comment;         ///< of a decisive frame: what it shows
};

/// Whole frames up to a bound; those behind it are counted. References stay valid until `clear`. One thread.
class WireLog {
 public:
  static constexpr size_t kMostBytes = 64 << 20;

  void clear();
  /// The number of the frame, from 0; that of the last one kept when there is no room.
  size_t add(Time at, bool from_nic, const Frame& frame);
  /// Says of a frame what it shows. The first comment of a frame stays.
  void mark(size_t frame, const std::string& comment);

  const std::deque<WireFrame>& frames() const { return frames_; }
  size_t size() const { return frames_.size(); }
  uint64_t left_out() const { return left_out_; }
  /// Numbers of marked frames, from 1 as Wireshark counts.
  std::vector<uint64_t> decisive() const;

  /// A pcapng file (draft-ietf-opsawg-pcapng) of one interface, times in nanoseconds since the bench began, comments of
  /// marked frames as opt_comment. Throws Error(kRun) when it cannot be written.
  void write(const std::filesystem::path& file) const;

 private:
  std::deque<WireFrame> frames_;
  size_t bytes_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace rankwire
