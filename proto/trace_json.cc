#include "proto/trace_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "proto/attribute_copy.h"
#include "proto/json_text.h"

namespace rankwire {
namespace {

namespace dom = simdjson::dom;
using Form = TraceAttribute::Form;

constexpr std::string_view kBlanks = " \t\r\n";

/// One object's path in messages: file and place.
struct Place {
  const std::string& path;
  uint64_t node;

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}: node {} of the JSON: {}", path, node, fmt::format(format, std::forward<Args>(args)...));
  }
};

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// 64-bit integers are texts in protobuf's JSON.
uint64_t unsigned_of(dom::element value, std::string_view key, const Place& place) {
  uint64_t number;
  if (value.get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    if (const auto read = parsed<uint64_t>(text)) return *read;
  }
  place.fail("{} is no unsigned 64-bit integer", key);
}

std::string_view text_of(dom::element value, std::string_view key, const Place& place) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) place.fail("{} is no text", key);
  return text;
}

dom::object object_of(dom::element value, std::string_view key, const Place& place) {
  dom::object object;
  if (value.get(object) != simdjson::SUCCESS) place.fail("{} is no object", key);
  return object;
}

dom::array array_of(dom::element value, std::string_view key, const Place& place) {
  dom::array array;
  if (value.get(array) != simdjson::SUCCESS) place.fail("{} is no list", key);
  return array;
}

void read_ids(dom::element value, std::string_view key, const Place& place, std::vector<uint64_t>& ids) {
  for (const dom::element id : array_of(value, key, place)) ids.push_back(unsigned_of(id, key, place));
}

/// A number or the name of one of chakra::NodeType.
uint32_t type_of(dom::element value, std::string_view key, const Place& place) {
  int64_t number;
  if (value.get(number) == simdjson::SUCCESS && number >= 0 && number <= INT32_MAX) {
    return static_cast<uint32_t>(number);
  }
  const std::string name(text_of(value, key, place));
  chakra::NodeType type;
  if (!chakra::NodeType_Parse(name, &type)) place.fail("{} is \"{}\", which is no type of Chakra's nodes", key, name);
  return type;
}

void read_tensors(dom::element value, std::string_view key, const Place& place, TraceTensors& tensors) {
  for (const auto& [name, text] : object_of(value, key, place)) {
    if (name == "values") tensors.values = text_of(text, name, place);
    if (name == "shapes") tensors.shapes = text_of(text, name, place);
    if (name == "types") tensors.types = text_of(text, name, place);
  }
}

/// A text where protobuf has a number: a 64-bit integer, or a float that JSON cannot write.
void set_number_in_text(std::string_view text, TraceAttribute& attribute) {
  if (const auto number = parsed<int64_t>(text)) {
    attribute.set_signed(*number);
  } else if (const auto natural = parsed<uint64_t>(text)) {
    attribute.set_unsigned(*natural);
  } else {
    const double infinity = std::numeric_limits<double>::infinity();
    attribute.set_real(text == "Infinity"    ? infinity
                       : text == "-Infinity" ? -infinity
                                             : std::numeric_limits<double>::quiet_NaN());
  }
}

/// Of a list in protobuf's form, {"int64List": {"values": ["1", "2"]}}. `lists` keeps what the node's views point to.
void set_list(std::string_view key, dom::element value, TraceAttribute& attribute, std::deque<std::string>& lists) {
  uint32_t field = 0;
  std::string& list = lists.emplace_back();
  if (!list_of_json(fmt::format("{{\"{}\": {}}}", key, simdjson::minify(value)), list, field)) list.clear();
  attribute.set_list(field, list, 1);
}

/// Of a bare list, [1, 2], whose values tell their type.
void set_bare_list(dom::array values, TraceAttribute& attribute, std::deque<std::string>& lists) {
  bool truths = true, integers = true, numbers = true, texts = true;
  for (const dom::element value : values) {
    const bool is_integer = value.is_int64();
    truths &= value.is_bool();
    integers &= is_integer;
    numbers &= is_integer || value.is_double();
    texts &= value.is_string();
  }
  const char* const key = truths     ? "boolList"
                          : integers ? "int64List"
                          : numbers  ? "doubleList"
                          : texts    ? "stringList"
                                     : "";
  const std::string list = fmt::format("{{\"values\": {}}}", simdjson::minify(values));
  dom::parser parser;
  dom::element object;
  if (parser.parse(list).get(object) == simdjson::SUCCESS) set_list(key, object, attribute, lists);
}

void set_value(dom::element value, TraceAttribute& attribute) {
  switch (value.type()) {
    case dom::element_type::INT64:
      attribute.set_signed(value.get_int64().value_unsafe());
      break;
    case dom::element_type::UINT64:
      attribute.set_unsigned(value.get_uint64().value_unsafe());
      break;
    case dom::element_type::DOUBLE:
      attribute.set_real(value.get_double().value_unsafe());
      break;
    case dom::element_type::BOOL:
      attribute.set_unsigned(value.get_bool().value_unsafe());
      break;
    case dom::element_type::STRING:
      attribute.set_text(value.get_string().value_unsafe());
      break;
    case dom::element_type::ARRAY:
    case dom::element_type::OBJECT:
      attribute.form = Form::kList;
      break;
    case dom::element_type::NULL_VALUE:
      attribute.form = Form::kNone;
      break;
  }
}

/// {"name": "comm_size", "int64Val": "4096"}; bytes, which are in base 64, are taken for a list: not looked into.
void read_attribute(dom::element element, const Place& place, TraceAttribute& attribute,
                    std::deque<std::string>& lists) {
  for (const auto& [key, value] : object_of(element, "attr", place)) {
    if (key == "name") {
      attribute.name = text_of(value, key, place);
    } else if (key == "bytesVal") {
      attribute.form = Form::kList;
    } else if (key.ends_with("List")) {
      set_list(key, value, attribute, lists);
    } else if (key.ends_with("Val")) {
      set_value(value, attribute);
      if (attribute.form == Form::kText && key != "stringVal") set_number_in_text(attribute.text, attribute);
    }
  }
}

constexpr std::array<std::string_view, 3> kOneOfEachNode{"id", "name", "type"};

/// False when the object is GlobalMetadata.
bool read_message(dom::object object, const Place& place, TraceNode& node, std::deque<std::string>& lists) {
  bool is_node = false, is_known = false;
  for (const auto& [key, value] : object) {
    is_node = is_node || (key != "version" && key != "attr");
    is_known = is_known || std::ranges::find(kOneOfEachNode, key) != kOneOfEachNode.end();
    if (key == "id") {
      node.id = unsigned_of(value, key, place);
    } else if (key == "name") {
      node.name = text_of(value, key, place);
    } else if (key == "type") {
      node.type = type_of(value, key, place);
    } else if (key == "ctrlDeps") {
      read_ids(value, key, place, node.control_deps);
    } else if (key == "dataDeps") {
      read_ids(value, key, place, node.data_deps);
    } else if (key == "startTimeMicros") {
      node.start = unsigned_of(value, key, place);
    } else if (key == "durationMicros") {
      node.duration = unsigned_of(value, key, place);
    } else if (key == "inputs") {
      read_tensors(value, key, place, node.inputs);
    } else if (key == "outputs") {
      read_tensors(value, key, place, node.outputs);
    } else if (key == "attr") {
      for (const dom::element attribute : array_of(value, key, place))
        read_attribute(attribute, place, node.attributes.emplace_back(), lists);
    }
  }
  if (is_node && !is_known) place.fail("has neither 'id' nor 'name' nor 'type', as a node of Chakra has");
  return is_node;
}

void read_flat_node(dom::object object, const Place& place, TraceNode& node, std::deque<std::string>& lists) {
  for (const auto& [key, value] : object) {
    if (key == "Id") {
      node.id = unsigned_of(value, key, place);
    } else if (key == "Name") {
      node.name = text_of(value, key, place);
    } else if (key == "NodeType") {
      node.type = type_of(value, key, place);
    } else if (key == "ctrlDeps") {
      read_ids(value, key, place, node.control_deps);
    } else if (key == "data_deps") {
      read_ids(value, key, place, node.data_deps);
    } else if (key == "runtime") {
      node.duration = unsigned_of(value, key, place);
    } else {
      TraceAttribute& attribute = node.attributes.emplace_back();
      attribute.name = key;
      dom::array values;
      if (value.get(values) == simdjson::SUCCESS) {
        set_bare_list(values, attribute, lists);
      } else {
        set_value(value, attribute);
      }
    }
  }
}

}  // namespace

/// The file, and how far it has been read.
struct TraceJson::Documents {
  simdjson::padded_string text;
  dom::parser parser;
  dom::document_stream stream;
  dom::document_stream::iterator document;
  bool begun = false;
  bool flat = false;  ///< `nodes` is a workload_graph
  dom::array nodes;
  dom::array::iterator node;
  uint64_t count = 0;             ///< of nodes read
  std::deque<std::string> lists;  ///< of the attributes of the node read last

  /// The next message, or nothing at the end.
  std::optional<dom::element> advance(const std::string& path) {
    if (std::exchange(begun, true)) ++document;
    if (!(document != stream.end())) {
      if (stream.truncated_bytes() > 0) fail_input("{}: the JSON ends within node {}", path, count);
      return std::nullopt;
    }
    dom::element element;
    if (const auto error = (*document).get(element); error != simdjson::SUCCESS) {
      fail_input("{}: node {} of the JSON at byte {}: {}", path, count, document.current_index(),
                 simdjson::error_message(error));
    }
    return element;
  }
};

bool TraceJson::is_json(std::string_view begin) noexcept {
  const size_t brace = begin.find_first_not_of(kBlanks);
  if (brace == begin.npos || begin[brace] != '{') return false;
  const size_t key = begin.find_first_not_of(kBlanks, brace + 1);
  return key != begin.npos && (begin[key] == '"' || begin[key] == '}');
}

TraceJson::TraceJson(const std::string& path, ByteStream& bytes)
    : path_(path), documents_(std::make_unique<Documents>()) {
  Documents& documents = *documents_;
  documents.text = read_json_text(path, bytes);
  if (const auto error =
          documents.parser.parse_many(documents.text, std::max<size_t>(documents.text.size(), 1)).get(documents.stream);
      error != simdjson::SUCCESS) {
    fail_input("{}: {}", path, simdjson::error_message(error));
  }
  documents.document = documents.stream.begin();
}

TraceJson::~TraceJson() = default;

bool TraceJson::next(TraceNode& node) {
  Documents& documents = *documents_;
  for (;;) {
    const Place place{path_, documents.count};
    node.clear();
    documents.lists.clear();
    if (documents.flat) {
      if (!(documents.node != documents.nodes.end())) return false;
      read_flat_node(object_of(*documents.node, "an element of workload_graph", place), place, node, documents.lists);
      ++documents.node;
      ++documents.count;
      return true;
    }
    const std::optional<dom::element> element = documents.advance(path_);
    if (!element) return false;
    const dom::object object = object_of(*element, "the trace", place);
    if (dom::array nodes; object["workload_graph"].get(nodes) == simdjson::SUCCESS) {
      documents.flat = true;
      documents.nodes = nodes;
      documents.node = nodes.begin();
    } else if (dom::element other; object["nodes"].get(other) == simdjson::SUCCESS ||
                                   object["traceEvents"].get(other) == simdjson::SUCCESS) {
      fail_input("{}: an execution trace of another kind than Chakra's, such as PyTorch's, which must be converted",
                 path_);
    } else if (read_message(object, place, node, documents.lists)) {
      ++documents.count;
      return true;
    }
  }
}

}  // namespace rankwire
