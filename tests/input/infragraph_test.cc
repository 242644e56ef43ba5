#include "emulator/input/infragraph.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "emulator/input/infragraph_slice.h"
#include "tests/fabric/walks.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

constexpr int64_t kGigabit = 1'000'000'000;
constexpr Line kStandard{Bandwidth(10 * kGigabit), microseconds(1)};

// Two servers of two xpus, which meet in a scale-up switch and have a NIC each; a leaf for each server, and a spine.
// The NICs and the leaves' ports are parts of what their bare links join them with.
constexpr const char* kClos = R"(name: clos
description: two servers, two leaves, one spine
devices:
  - name: server
    components:
      - {name: xpu, choice: xpu, count: 2, description: GPU}
      - {name: nvsw, choice: switch, count: 1}
      - {name: nic, choice: nic, count: 2}
    links:
      - name: nvlink
        physical:
          bandwidth: {choice: gigabytes_per_second, gigabytes_per_second: 450}
          latency: {choice: ns, ns: 200}
      - {name: pcie}
    edges:
      - {ep1: {component: xpu}, ep2: {component: "nvsw[0]"}, scheme: many2many, link: nvlink}
      - {ep1: {component: "xpu[0:2]"}, ep2: {component: "nic[0:2]"}, scheme: one2one, link: pcie}
  - name: switch
    components:
      - {name: asic, choice: cpu, count: 1, cpu: {}}
      - {name: port, choice: port, count: 4}
    links: [{name: serdes}]
    edges:
      - {ep1: {component: asic}, ep2: {component: port}, scheme: many2many, link: serdes}
links:
  - name: eth
    physical: {bandwidth: {gigabits_per_second: 400}, latency: {us: 0.5}}
  - name: trunk
    physical: {bandwidth: {gigabits_per_second: 800}}
instances:
  - {name: host, device: server, count: 2}
  - {name: leaf, device: switch, count: 2}
  - {name: spine, device: switch, count: 1}
edges:
  - {ep1: {instance: "host[0]", component: nic}, ep2: {instance: "leaf[0]", component: "port[:2]"},
     scheme: one2one, link: eth}
  - {ep1: {instance: "host[1]", component: nic}, ep2: {instance: "leaf[1]", component: "port[0:2]"},
     scheme: one2one, link: eth}
  - {ep1: {instance: leaf, component: "port[2]"}, ep2: {instance: spine, component: "port[0:2]"},
     scheme: one2one, link: trunk}
)";

class InfraGraphFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) const {
    std::ofstream(path_) << text;
    return path_;
  }
  InfraGraph graph(const std::string& text) const { return expand(read_infrastructure(write(text))); }
  Topology topology(const std::string& text) const {
    Topology made = infragraph_topology(graph(text), kStandard);
    for (Attachment& host : made.hosts) host.line.rate = kStandard.rate;
    check(made);
    return made;
  }
  /// What is said of the text in which `from` is replaced by `to`, without the file's name.
  std::string error_of(const std::string& from, const std::string& to) const {
    std::string text = kClos;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
      topology(text);
    } catch (const Error& error) {
      const std::string what = error.what();
      return what.starts_with(path_.string()) ? what.substr(path_.string().size()) : what;
    }
    return "none";
  }

  const testing::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "infra.yaml";
};

// 2 x (2 + 1 + 2) + 3 x (1 + 4) components; edges 2 x (2 + 2) + 3 x 4 + 2 + 2 + 2.
TEST_F(InfraGraphFile, IsExpandedToComponents) {
  const InfraGraph made = graph(kClos);
  EXPECT_EQ(made.nodes.size(), 25u);
  EXPECT_EQ(made.edges.size(), 26u);
  EXPECT_EQ(made.nodes[5].name, "host.1.xpu.0");
  EXPECT_EQ(made.nodes[5].type, "xpu");
}

// NICs are part of their xpus, ports of their asics.
TEST_F(InfraGraphFile, HasSwitchesWhereLinksTakeTime) {
  const Topology made = topology(kClos);
  EXPECT_EQ(std::set<std::string>(made.switches.begin(), made.switches.end()),
            (Ways{"host.0.xpu.0", "host.0.xpu.1", "host.1.xpu.0", "host.1.xpu.1", "host.0.nvsw.0", "host.1.nvsw.0",
                  "leaf.0.asic.0", "leaf.1.asic.0", "spine.0.asic.0"}));
  EXPECT_EQ(made.hosts.size(), 4u);
  EXPECT_EQ(made.cables.size(), 4u + 4 + 2);
  EXPECT_EQ(named_ways(made, 0, 1), Ways{"host.0.xpu.0 host.0.nvsw.0 host.0.xpu.1"});
  EXPECT_EQ(named_ways(made, 0, 3), Ways{"host.0.xpu.0 leaf.0.asic.0 spine.0.asic.0 leaf.1.asic.0 host.1.xpu.1"});
}

// 450 GB/s are 3600 Gb/s of 10^9; the trunk says nothing of latency.
TEST_F(InfraGraphFile, LinksHaveTheirRatesAndLatencies) {
  const Topology made = topology(kClos);
  std::set<std::pair<int64_t, int64_t>> lines;
  for (const Cable& cable : made.cables) {
    lines.insert({cable.line.rate.bits_per_second / kGigabit, cable.line.latency.ps / 1'000});
  }
  EXPECT_EQ(lines, (std::set<std::pair<int64_t, int64_t>>{{3600, 200}, {400, 500}, {800, 1000}}));
}

// The NIC is a device of its own, with a slot that joins it with two keepers: a switch of its own.
TEST_F(InfraGraphFile, DevicesAreMadeOfDevices) {
  const InfraGraph made = graph(R"(infrastructure:
  devices:
    - name: cx5
      components:
        - {name: slot, choice: custom, count: 1, custom: {type: pcie_endpoint}}
        - {name: port, choice: port, count: 2}
      links: [{name: internal}]
      edges: [{ep1: {component: slot}, ep2: {component: port}, scheme: many2many, link: internal}]
    - name: box
      components: [{name: xpu, choice: xpu, count: 2}, {name: cx5, choice: device, count: 2}]
      links: [{name: pcie}]
      edges:
        - {ep1: {component: xpu}, ep2: {device: "cx5[0:2]", component: "slot[0]"}, scheme: one2one, link: pcie}
  links: [{name: eth}]
  instances: [{name: a, device: box, count: 1}, {name: b, device: box, count: 1}]
  edges:
    - {ep1: {instance: a, component: "cx5.port[0]"}, ep2: {instance: b, component: "cx5.port[0:2:2]"},
       scheme: one2one, link: eth}
annotations: {nodes: []}
)");
  EXPECT_EQ(made.nodes.size(), 2u * (2 + 2 * 3));
  EXPECT_EQ(made.edges.size(), 2u * (2 * 2 + 2) + 2);
  const Topology direct = infragraph_topology(made, kStandard);
  EXPECT_EQ(direct.switches, (std::vector<std::string>{"a.0.xpu.0", "a.0.xpu.1", "b.0.xpu.0", "b.0.xpu.1"}));
  ASSERT_EQ(direct.cables.size(), 2u);
  EXPECT_EQ(direct.cables[1].line.rate, kStandard.rate);
}

TEST_F(InfraGraphFile, MayBeJson) {
  const InfraGraph made =
      graph(R"({"devices": [{"name": "npu", "components": [{"name": "nic", "choice": "nic", "count": 1}],
 "links": [], "edges": []}], "links": [{"name": "eth"}], "instances": [{"name": "n", "device": "npu", "count": 3}],
 "edges": [{"ep1": {"instance": "n", "component": "nic"}, "ep2": {"instance": "n", "component": "nic"},
            "scheme": "many2many", "link": "eth"}]})");
  EXPECT_EQ(made.edges.size(), 3u) << "any two once, none with itself";
  EXPECT_EQ(infragraph_topology(made, kStandard).hosts.size(), 3u);
}

TEST_F(InfraGraphFile, SaysWhichEdgeIsWrongAndWhere) {
  EXPECT_EQ(error_of("component: \"nvsw[0]\"", "component: \"nvlsw[0]\""),
            ":16: edges[0] of device 'server': device 'server' has no component 'nvlsw'; it has xpu, nvsw, nic");
  EXPECT_EQ(error_of("\"nic[0:2]\"", "\"nic[0:3]\""),
            ":17: edges[1] of device 'server': 'nic[0:3]' is not within the 2 of them, numbered from 0");
  EXPECT_EQ(error_of("\"nic[0:2]\"", "\"nic[0:1]\""),
            ":17: edges[1] of device 'server': one2one joins 2 components with 1");
  EXPECT_EQ(error_of("instance: \"host[0]\"", "instance: \"hots[0]\""),
            ":35: edges[0]: 'hots' is not the name of an instance; there are host, leaf, spine");
  EXPECT_EQ(error_of("link: trunk", "link: trnk"),
            ":39: edges[2]: 'trnk' is not the name of a link; there are eth, trunk");
  EXPECT_EQ(error_of("scheme: one2one, link: trunk", "link: trunk"),
            ":39: edges[2]: needs 'scheme', one2one or many2many");
  EXPECT_EQ(error_of("scheme: one2one, link: trunk", "scheme: ring, link: trunk"),
            ":40: edges[2].scheme: 'ring' is not one of one2one, many2many");
  EXPECT_EQ(error_of("count: 2, description: GPU", "description: GPU"),
            ":4: components[0] of device 'server' needs 'name', 'count' and 'choice'");
  EXPECT_EQ(
      error_of("choice: port", "choice: prot"),
      ":21: devices[1].components[1].choice: 'prot' is not one of custom, device, cpu, xpu, nic, memory, port, switch");
  EXPECT_EQ(error_of("device: server", "device: srv"),
            ":31: 'srv' is not the name of a device; there are server, switch");
}

TEST_F(InfraGraphFile, RefusesMoreThanItCanHold) {
  EXPECT_EQ(error_of("device: server, count: 2", "device: server, count: 1000000"),
            ":4: the file has more than 1048576 components");
  EXPECT_EQ(
      error_of("{name: xpu, choice: xpu, count: 2, description: GPU}", "{name: server, choice: device, count: 2}"),
      ":4: device 'server' contains itself");
  std::string everybody = kClos;
  everybody.replace(everybody.find("count: 2, description"), 8, "count: 9000");
  everybody.replace(everybody.find("\"nvsw[0]\""), 9, "xpu");
  EXPECT_THROW(topology(everybody), Error);
}

TEST(InfraSlice, IsOfPythonsNotation) {
  const auto slice = [](const char* text) {
    const InfraSlice made = parse_slice(text, 8);
    return std::vector<uint32_t>{made.first, made.end, made.step};
  };
  using Numbers = std::vector<uint32_t>;
  EXPECT_EQ(slice("p"), (Numbers{0, 8, 1}));
  EXPECT_EQ(slice("p[3]"), (Numbers{3, 4, 1}));
  EXPECT_EQ(slice("p[2:5]"), (Numbers{2, 5, 1}));
  EXPECT_EQ(slice("p[:5]"), (Numbers{0, 5, 1}));
  EXPECT_EQ(slice("p[2:]"), (Numbers{2, 8, 1}));
  EXPECT_EQ(slice("p[::3]"), (Numbers{0, 8, 3}));
  EXPECT_EQ(sliced_name("p[2:]"), "p");
  for (const char* wrong :
       {"p[", "p[]", "p[x]", "p[-1]", "p[1:2:3:4]", "p[0:8:0]", "p[8]", "p[5:5]", "p[0:9]", "p[1]x"}) {
    EXPECT_THROW(slice(wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace rankwire
