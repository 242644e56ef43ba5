#include "emulator/serve/json_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace rankwire {
namespace {

const nlohmann::json kNothing = nlohmann::json::object();

}  // namespace

JsonReader::JsonReader(const nlohmann::json& value, std::string path, RequestErrors& errors)
    : value_(&value), path_(std::move(path)), errors_(&errors) {
  if (value.is_object()) return;
  if (!value.is_null()) errors.push_back(fmt::format("{}: is no object", path_.empty() ? "the request" : path_));
  value_ = &kNothing;
}

std::string JsonReader::path_of(std::string_view field) const {
  return path_.empty() ? std::string(field) : fmt::format("{}.{}", path_, field);
}

bool JsonReader::has(const char* field) const {
  const auto found = value_->find(field);
  return found != value_->end() && !found->is_null();
}

const nlohmann::json* JsonReader::take(const char* field) {
  read_.emplace_back(field);
  return has(field) ? &*value_->find(field) : nullptr;
}

void JsonReader::fail(std::string_view field, std::string_view why) {
  errors_->push_back(fmt::format("{}: {}", path_of(field), why));
}

std::optional<std::string> JsonReader::text(const char* field) {
  const nlohmann::json* value = take(field);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  fail(field, "is no text");
  return std::nullopt;
}

std::string JsonReader::required_text(const char* field) {
  const std::optional<std::string> given = text(field);
  if (!has(field) || given == "") fail(field, "is required");
  return given.value_or("");
}

std::optional<std::string> JsonReader::choice(const char* field, std::initializer_list<std::string_view> names) {
  std::optional<std::string> name = text(field);
  if (!name || std::find(names.begin(), names.end(), *name) != names.end()) return name;
  fail(field, fmt::format("'{}' is not served; {} is", *name, fmt::join(names, ", ")));
  return std::nullopt;
}

std::optional<uint64_t> JsonReader::number(const char* field, uint64_t least, uint64_t most) {
  const nlohmann::json* value = take(field);
  if (value == nullptr) return std::nullopt;
  std::optional<uint64_t> number;
  if (value->is_number_unsigned() || (value->is_number_integer() && value->get<int64_t>() >= 0)) {
    number = value->get<uint64_t>();
  } else if (value->is_number_float() && value->get<double>() >= 0 && value->get<double>() < 1e15 &&
             std::trunc(value->get<double>()) == value->get<double>()) {
    number = static_cast<uint64_t>(value->get<double>());  // clients write some numbers as 30.0
  } else if (value->is_string()) {
    const auto& digits = value->get_ref<const std::string&>();
    uint64_t read = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), read);
    if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty()) number = read;
  }
  if (number && *number >= least && *number <= most) return number;
  fail(field, fmt::format("is no number from {} to {}", least, most));
  return std::nullopt;
}

std::optional<bool> JsonReader::flag(const char* field) {
  const nlohmann::json* value = take(field);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  fail(field, "is neither true nor false");
  return std::nullopt;
}

std::vector<std::string> JsonReader::texts(const char* field) {
  const nlohmann::json* value = take(field);
  if (value == nullptr) return {};
  std::vector<std::string> all;
  if (value->is_array()) {
    for (const nlohmann::json& item : *value)
      if (item.is_string()) all.push_back(item.get<std::string>());
  }
  if (!value->is_array() || all.size() != value->size()) fail(field, "is no list of texts");
  return all;
}

std::vector<JsonReader> JsonReader::objects(const char* field) {
  const nlohmann::json* value = take(field);
  if (value == nullptr) return {};
  std::vector<JsonReader> all;
  if (!value->is_array()) {
    fail(field, "is no list");
    return all;
  }
  for (size_t i = 0; i < value->size(); ++i) {
    // Of a list protobuf's JSON has no null, as nothing there can be not set.
    if ((*value)[i].is_null()) {
      fail(fmt::format("{}[{}]", field, i), "is null, and no object");
    } else {
      all.emplace_back((*value)[i], fmt::format("{}[{}]", path_of(field), i), *errors_);
    }
  }
  return all;
}

std::optional<JsonReader> JsonReader::object(const char* field) {
  const nlohmann::json* value = take(field);
  if (value == nullptr) return std::nullopt;
  return JsonReader(*value, path_of(field), *errors_);
}

void JsonReader::only(const char* field, const nlohmann::json& value) {
  const nlohmann::json* given = take(field);
  if (given == nullptr || *given == value) return;
  // protobuf writes 64 bits as a string
  if (given->is_string() && value.is_number_integer() && given->get<std::string>() == value.dump()) return;
  fail(field, fmt::format("is not served; absent, or the model's default {}", value.dump()));
}

void JsonReader::skip(const char* field) {
  read_.emplace_back(field);
}

void JsonReader::end() {
  for (const auto& [field, value] : value_->items()) {
    const bool is_empty = value.is_array() && value.empty();
    if (!is_empty && std::find(read_.begin(), read_.end(), field) == read_.end()) fail(field, "is not served");
  }
}

}  // namespace rankwire
