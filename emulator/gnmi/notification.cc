#include "emulator/gnmi/notification.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "emulator/device_counters/gnmi_path.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;
using Elements = std::vector<GnmiElement>;

constexpr int kDeepest = 32;

bool is_number_text(const std::string& text) {
  return !text.empty() && text.size() <= 20 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// A whole number of no sign; null for anything else, such as names and states.
Json whole(const Json& value) {
  if (value.is_number_unsigned()) return value;
  if (value.is_string() && is_number_text(value.get_ref<const std::string&>())) return value;
  if (value.is_number_float() && value.get<double>() >= 0 && std::floor(value.get<double>()) == value.get<double>())
    return value;
  return nullptr;
}

class Counters {
 public:
  explicit Counters(std::span<const std::string> ports) : ports_(ports) {}

  void add(Elements& path, const gnmi::TypedValue& value) {
    switch (value.value_case()) {
      case gnmi::TypedValue::kUintVal:
        return add(path, Json(value.uint_val()));
      case gnmi::TypedValue::kIntVal:
        return value.int_val() < 0 ? void() : add(path, Json(static_cast<uint64_t>(value.int_val())));
      case gnmi::TypedValue::kStringVal:
        return add(path, Json(value.string_val()));
      case gnmi::TypedValue::kAsciiVal:
        return add(path, Json(value.ascii_val()));
      case gnmi::TypedValue::kFloatVal:
        return add(path, Json(static_cast<double>(value.float_val())));
      case gnmi::TypedValue::kDoubleVal:
        return add(path, Json(value.double_val()));
      case gnmi::TypedValue::kDecimalVal:
        return add(path, Json(static_cast<double>(value.decimal_val().digits()) /
                              std::pow(10.0, static_cast<double>(value.decimal_val().precision()))));
      case gnmi::TypedValue::kJsonVal:
        return add(path, Json::parse(value.json_val(), nullptr, false));
      case gnmi::TypedValue::kJsonIetfVal:
        return add(path, Json::parse(value.json_ietf_val(), nullptr, false));
      case gnmi::TypedValue::VALUE_NOT_SET:
        return;
    }
  }

  Json take() && { return std::move(counters_); }

 private:
  /// Members of objects are further elements of the path, and what has a name in a list is one with this key.
  void add(Elements& path, const Json& value, int depth = 0) {
    if (depth > kDeepest || value.is_discarded()) return;
    if (value.is_object()) {
      for (const auto& [name, member] : value.items()) {
        if (member.is_array()) {
          add_list(path, name, member, depth);
          continue;
        }
        path.push_back({name, {}});
        add(path, member, depth + 1);
        path.pop_back();
      }
      return;
    }
    const Json number = whole(value);
    if (number.is_null()) return;
    const std::optional<GnmiCounter> counter = counter_of_path(path, ports_);
    if (!counter) return;
    Json& at = counters_[counter->port][counter->name];
    if (counter->queue.empty()) {
      at = number;
    } else if (at.is_null() || at.is_object()) {
      at[counter->queue] = number;
    }
  }

  void add_list(Elements& path, const std::string& name, const Json& list, int depth) {
    for (const Json& item : list) {
      if (!item.is_object()) continue;
      GnmiElement element{name, {}};
      for (const char* key : {"name", "interface-id", "id"}) {
        const auto value = item.find(key);
        if (value == item.end() || !value->is_string()) continue;
        element.keys[key] = value->get<std::string>();
        break;
      }
      path.push_back(std::move(element));
      add(path, item, depth + 1);
      path.pop_back();
    }
  }

  const std::span<const std::string> ports_;
  Json counters_ = Json::object();
};

void append(Elements& path, const gnmi::Path& more) {
  for (const gnmi::PathElem& element : more.elem()) {
    GnmiElement& added = path.emplace_back(GnmiElement{element.name(), {}});
    for (const auto& [key, value] : element.key()) added.keys[key] = value;
  }
}

}  // namespace

Json counters_of(const gnmi::Notification& notification, std::span<const std::string> ports) {
  Counters counters(ports);
  for (const gnmi::Update& update : notification.update()) {
    Elements path;
    append(path, notification.prefix());
    append(path, update.path());
    counters.add(path, update.val());
  }
  return std::move(counters).take();
}

}  // namespace rankwire
