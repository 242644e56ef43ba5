#include "emulator/input/infragraph_file.h"

#include <cmath>

#include "emulator/input/decimal.h"
#include "emulator/input/reader.h"

namespace rankwire {
namespace {

/// What a model may say and nobody here needs.
struct Anything {
  std::string parse(const Tree& scalar) const { return scalar.text; }
};

void skip_texts(Reader& keys, std::initializer_list<const char*> names) {
  std::string unused;
  for (const char* name : names) keys.field(name, unused, Anything{});
}

void skip_sections(Reader& keys, std::initializer_list<const char*> names) {
  for (const char* name : names) keys.section(name, [](Reader&) {});
}

/// A quantity of a `choice` of units, each a key of its own.
struct QuantityKey {
  const char* key;
  double scale;
};

std::optional<int64_t> read_quantity(Reader& keys, std::initializer_list<QuantityKey> units) {
  constexpr double kMost = 1e12;
  std::string choice;
  keys.field("choice", choice, Text{});
  std::optional<int64_t> result;
  for (const QuantityKey& unit : units) {
    std::optional<double> value;
    keys.field(unit.key, value, Decimal{0, kMost});
    if (value && unit.scale > 0 && (choice.empty() || choice == unit.key)) result = std::llround(*value * unit.scale);
  }
  return result;
}

void read_physical(Reader& keys, InfraLink& link) {
  keys.section("bandwidth", [&](Reader& bandwidth) {
    const std::optional<int64_t> bits = read_quantity(
        bandwidth, {{"gigabits_per_second", 1e9}, {"gigabytes_per_second", 8e9}, {"gigatransfers_per_second", 0}});
    if (bits) link.rate = Bandwidth(*bits);
  });
  keys.section("latency", [&](Reader& latency) {
    const std::optional<int64_t> ps = read_quantity(latency, {{"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}});
    if (ps) link.latency = Duration(*ps);
  });
}

void read_link(Reader& keys, InfraLink& link) {
  keys.field("name", link.name, Text{});
  skip_texts(keys, {"description"});
  keys.section("physical", [&](Reader& physical) { read_physical(physical, link); });
}

void read_component(Reader& keys, InfraComponent& component) {
  keys.field("name", component.name, Text{});
  keys.field("count", component.count, Integer<uint32_t>{1, 1 << 20});
  keys.field("choice", component.type,
             Choice<std::string>{{{"custom", "custom"},
                                  {"device", "device"},
                                  {"cpu", "cpu"},
                                  {"xpu", "xpu"},
                                  {"nic", "nic"},
                                  {"memory", "memory"},
                                  {"port", "port"},
                                  {"switch", "switch"}}});
  skip_texts(keys, {"description"});
  skip_sections(keys, {"device", "cpu", "xpu", "nic", "memory", "port", "switch"});
  component.is_device = component.type == "device";
  keys.section("custom", [&](Reader& custom) { custom.field("type", component.type, Text{}); });
}

void read_end(Reader& keys, InfraEnd& end) {
  std::string device;
  keys.field("instance", end.instance, Text{});
  keys.field("device", device, Text{});
  keys.field("component", end.component, Text{});
  if (!device.empty()) end.component = device + "." + end.component;
}

void read_edge(Reader& keys, InfraEdge& edge) {
  keys.section("ep1", [&](Reader& end) { read_end(end, edge.ep1); });
  keys.section("ep2", [&](Reader& end) { read_end(end, edge.ep2); });
  keys.field("scheme", edge.scheme,
             Choice<InfraScheme>{{{"one2one", InfraScheme::kOneToOne}, {"many2many", InfraScheme::kManyToMany}}});
  keys.field("link", edge.link, Text{});
}

/// The places of the items of a list.
template <class T>
void add_origins(const Tree& map, const char* key, std::vector<T>& items) {
  const Tree* const list = map.find(key);
  for (size_t i = 0; i < items.size(); ++i) items[i].origin = list->items[i].origin;
}

void read_devices(const Tree& root, Reader& keys, std::vector<InfraDevice>& devices) {
  keys.items("devices", devices, [](Reader& of_device, InfraDevice& device) {
    of_device.field("name", device.name, Text{});
    skip_texts(of_device, {"description"});
    of_device.items("components", device.components, read_component);
    of_device.items("links", device.links, read_link);
    of_device.items("edges", device.edges, read_edge);
  });
  add_origins(root, "devices", devices);
  for (size_t d = 0; d < devices.size(); ++d) {
    add_origins(root.find("devices")->items[d], "edges", devices[d].edges);
  }
}

void check_required(const Infrastructure& infrastructure) {
  for (const InfraDevice& device : infrastructure.devices) {
    if (device.name.empty()) fail_at(device.origin, "a device needs 'name'");
    for (size_t c = 0; c < device.components.size(); ++c) {
      const InfraComponent& component = device.components[c];
      if (component.name.empty() || component.count == 0 || component.type.empty()) {
        fail_at(device.origin, "components[{}] of device '{}' needs 'name', 'count' and 'choice'", c, device.name);
      }
    }
  }
  for (const InfraInstance& instance : infrastructure.instances) {
    if (instance.name.empty() || instance.device.empty() || instance.count == 0) {
      fail_at(instance.origin, "an instance needs 'name', 'device' and 'count'");
    }
  }
}

}  // namespace

Infrastructure read_infrastructure(const std::filesystem::path& file) {
  const Tree document = read_yaml_file(file);
  const Tree* const wrapped = document.find("infrastructure");
  const Tree& root = wrapped == nullptr ? document : *wrapped;
  Infrastructure result;
  result.origin = root.origin;
  Reader keys(root, wrapped == nullptr ? "" : "infrastructure");
  skip_texts(keys, {"name", "description"});
  read_devices(root, keys, result.devices);
  keys.items("links", result.links, read_link);
  keys.items("instances", result.instances, [](Reader& of_instance, InfraInstance& instance) {
    of_instance.field("name", instance.name, Text{});
    skip_texts(of_instance, {"description"});
    of_instance.field("device", instance.device, Text{});
    of_instance.field("count", instance.count, Integer<uint32_t>{1, 1 << 20});
  });
  add_origins(root, "instances", result.instances);
  keys.items("edges", result.edges, read_edge);
  add_origins(root, "edges", result.edges);
  keys.finish();
  check_required(result);
  return result;
}

}  // namespace rankwire
