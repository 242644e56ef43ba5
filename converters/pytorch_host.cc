#include "converters/pytorch_host.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "converters/json_fields.h"
#include "proto/json_text.h"

namespace rankwire {
namespace {

namespace ondemand = simdjson::ondemand;
namespace dom = simdjson::dom;

constexpr std::array<std::string_view, 6> kSchemas{"1.0.1", "1.0.2", "1.0.3", "1.0.4", "1.1.0", "1.1.1"};

/// One node, of which little is needed; what is nested is parsed only where it is.
struct HostNode {
  std::string name;
  std::optional<int64_t> record_function;
  std::string_view inputs, outputs, attributes;  ///< JSON
};

std::string_view nested_json(ondemand::value value) {
  if (ondemand::json_type(value.type()) == ondemand::json_type::array) {
    ondemand::array array = value.get_array();
    return array.raw_json();
  }
  ondemand::object object = value.get_object();
  return object.raw_json();
}

class HostReader {
 public:
  HostReader(const std::string& path, Warnings& warnings) : path_(path), warnings_(warnings) {}

  PytorchHostTrace read(const simdjson::padded_string& text);

 private:
  void read_node(ondemand::object object);
  void take_call(const HostNode& node, const JsonPlace& place);
  void take_groups(const HostNode& node, const JsonPlace& place);
  std::optional<dom::element> parse(dom::parser& parser, std::string_view json, const JsonPlace& place);

  const std::string& path_;
  Warnings& warnings_;
  PytorchHostTrace trace_;
  dom::parser inputs_, outputs_, attributes_;
};

std::optional<dom::element> HostReader::parse(dom::parser& parser, std::string_view json, const JsonPlace& place) {
  if (json.empty()) return std::nullopt;
  dom::element element;
  if (const auto error = parser.parse(json).get(element); error != simdjson::SUCCESS) {
    place.fail("{}", simdjson::error_message(error));
  }
  return element;
}

void HostReader::take_call(const HostNode& node, const JsonPlace& place) {
  const auto inputs = parse(inputs_, node.inputs, place);
  if (!inputs) place.fail("record_param_comms without inputs");
  const auto call =
      parse_recorded_call(*inputs, parse(outputs_, node.outputs, place), parse(attributes_, node.attributes, place));
  if (!call) {
    place.fail("the inputs of record_param_comms are not [tensors, sequence, group, rank, name, splits, ...]: {:.200}",
               node.inputs);
  }
  int64_t id = node.record_function.value_or(-1);
  if (id < 0) place.fail("record_param_comms without rf_id");
  trace_.calls.push_back({id, *call});
}

void HostReader::take_groups(const HostNode& node, const JsonPlace& place) {
  const auto inputs = parse(inputs_, node.inputs, place);
  if (!inputs) return;
  dom::array values;
  if (inputs->get(values) != simdjson::SUCCESS && (*inputs)["values"].get(values) != simdjson::SUCCESS) return;
  for (const dom::element value : values) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) continue;
    for (ProcessGroup& group : parse_group_list(text, fmt::format("{}: {}", path_, place.path), warnings_)) {
      trace_.groups.push_back(std::move(group));
    }
  }
}

void HostReader::read_node(ondemand::object object) {
  HostNode node;
  const JsonPlace place{path_, fmt::format("nodes[{}]", trace_.nodes)};
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    ondemand::value value = field.value();
    if (key == "name") {
      node.name = std::string_view(value.get_string());
    } else if (key == "rf_id") {
      node.record_function = written_integer(value);
    } else if (key == "inputs" || key == "outputs" || key == "attrs") {
      (key == "inputs" ? node.inputs : key == "outputs" ? node.outputs : node.attributes) = nested_json(value);
    }
  }
  ++trace_.nodes;
  const bool is_call = node.name == "record_param_comms";
  if (is_call && !node.record_function) {
    const auto attributes = parse(attributes_, node.attributes, place);
    dom::array list;
    if (attributes && attributes->get(list) == simdjson::SUCCESS) {
      for (const dom::element attribute : list) {
        std::string_view name;
        int64_t id;
        if (attribute["name"].get(name) == simdjson::SUCCESS && name == "rf_id" &&
            attribute["value"].get(id) == simdjson::SUCCESS) {
          node.record_function = id;
        }
      }
    }
  }
  if (is_call) take_call(node, place);
  if (node.name.find("process_group:init") != node.name.npos) take_groups(node, place);
}

PytorchHostTrace HostReader::read(const simdjson::padded_string& text) {
  ondemand::parser parser;
  bool has_nodes = false;
  JsonPlace{path_, "the JSON"}.read([&] {
    ondemand::document document = parser.iterate(text);
    for (auto field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      ondemand::value value = field.value();
      if (key == "schema") {
        trace_.schema = std::string_view(value.get_string());
      } else if (key == "pid") {
        trace_.process = written_integer(value).value_or(-1);
      } else if (key == "nodes") {
        has_nodes = true;
        for (auto node : value.get_array()) {
          JsonPlace{path_, fmt::format("nodes[{}]", trace_.nodes)}.read([&] { read_node(node.get_object()); });
        }
      }
    }
  });
  if (!has_nodes) fail_input("{}: no \"nodes\": not a host trace of PyTorch", path_);
  if (std::ranges::none_of(kSchemas, [&](std::string_view known) { return trace_.schema.starts_with(known); })) {
    warnings_.push_back(fmt::format("{}: schema \"{}\" is none of 1.0.1 to 1.1.1", path_, trace_.schema));
  }
  std::ranges::sort(trace_.calls, {}, &RecordedCall::record_function);
  return std::move(trace_);
}

}  // namespace

PytorchHostTrace read_pytorch_host(const std::string& path, Warnings& warnings) {
  return parse_pytorch_host(read_json_text(path), path, warnings);
}

PytorchHostTrace parse_pytorch_host(const simdjson::padded_string& text, const std::string& path, Warnings& warnings) {
  return HostReader(path, warnings).read(text);
}

}  // namespace rankwire
