#include <algorithm>
#include <filesystem>

#include "emulator/input/config.h"
#include "emulator/input/fabric_topology.h"
#include "emulator/input/hybrid_ports.h"
#include "emulator/input/job_choices.h"
#include "emulator/input/reader.h"
#include "emulator/input/schema.h"
#include "emulator/input/transformer_preset.h"
#include "emulator/input/validate.h"
#include "emulator/input/validate_background.h"
#include "emulator/input/validate_compute.h"
#include "emulator/input/validate_congestion.h"
#include "emulator/input/validate_generate.h"
#include "emulator/input/validate_hybrid.h"
#include "emulator/input/validate_impairments.h"
#include "emulator/input/validate_jobs.h"

namespace rankwire {
namespace {

/// Replaces the path of a workload description by the description, in the section `workload` of `parent`, which is
/// called `prefix`.
void include_description(Tree& parent, const std::string& prefix) {
  Tree* workload = parent.find("workload");
  Tree* generate = workload == nullptr ? nullptr : workload->find("generate");
  if (generate == nullptr || generate->kind != Tree::Kind::kScalar) return;
  const std::filesystem::path file = FilePath().parse(*generate);
  std::error_code unknown;
  if (std::filesystem::status(file, unknown).type() == std::filesystem::file_type::not_found)
    fail_at(generate->origin, "{}workload.generate: there is no file {}", prefix, file.string());
  *generate = read_yaml_file(file);
}

void expand_presets(Tree& root) {
  const auto expand = [](Tree& parent) {
    Tree* workload = parent.find("workload");
    Tree* generate = workload == nullptr ? nullptr : workload->find("generate");
    if (generate != nullptr) expand_preset(*generate);
  };
  expand(root);
  Tree* jobs = root.find("jobs");
  if (jobs == nullptr || jobs->kind != Tree::Kind::kList) return;
  for (Tree& job : jobs->items) expand(job);
}

/// `workload.nodes` is short for a description of this kind.
void expand_nodes(Tree& parent, const std::string& prefix) {
  Tree* workload = parent.find("workload");
  const Tree* nodes = workload == nullptr ? nullptr : workload->find("nodes");
  if (nodes == nullptr) return;
  const Origin origin = nodes->origin;
  if (workload->find("generate") != nullptr)
    fail_at(origin, "{}workload.nodes: contradicts {}workload.generate; give one of them", prefix, prefix);
  Tree kind{.kind = Tree::Kind::kScalar, .origin = origin, .text = "nodes", .items = {}, .entries = {}};
  Tree generate{.kind = Tree::Kind::kMap, .origin = origin, .text = {}, .items = {}, .entries = {}};
  generate.entries.push_back({.key = "kind", .origin = origin, .value = std::move(kind)});
  generate.entries.push_back({.key = "nodes", .origin = origin, .value = *nodes});
  workload->erase("nodes");
  workload->entries.push_back({.key = "generate", .origin = origin, .value = std::move(generate)});
}

void include_descriptions(Tree& root) {
  const auto settle = [](Tree& parent, const std::string& prefix) {
    include_description(parent, prefix);
    expand_nodes(parent, prefix);
  };
  settle(root, "");
  Tree* jobs = root.find("jobs");
  if (jobs == nullptr || jobs->kind != Tree::Kind::kList) return;
  for (size_t i = 0; i < jobs->items.size(); ++i) settle(jobs->items[i], fmt::format("jobs[{}].", i));
}

constexpr uint64_t kMostPorts = 1'024;

/// Writes items of the list `ports` that stand for several out: as many that differ in the number behind their name
/// alone.
void expand_counted_ports(Tree& ports) {
  std::vector<Tree> items;
  for (size_t i = 0; i < ports.items.size(); ++i) {
    const Tree& item = ports.items[i];
    if (item.kind != Tree::Kind::kMap || item.find("count") == nullptr) {
      items.push_back(item);
      continue;
    }
    uint64_t count = 0;
    Reader keys(item, fmt::format("ports[{}]", i));
    keys.field("count", count, Integer<uint64_t>{1, kMostPorts});
    for (uint64_t n = 0; n < count; ++n) {
      Tree& port = items.emplace_back(item);
      port.erase("count");
      if (Tree* name = port.find("name")) name->text += fmt::to_string(n);
    }
  }
  if (items.size() > kMostPorts && items.size() > ports.items.size())
    fail_at(ports.origin, "ports: are {} with those that 'count' stands for, the most is {}", items.size(), kMostPorts);
  ports.items = std::move(items);
}

/// Writes the short form of `ports` out as a list: as many ports that differ in the number behind their name alone.
void expand_ports(Tree& root) {
  Tree* ports = root.find("ports");
  if (ports != nullptr && ports->kind == Tree::Kind::kList) return expand_counted_ports(*ports);
  if (ports == nullptr || ports->kind != Tree::Kind::kMap) return;
  uint64_t count = 0;
  Reader keys(*ports, "ports");
  keys.field("count", count, Integer<uint64_t>{2, kMostPorts});
  PortConfig unused;
  describe_port(keys, unused);
  keys.finish();
  if (count == 0) fail_at(ports->origin, "ports: 'count' is required, or a list of ports");

  Tree item = *ports;
  item.erase("count");
  if (count > kMostRingPorts && item.find("device") == nullptr && item.find("verbs") == nullptr) {
    Tree device{.kind = Tree::Kind::kScalar, .origin = item.origin, .text = "memory", .items = {}, .entries = {}};
    item.entries.push_back({.key = "device", .origin = item.origin, .value = std::move(device)});
  }
  *ports = {.kind = Tree::Kind::kList, .origin = item.origin, .text = {}, .items = {count, item}, .entries = {}};
  for (uint64_t i = 0; i < count; ++i) {
    if (Tree* name = ports->items[i].find("name")) name->text += fmt::to_string(i);
  }
}

/// `workers.switch` is another name of `switch.core`: how the switch is spread over them.
void move_switch_of_workers(Tree& root) {
  Tree* workers = root.find("workers");
  const Tree* named = workers == nullptr ? nullptr : workers->find("switch");
  if (named == nullptr) return;
  const Tree core = *named;
  workers->erase("switch");
  if (root.find("switch") == nullptr) {
    Tree device{.kind = Tree::Kind::kMap, .origin = core.origin, .text = {}, .items = {}, .entries = {}};
    root.entries.push_back({.key = "switch", .origin = core.origin, .value = std::move(device)});
  }
  Tree& device = *root.find("switch");
  if (device.find("core") != nullptr)
    fail_at(core.origin, "workers.switch: is another name of switch.core; give one of them");
  device.entries.push_back({.key = "core", .origin = core.origin, .value = core});
}

/// `dilation: 8` is its factor.
void expand_dilation(Tree& root) {
  Tree* dilation = root.find("dilation");
  if (dilation == nullptr || dilation->kind != Tree::Kind::kScalar) return;
  const Tree factor = *dilation;
  *dilation = {.kind = Tree::Kind::kMap, .origin = factor.origin, .text = {}, .items = {}, .entries = {}};
  dilation->entries.push_back({.key = "factor", .origin = factor.origin, .value = factor});
}

/// Writes out what stands in short where the setting reaches into it.
void expand_for(std::string_view setting, Tree& root) {
  if (setting.starts_with("ports[")) expand_ports(root);
  if (setting.starts_with("dilation.")) expand_dilation(root);
  if (setting.starts_with("workload.generate.") || setting.starts_with("jobs[")) include_descriptions(root);
}

/// A port with `verbs` alone has no device.
void settle_devices(RunConfig& config, const Tree& root) {
  const Tree* ports = root.find("ports");
  for (size_t i = 0; i < config.ports.size(); ++i) {
    if (config.ports[i].is_rdma_device() && ports->items[i].find("device") == nullptr) config.ports[i].device.clear();
  }
}

/// A file is the topology; what the fabric says of its ports holds where they say nothing of themselves.
void settle_fabric(RunConfig& config, const Tree& root) {
  if (!config.fabric || config.ports.empty()) return;
  FabricConfig& fabric = *config.fabric;
  if (root.find("fabric")->find("topology") == nullptr) {
    if (!fabric.infragraph.empty()) fabric.topology = TopologyName::kInfragraph;
    if (!fabric.astra_network.empty()) fabric.topology = TopologyName::kAstraNetwork;
  }
  std::vector<Bandwidth> rates;
  try {
    rates = fabric_port_rates(config);
  } catch (const Error&) {
    return;  // which `validate` finds again, and where
  }
  const Tree* ports = root.find("ports");
  for (size_t p = 0; p < rates.size(); ++p) {
    if (ports->items[p].find("rate") == nullptr) config.ports[p].rate = rates[p];
  }
}

void fill_names(RunConfig& config) {
  if (config.name.empty()) config.name = std::filesystem::path(config.file).stem().string();
  for (size_t i = 0; i < config.ports.size(); ++i) {
    if (config.ports[i].name.empty()) config.ports[i].name = fmt::format("p{}", i);
  }
}

}  // namespace

RunConfig load_config(const std::string& file, std::span<const std::string> settings) {
  Tree root = file.empty() ? read_yaml_text("{}", {.place = "the settings", .folder = std::filesystem::current_path()})
                           : read_yaml_file(file);
  for (const std::string& setting : settings) {
    expand_for(setting, root);
    apply_setting(root, setting);
  }
  include_descriptions(root);
  expand_presets(root);
  expand_ports(root);
  write_out_modelled_ports(root, kMostPorts);
  expand_dilation(root);
  move_switch_of_workers(root);

  RunConfig config;
  config.file = file;
  config.places = KeyPlaces(root);
  Reader keys(root, "");
  describe_config(keys, config);
  keys.finish();
  settle_devices(config, root);
  fill_names(config);
  settle_fabric(config, root);
  settle_hybrid(config);
  settle_job_choices(config, root);
  place_impairments(config, root);
  place_congestion(config, root);
  note_job_places(config, root);
  note_background_places(config, root);
  settle_compute(config, root);
  validate(config, root);
  return config;
}

GenerateConfig load_generated(const std::string& file, KeyPlaces* places) {
  Tree root = read_yaml_file(file);
  if (places != nullptr) *places = KeyPlaces(root);
  expand_preset(root);
  GenerateConfig model;
  Reader keys(root, "");
  describe_generate(keys, model);
  keys.finish();
  validate_generate(model, root, "");
  return model;
}

}  // namespace rankwire
