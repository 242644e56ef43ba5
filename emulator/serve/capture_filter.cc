#include "emulator/serve/capture_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

namespace rankwire {
namespace {

/// Where a field is, in bits from the beginning of its header.
struct Place {
  const char* name;
  uint32_t offset, length;
};

constexpr uint32_t kEthernetBits = 112;
constexpr Place kEtherType{"ether_type", 96, 16};
constexpr Place kOfEthernet[] = {{"dst", 0, 48}, {"src", 48, 48}, kEtherType};
/// RFC 791; `priority` is the type of service.
constexpr Place kOfIpv4[] = {{"version", 0, 4},
                             {"header_length", 4, 4},
                             {"priority", 8, 8},
                             {"total_length", 16, 16},
                             {"identification", 32, 16},
                             {"reserved", 48, 1},
                             {"dont_fragment", 49, 1},
                             {"more_fragments", 50, 1},
                             {"fragment_offset", 51, 13},
                             {"time_to_live", 64, 8},
                             {"protocol", 72, 8},
                             {"header_checksum", 80, 16},
                             {"src", 96, 32},
                             {"dst", 128, 32}};
/// RFC 8200.
constexpr Place kOfIpv6[] = {{"version", 0, 4},          {"traffic_class", 4, 8}, {"flow_label", 12, 20},
                             {"payload_length", 32, 16}, {"next_header", 48, 8},  {"hop_limit", 56, 8},
                             {"src", 64, 128},           {"dst", 192, 128}};

/// The last `length` bits of a hexadecimal number; absent when it is none, or has more.
std::optional<std::string> bits_of(std::string_view digits, uint32_t length) {
  std::string bits;
  for (const char digit : digits) {
    const bool is_large = digit >= 'A' && digit <= 'F';
    const size_t value =
        std::string_view("0123456789abcdef").find(is_large ? static_cast<char>(digit - 'A' + 'a') : digit);
    if (value == std::string_view::npos) return std::nullopt;
    for (int bit = 3; bit >= 0; --bit) bits += (value >> bit & 1) != 0 ? '1' : '0';
  }
  const size_t first = std::min(bits.find('1'), bits.size());
  if (bits.size() - first > length) return std::nullopt;
  return std::string(length - (bits.size() - first), '0') + bits.substr(first);
}

/// Of a field, or of a filter by place, which have these alike.
void read_field(JsonReader& field, uint32_t offset, uint32_t length, std::vector<FrameField>& fields) {
  const std::string value = field.text("value").value_or("00"), mask = field.text("mask").value_or("");
  const bool is_other = field.flag("negate").value_or(false);
  // Implementations differ in whether a bit that is set is compared or left out.
  if (mask.find_first_not_of('0') != std::string::npos)
    field.fail("mask", "is not served, since the model does not say what its bits mean; the whole field is compared");
  const std::optional<std::string> bits = bits_of(value, length);
  if (!bits) field.fail("value", fmt::format("'{}' is no hexadecimal number of {} bits", value, length));
  fields.push_back({offset, bits.value_or(""), is_other});
}

void read_header(JsonReader& filter, const char* name, uint32_t offset, std::span<const Place> places,
                 std::vector<FrameField>& fields) {
  std::optional<JsonReader> header = filter.object(name);
  if (!header) return;
  for (const Place& place : places) {
    if (std::optional<JsonReader> field = header->object(place.name)) {
      read_field(*field, offset + place.offset, place.length, fields);
      field->end();
    }
  }
  header->end();
}

}  // namespace

bool FrameField::matches(std::string_view frame) const {
  if (offset + bits.size() > frame.size() * 8) return false;
  bool is_same = true;
  for (size_t i = 0; i < bits.size() && is_same; ++i) {
    const size_t at = offset + i;
    is_same = (static_cast<unsigned char>(frame[at / 8]) >> (7 - at % 8) & 1) == (bits[i] - '0');
  }
  return is_same != is_other;
}

std::vector<FrameField> read_capture_filters(JsonReader& capture) {
  constexpr uint32_t kMostOffset = 16384 * 8, kMostBits = 128;
  std::vector<FrameField> fields;
  bool is_first = true;
  for (JsonReader& filter : capture.objects("filters")) {
    const std::string choice = filter.choice("choice", {"custom", "ethernet", "ipv4", "ipv6"}).value_or("custom");
    if (choice == "ethernet") read_header(filter, "ethernet", 0, kOfEthernet, fields);
    if (choice == "ipv4" || choice == "ipv6") {
      const bool is_ipv4 = choice == "ipv4";
      fields.push_back({kEtherType.offset, *bits_of(is_ipv4 ? "0800" : "86dd", kEtherType.length), false});
      read_header(filter, choice.c_str(), kEthernetBits, is_ipv4 ? std::span<const Place>(kOfIpv4) : kOfIpv6, fields);
    }
    if (choice == "custom") {
      // The place of a further one is that behind the filter before it, of which the model says no more.
      if (!is_first) filter.fail("choice", "'custom' is served as the first filter alone");
      if (std::optional<JsonReader> custom = filter.object("custom")) {
        const auto offset = static_cast<uint32_t>(custom->number("offset", 0, kMostOffset).value_or(0));
        const auto length = static_cast<uint32_t>(custom->number("bit_length", 1, kMostBits).value_or(8));
        read_field(*custom, offset, length, fields);
        custom->end();
      } else {
        filter.fail("custom", "is required");
      }
    }
    filter.end();
    is_first = false;
  }
  return fields;
}

}  // namespace rankwire
