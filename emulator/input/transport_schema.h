// The keys of `transport`, as schema.h has the others.
#pragma once

#include <cstdint>

#include "emulator/input/congestion_schema.h"
#include "emulator/input/syntax.h"
#include "emulator/input/transport_config.h"

namespace rankwire {

template <class Visitor>
void describe_marking(Visitor& visit, MarkingConfig& marking) {
  visit.field("dscp", marking.dscp, Or{"same", Integer<uint32_t>{0, 63}});
  visit.field("ecn", marking.ecn, Or{"same", on_or_off()});
  visit.field("priority", marking.priority, Integer<uint32_t>{0, 7});
}

template <class Visitor>
void describe_reliability(Visitor& visit, TransportConfig& transport) {
  visit.field("window", transport.window, Or{"profile", Integer<uint32_t>{1, 1 << 22}});
  visit.field("timeout", transport.timeout, Or{"auto", Integer<uint32_t>{1, 31}});
  visit.field("retry_count", transport.retry_count, Or{"profile", Integer<uint32_t>{1, 7}});
  visit.field("ack_every", transport.ack_every, Or{"profile", Integer<uint32_t>{1, 1 << 22}});
  visit.field(
      "acks", transport.acks,
      Or{"profile", Choice<AckPolicy>{{{"merged", AckPolicy::kMerged}, {"per_request", AckPolicy::kPerRequest}}}});
  visit.field("rnr_retry", transport.rnr_retry, Or{"profile", Integer<uint32_t>{0, 7}});
  visit.field("rnr_timer", transport.rnr_timer, Or{"profile", Integer<uint32_t>{0, 31}});
  visit.field("receive_queue", transport.receive_queue, Or{"unlimited", Integer<uint32_t>{1, 65'535}});
  visit.field("out_of_order", transport.out_of_order, Integer<uint32_t>{0, 1024});
  visit.field("read_depth", transport.read_depth, Or{"profile", Integer<uint32_t>{1, 16}});
}

template <class Visitor>
void describe_verbs(Visitor& visit, VerbsConfig& verbs) {
  visit.field("sl", verbs.service_level, Integer<uint32_t>{0, 7});
  visit.field("send_queue", verbs.send_queue, Integer<uint32_t>{2, 32'768});
  visit.field("signal_every", verbs.signal_every, Integer<uint32_t>{1, 32'768});
  visit.field("inline", verbs.inline_size, Size{Bytes(0), Bytes(1'024)});
  visit.field("shared_receive_queue", verbs.shared_receive_queue, on_or_off());
  visit.field("max_message", verbs.max_message, Or{"device", Size{Bytes(256), Bytes(1LL << 31)}});
  visit.field("memory", verbs.memory, Size{Bytes(1 << 20), kLargestSize});
}

template <class Visitor>
void describe_transport(Visitor& visit, TransportConfig& transport) {
  visit.field("profile", transport.profile,
              Choice<ProfileName>{
                  {{"rankwire", ProfileName::kRankwire}, {"mlx5", ProfileName::kMlx5}, {"rxe", ProfileName::kRxe}}});
  visit.field("mtu", transport.mtu, Or{"auto", PathMtu{}});
  visit.field("verb", transport.verb,
              Choice<VerbName>{{{"write_imm", VerbName::kWriteImm},
                                {"write_then_imm", VerbName::kWriteThenImm},
                                {"send_imm", VerbName::kSendImm},
                                {"read", VerbName::kRead}}});
  visit.field("queue_pairs", transport.queue_pairs, Integer<uint32_t>{1, 256});
  visit.field("spread", transport.spread,
              Choice<SpreadName>{{{"split", SpreadName::kSplit}, {"deal", SpreadName::kDeal}}});
  visit.field("source_port", transport.source_port, SourcePort{});
  visit.field("turn", transport.turn, Integer<uint32_t>{1, 1024});
  describe_reliability(visit, transport);
  visit.field("dscp", transport.dscp, Integer<uint32_t>{0, 63});
  visit.field("ecn", transport.ecn, Or{"profile", on_or_off()});
  visit.section("markings", [&](auto& keys) {
    keys.section("data", [&](auto& kind) { describe_marking(kind, transport.data); });
    keys.section("ack", [&](auto& kind) { describe_marking(kind, transport.ack); });
    keys.section("nak", [&](auto& kind) { describe_marking(kind, transport.nak); });
    keys.section("cnp", [&](auto& kind) { describe_marking(kind, transport.cnp); });
  });
  visit.section("congestion_control", [&](auto& keys) { describe_congestion_control(keys, transport.congestion); });
  visit.field("ttl", transport.ttl, Or{"profile", Integer<uint32_t>{1, 255}});
  visit.field("neighbours", transport.neighbours,
              Choice<NeighbourChoice>{{{"auto", NeighbourChoice::kAuto},
                                       {"static", NeighbourChoice::kStatic},
                                       {"resolve", NeighbourChoice::kResolve}}});
  visit.field("resolve_interval", transport.resolve_interval, Interval{milliseconds(1), seconds(60)});
  visit.field("resolve_deadline", transport.resolve_deadline, Interval{milliseconds(1), seconds(600)});
  visit.field("receive_check", transport.receive_check,
              Choice<ReceiveCheckName>{{{"whole_frame", ReceiveCheckName::kWholeFrame},
                                        {"header_and_trailer", ReceiveCheckName::kHeaderAndTrailer}}});
  visit.field("checking", transport.checking, on_or_off());
  visit.field("catch_up", transport.catch_up, Interval{Duration(), seconds(1)});
  visit.section("verbs", [&](auto& keys) { describe_verbs(keys, transport.verbs); });
}

}  // namespace rankwire
