#include "emulator/nic_check/wire_log.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr uint32_t kSection = 0x0A0D0D0A, kInterfaceBlock = 1, kPacketBlock = 6, kByteOrderMagic = 0x1A2B3C4D;
constexpr uint16_t kEthernetLink = 1;
constexpr uint16_t kOptionEnd = 0, kOptionComment = 1, kOptionName = 2, kOptionFlags = 2, kOptionResolution = 9;
constexpr uint32_t kInboundFlag = 1, kOutboundFlag = 2;

/// A block under construction; its length is put in when it is finished.
class CaptureBlock {
 public:
  explicit CaptureBlock(uint32_t type) { put(type), put(uint32_t{0}); }

  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_padded(const void* from, size_t length) {
    bytes_.append(static_cast<const char*>(from), length);
    bytes_.append(-length & 3, '\0');
  }
  void option(uint16_t code, const void* value, size_t length) {
    put(code), put(static_cast<uint16_t>(length));
    put_padded(value, length);
  }
  const std::string& finish() {
    const auto length = static_cast<uint32_t>(bytes_.size() + sizeof(uint32_t));
    put(length);
    std::memcpy(bytes_.data() + sizeof(uint32_t), &length, sizeof length);
    return bytes_;
  }

 private:
  std::string bytes_;
};

std::string capture_head() {
  CaptureBlock section(kSection);
  section.put(kByteOrderMagic), section.put(uint16_t{1}), section.put(uint16_t{0}), section.put(int64_t{-1});
  CaptureBlock interface(kInterfaceBlock);
  interface.put(kEthernetLink), interface.put(uint16_t{0}), interface.put(uint32_t{0});
  constexpr std::string_view kName = "wire";
  constexpr uint8_t kNanoseconds = 9;  // ten to the minus
  interface.option(kOptionName, kName.data(), kName.size());
  interface.option(kOptionResolution, &kNanoseconds, 1);
  interface.option(kOptionEnd, nullptr, 0);
  return section.finish() + interface.finish();
}

std::string packet_block(const WireFrame& frame) {
  CaptureBlock block(kPacketBlock);
  const auto time = static_cast<uint64_t>(std::max<int64_t>(frame.at.ps, 0) / 1000);
  block.put(uint32_t{0}), block.put(static_cast<uint32_t>(time >> 32)), block.put(static_cast<uint32_t>(time));
  const auto length = static_cast<uint32_t>(frame.bytes.size());
  block.put(length), block.put(length);
  block.put_padded(frame.bytes.data(), frame.bytes.size());
  if (!frame.comment.empty())
    block.option(kOptionComment, frame.comment.data(), std::min<size_t>(frame.comment.size(), UINT16_MAX));
  const uint32_t direction = frame.from_nic ? kInboundFlag : kOutboundFlag;
  block.option(kOptionFlags, &direction, sizeof direction);
  block.option(kOptionEnd, nullptr, 0);
  return block.finish();
}

}  // namespace

void WireLog::clear() {
  frames_.clear();
  bytes_ = 0;
  left_out_ = 0;
}

size_t WireLog::add(Time at, bool from_nic, const Frame& frame) {
  if (bytes_ + frame.length() > kMostBytes) {
    ++left_out_;
    return frames_.size() - 1;
  }
  WireFrame& kept = frames_.emplace_back();
  kept.at = at;
  kept.from_nic = from_nic;
  kept.bytes.reserve(std::max<size_t>(frame.length(), 64));
  kept.bytes.insert(kept.bytes.end(), frame.head, frame.head + frame.head_length);
  kept.bytes.insert(kept.bytes.end(), frame.payload, frame.payload + frame.payload_length);
  kept.bytes.insert(kept.bytes.end(), frame.tail, frame.tail + frame.tail_length);
  bytes_ += kept.bytes.size();
  Frame whole;
  whole.head = kept.bytes.data();
  whole.head_length = static_cast<uint16_t>(kept.bytes.size());
  kept.packet = parse(whole);
  kept.icrc_good = kept.packet.reject == Reject::kNone && icrc_matches(whole, kept.packet);
  return frames_.size() - 1;
}

void WireLog::mark(size_t frame, const std::string& comment) {
  if (frame < frames_.size() && frames_[frame].comment.empty()) frames_[frame].comment = comment;
}

std::vector<uint64_t> WireLog::decisive() const {
  std::vector<uint64_t> numbers;
  for (size_t i = 0; i < frames_.size(); ++i)
    if (!frames_[i].comment.empty()) numbers.push_back(i + 1);
  return numbers;
}

void WireLog::write(const std::filesystem::path& file) const {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << capture_head();
  for (const WireFrame& frame : frames_) stream << packet_block(frame);
  stream.close();
  if (!stream) fail_run("{}: cannot be written; is the disk full?", file.string());
}

}  // namespace rankwire
