#include "emulator/serve/config_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rankwire {
namespace {

using Json = nlohmann::json;

/// Objects of a list, where it is one.
Json* list_in(Json& object, const char* field) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(field);
  return found != object.end() && found->is_array() ? &*found : nullptr;
}

/// Calls `work` with each entry of `tx_ports` of a configuration's, or a request's, `stateful_flows`.
void for_each_tx_port(Json& stateful, const std::function<void(Json& tx_port)>& work) {
  Json* const all = list_in(stateful, "rocev2");
  if (all == nullptr) return;
  for (Json& flows : *all)
    if (Json* const ports = list_in(flows, "tx_ports")) std::for_each(ports->begin(), ports->end(), work);
}

/// Where the flows of an entry of `tx_ports` are, and their share of the line; null where it says nothing of them.
Json* rate_of(Json& tx_port) {
  Json* object = &tx_port;
  for (const char* field : {"transmit_type", "target_line_rate"}) {
    if (!object->is_object() || !object->contains(field)) return nullptr;
    object = &(*object)[field];
  }
  return object->is_object() ? object : nullptr;
}

std::string text_of(const Json& object, const char* field) {
  if (!object.is_object()) return {};
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// protobuf's JSON has 64 bits as a text.
bool is_same_number(const Json& a, const Json& b) {
  const auto text = [](const Json& number) { return number.is_string() ? number.get<std::string>() : number.dump(); };
  return text(a) == text(b);
}

/// The flows behind those that their port has already, which share its line.
void append_tx_port(Json& config, const Json& tx_port, JsonReader& resource) {
  Json added = tx_port;
  const std::string name = text_of(added, "port_name");
  Json* const rate = rate_of(added);
  bool is_there = false;
  for_each_tx_port(config["stateful_flows"], [&](Json& known) {
    Json* const of_known = rate_of(known);
    if (name.empty() || text_of(known, "port_name") != name || rate == nullptr || of_known == nullptr) return;
    is_there = true;
    if (rate->contains("value") && !is_same_number((*rate)["value"], of_known->value("value", Json())))
      resource.fail("stateful_flows",
                    fmt::format("the flows of port '{}' have the 'value' of those that are there", name));
    Json* const flows = list_in(*rate, "flows");
    if (flows == nullptr) return;
    Json& of_port = (*of_known)["flows"];
    if (of_port.is_null()) of_port = Json::array();
    of_port.insert(of_port.end(), flows->begin(), flows->end());
  });
  if (!is_there) config["stateful_flows"]["rocev2"].push_back({{"tx_ports", Json::array({std::move(added)})}});
}

/// `tx_rx` of a flow of the model, which has to say what is so already.
void check_ports(JsonReader& flow, const OtgConfig& config, const OtgFlow& known) {
  std::optional<JsonReader> ends = flow.object("tx_rx");
  if (!ends) return;
  ends->only("choice", "port");
  if (std::optional<JsonReader> ports = ends->object("port")) {
    const std::string &from = config.ports[known.from].name, &to = config.ports[known.to].name;
    if (const std::optional<std::string> name = ports->text("tx_name"); name && *name != from)
      ports->fail("tx_name", fmt::format("the flow is from port '{}'", from));
    if (const std::optional<std::string> name = ports->text("rx_name"); name && *name != to)
      ports->fail("rx_name", fmt::format("the flow is to port '{}'", to));
    for (const std::string& name : ports->texts("rx_names"))
      if (name != to) ports->fail("rx_names", fmt::format("the flow is to port '{}'", to));
    ports->end();
  }
  ends->end();
}

/// The share of its port's line that a flow shall have.
void update_rate(Json& config, const OtgConfig& known, JsonReader& flow) {
  const std::string name = flow.required_text("name");
  const auto found =
      std::find_if(known.flows.begin(), known.flows.end(), [&](const OtgFlow& one) { return one.name == name; });
  if (found == known.flows.end()) return flow.fail("name", fmt::format("no flow is called '{}'", name));
  check_ports(flow, known, *found);
  std::optional<uint64_t> share;
  if (std::optional<JsonReader> rate = flow.object("rate")) {
    if (rate->choice("choice", {"percentage"})) share = rate->number("percentage", 1, 100);
    if (!share) rate->fail("percentage", "is required");
    rate->end();
  } else {
    flow.fail("rate", "is required");
  }
  flow.end();
  const auto others = std::count_if(known.flows.begin(), known.flows.end(),
                                    [&](const OtgFlow& one) { return one.from == found->from; });
  if (others > 1)
    return flow.fail("rate", fmt::format("port '{}' has other flows, too, which share its line evenly",
                                         known.ports[found->from].name));
  for_each_tx_port(config["stateful_flows"], [&](Json& tx_port) {
    if (text_of(tx_port, "port_name") != known.ports[found->from].name || !share) return;
    if (Json* const rate = rate_of(tx_port)) (*rate)["value"] = *share;
  });
}

}  // namespace

Json updated_config(const Json& given, const OtgConfig& config, const Json& request, RequestErrors& errors) {
  Json changed = given;
  JsonReader root(request, "", errors);
  const bool is_known = root.choice("choice", {"flows"}).has_value();
  std::optional<JsonReader> flows = root.object("flows");
  root.end();
  if (!is_known || !flows) {
    root.fail("flows", "is required, with 'choice'");
    return changed;
  }
  const std::vector<std::string> properties = flows->texts("property_names");
  if (properties.empty()) flows->fail("property_names", "is required");
  for (size_t i = 0; i < properties.size(); ++i)
    if (properties[i] != "rate")
      flows->fail(fmt::format("property_names[{}]", i), fmt::format("'{}' is not served; rate is", properties[i]));
  for (JsonReader& flow : flows->objects("flows")) update_rate(changed, config, flow);
  flows->end();
  return changed;
}

Json appended_config(const Json& given, const Json& request, RequestErrors& errors) {
  Json changed = given;
  JsonReader root(request, "", errors);
  for (JsonReader& resource : root.objects("config_append_list")) {
    resource.choice("choice", {"stateful_flows"});
    std::optional<JsonReader> stateful = resource.object("stateful_flows");
    if (!stateful && !resource.has("flows")) resource.fail("stateful_flows", "is required");
    if (stateful) {
      stateful->only("choice", "rocev2");
      Json flows = stateful->whole();
      stateful->skip("rocev2");
      stateful->end();
      for_each_tx_port(flows, [&](Json& tx_port) { append_tx_port(changed, tx_port, resource); });
    }
    resource.end();
  }
  root.end();
  return changed;
}

Json reduced_config(const Json& given, const Json& request, RequestErrors& errors) {
  Json changed = given;
  JsonReader root(request, "", errors);
  for (JsonReader& resource : root.objects("config_delete_list")) {
    if (!resource.choice("choice", {"flows"})) resource.fail("choice", "is required");
    const std::vector<std::string> names = resource.texts("flows");
    for (size_t i = 0; i < names.size(); ++i) {
      bool is_there = false;
      for_each_tx_port(changed["stateful_flows"], [&](Json& tx_port) {
        Json* const rate = rate_of(tx_port);
        Json* const flows = rate == nullptr ? nullptr : list_in(*rate, "flows");
        if (flows == nullptr) return;
        const auto found = std::find_if(flows->begin(), flows->end(),
                                        [&](const Json& flow) { return text_of(flow, "name") == names[i]; });
        if (found == flows->end()) return;
        flows->erase(found);
        is_there = true;
      });
      if (!is_there) resource.fail(fmt::format("flows[{}]", i), fmt::format("no flow is called '{}'", names[i]));
    }
    resource.end();
  }
  root.end();
  return changed;
}

}  // namespace rankwire
