#include "emulator/serve/run_configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/units.h"
#include "emulator/input/tree.h"
#include "fabric/network.h"

namespace rankwire {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr uint64_t kDefaultSpeed = 10'000'000'000;  // bit/s, as ports[].rate

/// What a message takes of the line of the port that its data leave by, acknowledgements apart: as fabric/network.h has
/// it for a WRITE with immediate.
Bytes on_line(const OtgConfig& config, Bytes message, Bytes mtu) {
  constexpr Bytes kReth(16), kImmediate(4), kAeth(4), kReadyToSend(24), kIpv6BeyondIpv4(20);
  const std::string& verb = config.verb;
  Framing with_immediate = rocev2_framing(mtu);
  if (config.is_ipv6) with_immediate.overhead_per_frame = with_immediate.overhead_per_frame + kIpv6BeyondIpv4;
  Framing framing = with_immediate;
  if (verb == "write_then_imm") {
    framing.overhead_per_message = kReth;
    framing.overhead_of_last = Bytes(0);
    return line_size(message, framing) + line_size(Bytes(0), with_immediate);
  }
  if (verb == "send_imm") framing.overhead_per_message = framing.overhead_of_last = kImmediate;
  if (verb == "read") {
    // Responses, with an AETH in the first and the last, behind the SEND that offers the data. What the destination
    // sends, the READ and that it has the data, goes the other way.
    framing.overhead_per_message = message > mtu ? kAeth + kAeth : kAeth;
    framing.overhead_of_last = kAeth;
    return line_size(message, framing) + kReadyToSend + framing.overhead_per_frame;
  }
  return line_size(message, framing);
}

/// Of the payload of a flow, in bit/s, where `flows` of its port share so much of the line evenly.
uint64_t payload_rate(const OtgConfig& config, const OtgFlow& flow, uint64_t speed, uint64_t flows, Bytes mtu) {
  const double line = static_cast<double>(speed) * static_cast<double>(flow.share) / 100 / static_cast<double>(flows);
  const Bytes message(static_cast<int64_t>(flow.message));
  return static_cast<uint64_t>(line * static_cast<double>(message.count) /
                               static_cast<double>(on_line(config, message, mtu).count));
}

/// How much of each frame is captured, so that every port has what it wants; absent: none captures.
std::optional<uint32_t> captured_length(const OtgConfig& config) {
  constexpr uint32_t kLeast = 64, kMost = 16384;  // of record.capture_length
  std::optional<uint32_t> length;
  for (const OtgPort& port : config.ports) {
    if (!port.capture) continue;
    uint32_t wanted = std::clamp(port.capture->packet_size.value_or(kMost), kLeast, kMost);
    for (const FrameField& field : port.capture->filters)
      wanted = std::max(wanted, std::min(kMost, field.offset / 8 + static_cast<uint32_t>(field.bits.size()) / 8 + 2));
    length = std::max(length.value_or(0), wanted);
  }
  return length;
}

/// Sections that say what is run and on what. Others reach beyond the run: into DPDK, the machine, or other programs.
constexpr std::array<std::string_view, 26> kSections = {
    "addresses",   "background", "collectives", "compute", "concurrency", "dilation",  "dut",     "fabric",  "hosts",
    "impairments", "hybrid",     "jobs",        "limits",  "local",       "mapping",   "name",    "ports",   "record",
    "run",         "seed",       "simulation",  "slo",     "switch",      "transport", "version", "workload"};

/// Whether a text could lead out of a folder: it has a slash and is neither a fraction nor an address with its prefix.
bool is_path(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789", kOfAddresses = "0123456789abcdefABCDEF.:";
  const size_t slash = text.find('/');
  if (slash == std::string::npos) return text == "..";
  const std::string_view before = std::string_view(text).substr(0, slash),
                         behind = std::string_view(text).substr(slash + 1);
  return before.empty() || behind.empty() || before.find("..") != std::string::npos ||
         before.find_first_not_of(kOfAddresses) != std::string::npos ||
         behind.find_first_not_of(kDigits) != std::string::npos;
}

class Confinement {
 public:
  Confinement(std::span<const std::string> devices, RequestErrors& errors) : devices_(devices), errors_(errors) {}

  void check(const Tree& root) {
    for (const Tree::Entry& section : root.entries) {
      if (std::find(kSections.begin(), kSections.end(), section.key) == kSections.end())
        fail(section.key, "a section that is not served");
      // Free texts, which the report repeats.
      if (section.key == "dut") continue;
      look(section.value, section.key, section.key == "ports");
    }
  }

 private:
  void look(const Tree& tree, const std::string& path, bool of_ports) {
    if (tree.kind == Tree::Kind::kScalar && is_path(tree.text))
      fail(path, fmt::format("'{}' leads out of the folder of the run; files are named as they were given", tree.text));
    for (size_t i = 0; i < tree.items.size(); ++i) look(tree.items[i], fmt::format("{}[{}]", path, i), of_ports);
    for (const Tree::Entry& entry : tree.entries) {
      const std::string below = path + "." + entry.key;
      const bool is_device = of_ports && (entry.key == "device" || entry.key == "verbs");
      if (is_device && entry.value.text != "none" && !is_device_allowed(entry.value.text, devices_))
        fail(below, fmt::format("'{}' is no device of this server (--device)", entry.value.text));
      look(entry.value, below, of_ports);
    }
  }

  void fail(const std::string& path, const std::string& why) {
    errors_.push_back(fmt::format("ai_workload.configuration: {}: {}", path, why));
  }

  std::span<const std::string> devices_;
  RequestErrors& errors_;
};

/// An interface or RDMA device by its PCI address, under which DPDK has it; the name itself where there is none.
std::string physical(const std::string& name) {
  namespace fs = std::filesystem;
  if (name.empty() || name.find('/') != std::string::npos) return name;
  for (const char* kind : {"infiniband", "net"}) {
    std::error_code absent;
    const fs::path device = fs::canonical(fs::path("/sys/class") / kind / name / "device", absent);
    if (!absent) return device.filename().string();
  }
  return name;
}

void find_devices(const Tree& tree, std::set<std::string>& devices) {
  for (const Tree& item : tree.items) find_devices(item, devices);
  for (const Tree::Entry& entry : tree.entries) {
    if (entry.key != "device" && entry.key != "verbs") {
      find_devices(entry.value, devices);
    } else if (const std::string device = named_device(entry.value.text); !device.empty()) {
      devices.insert(physical(device));
    }
  }
}

}  // namespace

std::string run_configuration(const OtgConfig& config, std::chrono::seconds longest, uint64_t capture) {
  const uint64_t mtu = config.mtu == 0 ? 1024 : config.mtu;
  std::map<size_t, uint64_t> flows_of;  // by port
  for (const OtgFlow& flow : config.flows) ++flows_of[flow.from];
  OrderedJson run{{"name", "otg"},
                  {"workload",
                   {{"nodes", OrderedJson::array({{{"name", "transmit"},
                                                   {"ranks", fmt::format("0-{}", config.ports.size() - 1)},
                                                   {"kind", "compute"},
                                                   {"duration", fmt::format("{}s", longest.count())}}})}}},
                  {"hosts", {{"count", config.ports.size()}, {"npus", 1}, {"nics", 1}}},
                  {"addresses", {{"ip", config.subnet}}},
                  {"ports", OrderedJson::array()},
                  {"background", OrderedJson::array()},
                  {"transport", {{"mtu", fmt::format("{}B", mtu)}, {"verb", config.verb}}},
                  {"run", {{"deadline", fmt::format("{}s", longest.count() + 60)}}}};
  if (const std::optional<uint32_t> length = captured_length(config))
    run["record"] = {{"capture", fmt::format("{}B", capture)}, {"capture_length", fmt::format("{}B", *length)}};
  if (!config.mac.empty()) run["addresses"]["mac"] = config.mac;
  for (const OtgPort& port : config.ports) {
    run["ports"].push_back({{"name", port.name}, {"device", port.location}});
    if (port.speed) run["ports"].back()["rate"] = fmt::format("{}bps", *port.speed);
  }
  for (const OtgFlow& flow : config.flows) {
    const uint64_t speed = config.ports[flow.from].speed.value_or(kDefaultSpeed);
    run["background"].push_back({{"name", flow.name},
                                 {"pattern", "pairs"},
                                 {"from", {config.ports[flow.from].name}},
                                 {"to", {config.ports[flow.to].name}},
                                 {"size", fmt::format("{}B", flow.message)},
                                 {"rate", fmt::format("{}bps", payload_rate(config, flow, speed, flows_of[flow.from],
                                                                            Bytes(static_cast<int64_t>(mtu))))},
                                 {"transport", {{"dscp", flow.dscp}}}});
  }
  return run.dump(1);
}

void check_confined(const std::filesystem::path& file, std::span<const std::string> devices, RequestErrors& errors) {
  Confinement(devices, errors).check(read_yaml_file(file));
}

std::set<std::string> devices_of(const std::string& configuration) {
  std::set<std::string> devices;
  const Tree root = read_yaml_text(configuration, {.place = "configuration", .folder = {}});
  if (const Tree* ports = root.find("ports")) find_devices(*ports, devices);
  return devices;
}

std::string named_device(const std::string& text) {
  constexpr std::string_view kOnInterface = "iface=", kNetdev = "netdev ";
  if (text == "ring" || text == "memory" || text == "none") return {};
  if (text.starts_with(kNetdev)) return text.substr(kNetdev.size());
  // A virtual device is as good as the interface that it stands on.
  if (const size_t at = text.find(kOnInterface); at != std::string::npos) {
    const size_t from = at + kOnInterface.size();
    return text.substr(from, text.find(',', from) - from);
  }
  return text.starts_with("net_") ? text : text.substr(0, text.find(','));
}

bool is_device_allowed(const std::string& device, std::span<const std::string> devices) {
  return device == "ring" || device == "memory" || std::find(devices.begin(), devices.end(), device) != devices.end();
}

}  // namespace rankwire
