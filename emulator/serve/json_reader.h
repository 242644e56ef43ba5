// Requests as JSON of which every field is either read or refused by name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// What is wrong with a request, a line each that begins with the path of its field.
using RequestErrors = std::vector<std::string>;

/// One object of a request. What is asked for counts as read; `end` refuses whatever else is there, so that nothing is
/// ignored. Nothing throws: what is wrong goes into `errors`, and what cannot be read is as if it were absent.
class JsonReader {
 public:
  /// `value` and `errors` outlive it. `path` of the object in the request, "devices[0]"; empty: the request itself. A
  /// null stands for an empty object, as it does in protobuf's JSON.
  JsonReader(const nlohmann::json& value, std::string path, RequestErrors& errors);

  /// "devices[0].name".
  std::string path_of(std::string_view field) const;
  /// Whether it is there, and not null. Does not read it.
  bool has(const char* field) const;

  /// Absent when it is not there or wrong, which is an error.
  std::optional<std::string> text(const char* field);
  /// The same, and an error when it is not there or empty.
  std::string required_text(const char* field);
  /// One of `names`.
  std::optional<std::string> choice(const char* field, std::initializer_list<std::string_view> names);
  /// A number, or a string with one, as protobuf writes 64 bits, from `least` to `most`.
  std::optional<uint64_t> number(const char* field, uint64_t least, uint64_t most);
  /// Absent when it is not there or wrong.
  std::optional<bool> flag(const char* field);
  /// Texts of a list; empty when it is not there.
  std::vector<std::string> texts(const char* field);
  /// Objects of a list; empty when it is not there. A null in it is an error.
  std::vector<JsonReader> objects(const char* field);
  /// Absent when it is not there.
  std::optional<JsonReader> object(const char* field);
  /// As it came. Reads nothing.
  const nlohmann::json& whole() const { return *value_; }
  /// Not served, but clients send the model's default of what nobody has set: absent, or exactly this.
  void only(const char* field, const nlohmann::json& value);
  /// Read already, elsewhere or on purpose.
  void skip(const char* field);

  /// What is wrong from here on goes there; objects that were taken from it before are not concerned.
  void report_to(RequestErrors& errors) { errors_ = &errors; }
  void fail(std::string_view field, std::string_view why);
  /// Refuses every field that was not read, also those that are null, which in protobuf's JSON stands for a field that
  /// is not set, but for one that is known. A list of nothing says nothing.
  void end();

 private:
  const nlohmann::json* take(const char* field);

  const nlohmann::json* value_;
  std::string path_;
  RequestErrors* errors_;
  std::vector<std::string> read_;
};

}  // namespace rankwire
