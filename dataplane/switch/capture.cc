#include "dataplane/switch/capture.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace rankwire {
namespace {

constexpr uint32_t kSectionHeader = 0x0A0D0D0A, kInterface = 1, kEnhancedPacket = 6;
constexpr uint32_t kByteOrder = 0x1A2B3C4D;
constexpr uint16_t kEthernet = 1;
constexpr uint16_t kEndOfOptions = 0, kInterfaceName = 2, kPacketFlags = 2, kTimeResolution = 9;
constexpr uint8_t kPicoseconds = 12;  // ten to the minus

constexpr uint32_t padded(uint32_t length) {
  return (length + 3) & ~3u;
}

/// In the byte order of this machine, which the section header tells.
class Words {
 public:
  explicit Words(uint8_t* at) : at_(at) {}
  template <class T>
  void put(T value) noexcept {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void bytes(const void* from, uint32_t length) noexcept {
    if (length == 0) return;
    std::memcpy(at_, from, length);
    at_ += length;
  }
  void pad(uint32_t length) noexcept {
    const uint32_t gap = padded(length) - length;
    std::memset(at_, 0, gap);
    at_ += gap;
  }
  void option(uint16_t code, const void* value, uint16_t length) noexcept {
    put(code), put(length);
    bytes(value, length), pad(length);
  }

 private:
  uint8_t* at_;
};

std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr uint32_t option_bytes(uint32_t length) {
  return 4 + padded(length);
}

std::array<uint8_t, 28> section_header() {
  std::array<uint8_t, 28> block;
  constexpr auto kLength = static_cast<uint32_t>(sizeof block);
  Words words(block.data());
  words.put(kSectionHeader), words.put(kLength), words.put(kByteOrder);
  words.put(uint16_t{1}), words.put(uint16_t{0});  // version
  words.put(int64_t{-1});                          // length of the section: not said
  words.put(kLength);
  return block;
}

std::vector<uint8_t> interface_block(const std::string& name, uint32_t snap_length) {
  const auto letters = static_cast<uint16_t>(std::min<size_t>(name.size(), UINT16_MAX));
  const uint32_t length = 20 + option_bytes(letters) + option_bytes(1) + option_bytes(0);
  std::vector<uint8_t> block(length);
  Words words(block.data());
  words.put(kInterface), words.put(length);
  words.put(kEthernet), words.put(uint16_t{0}), words.put(snap_length);
  words.option(kInterfaceName, name.data(), letters);
  words.option(kTimeResolution, &kPicoseconds, 1);
  words.option(kEndOfOptions, nullptr, 0);
  words.put(length);
  return block;
}

}  // namespace

FabricCapture::FabricCapture(Bytes memory, uint32_t snap_length)
    : snap_length_(snap_length),
      capacity_(static_cast<size_t>(memory.count)),
      blocks_(std::make_unique_for_overwrite<uint8_t[]>(capacity_)) {}

void FabricCapture::received(uint32_t port, const Frame& frame) noexcept {
  keep(port, Direction::kInbound, frame.arrival, frame);
}

void FabricCapture::sent(uint32_t port, Time begun, const Frame& frame) noexcept {
  keep(port, Direction::kOutbound, begun, frame);
}

void FabricCapture::keep(uint32_t port, Direction direction, Time at, const Frame& frame) noexcept {
  const uint32_t kept = std::min(frame.length(), snap_length_);
  const uint32_t length = 32 + padded(kept) + option_bytes(sizeof direction) + option_bytes(0);
  if (length > capacity_ - used_) {
    ++left_out_;
    return;
  }
  Words words(blocks_.get() + used_);
  const auto time = static_cast<uint64_t>(std::max<int64_t>(at.ps, 0));
  words.put(kEnhancedPacket), words.put(length), words.put(port);
  words.put(static_cast<uint32_t>(time >> 32)), words.put(static_cast<uint32_t>(time));
  words.put(kept), words.put(frame.length());
  const uint32_t head = std::min<uint32_t>(kept, frame.head_length);
  const uint32_t payload = std::min<uint32_t>(kept - head, frame.payload_length);
  words.bytes(frame.head, head), words.bytes(frame.payload, payload), words.bytes(frame.tail, kept - head - payload);
  words.pad(kept);
  words.option(kPacketFlags, &direction, sizeof direction);
  words.option(kEndOfOptions, nullptr, 0);
  words.put(length);
  used_ += length;
  told_.store(used_, std::memory_order_release);
  ++frames_;
}

std::string FabricCapture::file_head(std::span<const std::string> names) const {
  std::string head(text_of(section_header()));
  for (const std::string& name : names) head += text_of(interface_block(name, snap_length_));
  return head;
}

std::string_view FabricCapture::blocks(size_t from) const noexcept {
  return text_of({blocks_.get() + from, told_.load(std::memory_order_acquire) - from});
}

}  // namespace rankwire
