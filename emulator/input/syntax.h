// How each kind of value is written: a syntax reads a scalar of the tree and prints the value as JSON that reads the
// same. `parse` throws ValueError, without the place; ranges are inclusive.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/machine_name.h"
#include "base/units.h"
#include "emulator/input/config.h"
#include "emulator/input/tree.h"
#include "emulator/input/units.h"

namespace rankwire {

using ConfigJson = nlohmann::ordered_json;

/// A whole number without a unit.
template <class T>
struct Integer {
  T minimum = 0, maximum = std::numeric_limits<T>::max();

  T parse(const Tree& scalar) const {
    const uint64_t value = parse_integer(scalar.text);
    if (value < static_cast<uint64_t>(minimum) || value > static_cast<uint64_t>(maximum)) {
      throw ValueError(fmt::format("{} is outside {} .. {}", value, minimum, maximum));
    }
    return static_cast<T>(value);
  }
  ConfigJson print(T value) const { return value; }
};

/// A number with a unit of `scale`. `kMember` is the count of base units in T.
template <class T, auto kMember>
struct Quantity {
  const UnitScale& scale;
  T minimum, maximum;

  T parse(const Tree& scalar) const {
    const T value(parse_quantity(scalar.text, scale));
    if (value < minimum || value > maximum) {
      throw ValueError(fmt::format("'{}' is outside {} .. {}", scalar.text, text(minimum), text(maximum)));
    }
    return value;
  }
  ConfigJson print(T value) const { return text(value); }
  std::string text(T value) const { return print_quantity(value.*kMember, scale); }
};

/// Of what no machine has more.
inline constexpr Bytes kLargestSize = Bytes(1LL << 50);

struct Size : Quantity<Bytes, &Bytes::count> {
  Size(Bytes least, Bytes most) : Quantity{kSizeScale, least, most} {}
};

struct Interval : Quantity<Duration, &Duration::ps> {
  Interval(Duration least, Duration most) : Quantity{kDurationScale, least, most} {}
};

struct Rate : Quantity<Bandwidth, &Bandwidth::bits_per_second> {
  Rate() : Quantity{kRateScale, Bandwidth(1'000), Bandwidth(64'000'000'000'000)} {}
};

/// Floating-point operations a second, positive.
struct Flops {
  int64_t parse(const Tree& scalar) const {
    const int64_t value = parse_quantity(scalar.text, kFlopsScale);
    if (value == 0) throw ValueError(fmt::format("'{}' must be positive", scalar.text));
    return value;
  }
  ConfigJson print(int64_t value) const { return print_quantity(value, kFlopsScale); }
};

struct Fraction {
  Scale parse(const Tree& scalar) const { return parse_fraction(scalar.text); }
  ConfigJson print(Scale value) const { return print_fraction(value); }
};

struct Share {
  uint32_t parse(const Tree& scalar) const { return parse_share(scalar.text); }
  ConfigJson print(uint32_t parts_per_million) const { return print_share(parts_per_million); }
};

/// One of a few words. Of several words for one value the first is printed.
template <class T>
struct Choice {
  std::vector<std::pair<std::string_view, T>> words;

  T parse(const Tree& scalar) const {
    std::string known;
    for (const auto& [word, value] : words) {
      if (word == scalar.text) return value;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
    }
    throw ValueError(fmt::format("'{}' is not one of {}", scalar.text, known));
  }
  ConfigJson print(const T& value) const {
    return std::string(std::ranges::find(words, value, &std::pair<std::string_view, T>::second)->first);
  }
};

inline Choice<bool> on_or_off() {
  return {{{"on", true}, {"off", false}, {"true", true}, {"false", false}}};
}

/// A value or the word for its absence.
template <class Syntax>
struct Or {
  std::string_view word;
  Syntax syntax;

  using Value = decltype(syntax.parse(Tree()));
  std::optional<Value> parse(const Tree& scalar) const {
    if (scalar.text == word) return std::nullopt;
    return syntax.parse(scalar);
  }
  ConfigJson print(const std::optional<Value>& value) const {
    return value ? syntax.print(*value) : ConfigJson(std::string(word));
  }
};
template <class Syntax>
Or(const char*, Syntax) -> Or<Syntax>;

struct Text {
  std::string parse(const Tree& scalar) const {
    if (scalar.text.empty()) throw ValueError("is empty");
    return scalar.text;
  }
  ConfigJson print(const std::string& value) const { return value; }
};

/// What tables and pages call something: one line that a terminal shows as it is.
struct Name {
  static constexpr size_t kLongest = 128;

  std::string parse(const Tree& scalar) const {
    const std::string name = Text().parse(scalar);
    if (std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7F; }))
      throw ValueError("has a control character, such as a line break or a tab");
    if (name.size() > kLongest) throw ValueError(fmt::format("is longer than {} bytes", kLongest));
    return name;
  }
  ConfigJson print(const std::string& value) const { return value; }
};

/// A name by which a folder is called.
struct FolderName {
  std::string parse(const Tree& scalar) const {
    std::string name = Name().parse(scalar);
    if (name == "." || name == ".." || name.find('/') != std::string::npos)
      throw ValueError(fmt::format("'{}' is not the name of a folder, as which it stands below runs/", name));
    return name;
  }
  ConfigJson print(const std::string& value) const { return value; }
};

/// "none" is the empty text.
struct TextOrNone {
  std::string parse(const Tree& scalar) const { return scalar.text == "none" ? std::string() : Text().parse(scalar); }
  ConfigJson print(const std::string& value) const { return value.empty() ? "none" : value; }
};

/// What a machine is called; "none" is the empty name.
struct MachineName {
  std::string parse(const Tree& scalar) const {
    std::string name = TextOrNone().parse(scalar);
    if (!name.empty() && !is_machine_name(name))
      throw ValueError(fmt::format("'{}' is no name of a machine: {}", name, kMachineNameRule));
    return name;
  }
  ConfigJson print(const std::string& value) const { return TextOrNone().print(value); }
};

/// A file name or prefix, made absolute from the folder of the file in which it is written.
struct FilePath {
  std::string parse(const Tree& scalar) const {
    if (scalar.text.empty()) throw ValueError("is empty");
    return (scalar.origin.folder / scalar.text).lexically_normal().string();
  }
  ConfigJson print(const std::string& value) const { return value; }
};

/// A path; "none" is the empty one.
struct FilePathOrNone {
  std::string parse(const Tree& scalar) const {
    return scalar.text == "none" ? std::string() : FilePath().parse(scalar);
  }
  ConfigJson print(const std::string& value) const { return value.empty() ? "none" : value; }
};

/// The path MTUs of InfiniBand (IBTA 1.2.1, 9.7.1), in bytes.
struct PathMtu {
  uint32_t parse(const Tree& scalar) const {
    const int64_t bytes = parse_quantity(scalar.text, kSizeScale);
    for (int64_t mtu : {256, 512, 1024, 2048, 4096}) {
      if (bytes == mtu) return static_cast<uint32_t>(mtu);
    }
    throw ValueError(fmt::format("'{}' is not one of 256B, 512B, 1024B, 2048B, 4096B", scalar.text));
  }
  ConfigJson print(uint32_t bytes) const { return fmt::format("{}B", bytes); }
};

/// "198.18.0.1/15" or "2001:db8::1/64": the first address to give away and the length of its subnet's prefix.
struct Subnet {
  SubnetConfig parse(const Tree& scalar) const;
  ConfigJson print(const SubnetConfig& value) const;
};

/// An IPv4 or IPv6 address.
struct Ip {
  IpAddress parse(const Tree& scalar) const;
  ConfigJson print(const IpAddress& value) const { return to_string(value); }
};

/// A rule for UDP source ports, or the port itself.
struct SourcePort {
  SourcePortConfig parse(const Tree& scalar) const;
  ConfigJson print(const SourcePortConfig& value) const;
};

/// A unicast address that is not zero.
/// "#rrggbb"; "auto" is the empty text.
struct Color {
  std::string parse(const Tree& scalar) const;
  ConfigJson print(const std::string& value) const { return value.empty() ? "auto" : value; }
};

struct Mac {
  MacAddress parse(const Tree& scalar) const;
  ConfigJson print(MacAddress value) const { return to_string(value); }
};

}  // namespace rankwire
