// The keys below `fabric`, for the visitors of schema.h.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/syntax.h"

namespace rankwire {

/// Powers of two from 1/256 to 256, as exponents.
inline Choice<int8_t> alphas() {
  return {{{"1/256", int8_t{-8}},
           {"1/128", int8_t{-7}},
           {"1/64", int8_t{-6}},
           {"1/32", int8_t{-5}},
           {"1/16", int8_t{-4}},
           {"1/8", int8_t{-3}},
           {"1/4", int8_t{-2}},
           {"1/2", int8_t{-1}},
           {"1", int8_t{0}},
           {"2", int8_t{1}},
           {"4", int8_t{2}},
           {"8", int8_t{3}},
           {"16", int8_t{4}},
           {"32", int8_t{5}},
           {"64", int8_t{6}},
           {"128", int8_t{7}},
           {"256", int8_t{8}}}};
}

template <class Visitor>
void describe_level(Visitor& visit, LevelConfig& level) {
  visit.field("name", level.name, Name{});
  visit.field("count", level.count, Integer<uint32_t>{1, 1'024});
  visit.field("switches", level.switches, Integer<uint32_t>{1, 1'024});
  visit.field("cables", level.cables, Integer<uint32_t>{1, 64});
  visit.field("from", level.from_npus, Choice<bool>{{{"below", false}, {"npus", true}}});
  visit.field("rate", level.rate, Or{"ports", Rate{}});
  visit.field("oversubscription", level.oversubscription, Or{"none", Fraction{}});
  visit.field("latency", level.latency, Or{"same", Interval{Duration(), seconds(1)}});
}

template <class Visitor>
void describe_topology(Visitor& visit, FabricConfig& fabric) {
  visit.field("topology", fabric.topology,
              Choice<TopologyName>{{{"star", TopologyName::kStar},
                                    {"leaf_spine", TopologyName::kLeafSpine},
                                    {"fat_tree", TopologyName::kFatTree},
                                    {"rail", TopologyName::kRail},
                                    {"ring", TopologyName::kRing},
                                    {"torus2d", TopologyName::kTorus2d},
                                    {"torus3d", TopologyName::kTorus3d},
                                    {"fully_connected", TopologyName::kFullyConnected},
                                    {"dragonfly", TopologyName::kDragonfly},
                                    {"hierarchy", TopologyName::kHierarchy},
                                    {"graph", TopologyName::kGraph},
                                    {"infragraph", TopologyName::kInfragraph},
                                    {"astra_network", TopologyName::kAstraNetwork}}});
  visit.field("leaves", fabric.leaves, Integer<uint32_t>{1, 1'024});
  visit.field("spines", fabric.spines, Integer<uint32_t>{1, 1'024});
  visit.field("parallel", fabric.parallel, Integer<uint32_t>{1, 64});
  visit.field("k", fabric.k, Integer<uint32_t>{2, 64});
  visit.field("rails", fabric.rails, Integer<uint32_t>{1, 64});
  visit.field("group", fabric.group, Integer<uint32_t>{1, 1'024});
  visit.list("extents", fabric.extents, Integer<uint32_t>{1, 1'024});
  visit.field("wrap", fabric.wrap, on_or_off());
  visit.field("groups", fabric.groups, Integer<uint32_t>{1, 1'024});
  visit.field("routers", fabric.routers, Integer<uint32_t>{1, 1'024});
  visit.field("router_hosts", fabric.router_hosts, Integer<uint32_t>{1, 1'024});
  visit.field("global_links", fabric.global_links, Integer<uint32_t>{0, 1'024});
  visit.field("global_rate", fabric.global_rate, Or{"same", Rate{}});
  visit.field("global_latency", fabric.global_latency, Or{"same", Interval{Duration(), seconds(1)}});
  visit.items("levels", fabric.levels, [](auto& keys, LevelConfig& level) { describe_level(keys, level); });
  visit.field("oversubscription", fabric.oversubscription, Or{"none", Fraction{}});
  visit.field("infragraph", fabric.infragraph, FilePathOrNone{});
  visit.field("astra_network", fabric.astra_network, FilePathOrNone{});
  visit.field(
      "routing", fabric.routing,
      Choice<RoutingName>{{{"shortest", RoutingName::kShortest}, {"dimension_order", RoutingName::kDimensionOrder}}});
  visit.field("link_rate", fabric.link_rate, Or{"ports", Rate{}});
  visit.field("link_latency", fabric.link_latency, Or{"same", Interval{Duration(), seconds(1)}});
  visit.list("switches", fabric.switches, Text{});
  visit.items("links", fabric.links, [](auto& keys, GraphLinkConfig& link) {
    keys.field("a", link.a, Text{});
    keys.field("b", link.b, Text{});
  });
  visit.items("hosts", fabric.hosts, [](auto& keys, GraphHostConfig& host) {
    keys.field("port", host.port, Text{});
    keys.field("switch", host.at, Text{});
  });
}

template <class Visitor>
void describe_fabric_buffer(Visitor& visit, FabricBufferConfig& buffer) {
  const Size size{Bytes(0), Bytes(1LL << 40)}, some{Bytes(1), Bytes(1LL << 40)};
  visit.field("shared", buffer.shared, Or{"preset", some});
  visit.field("reserve", buffer.reserve, Or{"preset", size});
  visit.field("queue", buffer.queue, Or{"preset", some});
  visit.field("egress_alpha", buffer.egress_alpha, Or{"preset", alphas()});
  visit.field("ingress_alpha", buffer.ingress_alpha, Or{"preset", alphas()});
  visit.field("xoff", buffer.xoff, Or{"alpha", size});
  visit.field("headroom", buffer.headroom, Or{"preset", size});
  visit.field("resume_offset", buffer.resume_offset, Or{"preset", size});
}

template <class Visitor>
void describe_fabric_switch(Visitor& visit, FabricConfig& fabric) {
  const Integer<uint32_t> priority{0, 7};
  visit.field("preset", fabric.preset,
              Choice<SwitchPresetName>{{{"none", SwitchPresetName::kNone},
                                        {"tomahawk5", SwitchPresetName::kTomahawk5},
                                        {"hpcc_ns3", SwitchPresetName::kHpccNs3}}});
  visit.field("forwarding", fabric.forwarding,
              Choice<ForwardingName>{{{"store_and_forward", ForwardingName::kStoreAndForward},
                                      {"cut_through", ForwardingName::kCutThrough}}});
  visit.field("trust", fabric.trust, Choice<TrustName>{{{"dscp", TrustName::kDscp}, {"pcp", TrustName::kPcp}}});
  visit.items("dscp", fabric.dscp, [&](auto& keys, DscpConfig& entry) {
    keys.field("dscp", entry.dscp, Integer<uint32_t>{0, 63});
    keys.field("priority", entry.priority, priority);
  });
  visit.list("lossless", fabric.lossless, priority);
  visit.list("strict", fabric.strict, priority);
  visit.list("weights", fabric.weights, Integer<uint32_t>{1, 100});
  visit.section("buffer", [&](auto& keys) { describe_fabric_buffer(keys, fabric.buffer); });
  visit.optional_section("ecn", fabric.ecn, [](auto& keys, FabricRedConfig& red) {
    keys.field("minimum", red.minimum, Size{Bytes(0), Bytes(1LL << 40)});
    keys.field("maximum", red.maximum, Size{Bytes(0), Bytes(1LL << 40)});
    keys.field("probability", red.probability_ppm, Share{});
    keys.field("at", red.at,
               Choice<MarkAtName>{{{"enqueue", MarkAtName::kEnqueue}, {"dequeue", MarkAtName::kDequeue}}});
    keys.field("not_capable", red.not_capable,
               Choice<NotCapableName>{{{"pass", NotCapableName::kPass}, {"drop", NotCapableName::kDrop}}});
  });
  visit.optional_section("watchdog", fabric.watchdog, [](auto& keys, FabricWatchdogConfig& watchdog) {
    keys.field("detection", watchdog.detection, Interval{nanoseconds(1), seconds(1'000)});
    keys.field("restoration", watchdog.restoration, Interval{nanoseconds(1), seconds(1'000)});
    keys.field("action", watchdog.action,
               Choice<StormActionName>{{{"drop", StormActionName::kDrop}, {"forward", StormActionName::kForward}}});
  });
  visit.field("pause_quanta", fabric.pause_quanta, Integer<uint32_t>{1, 65'535});
}

template <class Visitor>
void describe_fabric(Visitor& visit, FabricConfig& fabric) {
  describe_topology(visit, fabric);
  describe_fabric_switch(visit, fabric);
  visit.section("balancing", [&](auto& keys) {
    keys.field("spreading", fabric.balancing.spreading,
               Choice<SpreadingName>{{{"flow", SpreadingName::kFlow},
                                      {"flowlet", SpreadingName::kFlowlet},
                                      {"packet", SpreadingName::kPacket}}});
    keys.field("hash_queue_pair", fabric.balancing.hash_queue_pair, on_or_off());
    keys.field("seeds", fabric.balancing.seed_per_switch, Choice<bool>{{{"own", true}, {"shared", false}}});
    keys.field("flowlet_gap", fabric.balancing.flowlet_gap, Interval{Duration(), seconds(1)});
  });
  visit.items("failures", fabric.failures, [](auto& keys, FabricFailureConfig& failure) {
    keys.field("a", failure.a, Text{});
    keys.field("b", failure.b, Or{"none", Text{}});
    keys.field("cable", failure.cable, Integer<uint32_t>{0, 63});
    keys.field("down", failure.down, Interval{Duration(), seconds(1'000'000)});
    keys.field("up", failure.up, Or{"never", Interval{Duration(), seconds(1'000'000)}});
    keys.field("period", failure.period, Or{"none", Interval{nanoseconds(1), seconds(1'000'000)}});
    keys.field("times", failure.times, Integer<uint32_t>{1, 100'000});
    keys.field("rate", failure.rate, Or{"own", Rate{}});
    keys.field("latency", failure.latency, Interval{Duration(), seconds(1)});
    keys.field("loss", failure.loss_ppm, Share{});
  });
  visit.field("convergence", fabric.convergence, Interval{Duration(), seconds(1'000)});
}

}  // namespace rankwire
