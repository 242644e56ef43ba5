// The keys of one item of `impairments`; see schema.h.
#pragma once

#include "emulator/input/impairment_config.h"
#include "emulator/input/job_choice_syntax.h"
#include "emulator/input/syntax.h"

namespace rankwire {

/// The number of a packet, or the word for the last.
struct PacketNumberSyntax {
  PacketNumber parse(const Tree& scalar) const {
    if (scalar.text == "last") return {PacketNumber::kLast};
    return {Integer<uint32_t>{0, (1 << 23) - 1}.parse(scalar)};
  }
  ConfigJson print(PacketNumber value) const {
    return value.number == PacketNumber::kLast ? ConfigJson("last") : ConfigJson(value.number);
  }
};

inline Choice<ImpairmentActionName> impairment_actions() {
  return {{{"drop", ImpairmentActionName::kDrop},
           {"duplicate", ImpairmentActionName::kDuplicate},
           {"delay", ImpairmentActionName::kDelay},
           {"reorder", ImpairmentActionName::kReorder},
           {"corrupt", ImpairmentActionName::kCorrupt},
           {"mark_ce", ImpairmentActionName::kMarkCe},
           {"forge_ack", ImpairmentActionName::kForgeAck},
           {"forge_nak", ImpairmentActionName::kForgeNak},
           {"forge_rnr", ImpairmentActionName::kForgeRnr},
           {"forge_cnp", ImpairmentActionName::kForgeCnp},
           {"pause", ImpairmentActionName::kPause}}};
}

template <class Visitor>
void describe_impaired_packets(Visitor& visit, ImpairmentConfig& rule) {
  visit.field("class", rule.packets,
              Choice<PacketClassName>{{{"any", PacketClassName::kAny},
                                       {"data", PacketClassName::kData},
                                       {"ack", PacketClassName::kAck},
                                       {"nak", PacketClassName::kNak},
                                       {"cnp", PacketClassName::kCnp},
                                       {"read_request", PacketClassName::kReadRequest},
                                       {"read_response", PacketClassName::kReadResponse}}});
  visit.field("direction", rule.on_receive, Choice<bool>{{{"transmit", false}, {"receive", true}}});
  visit.field("transmissions", rule.all_transmissions, Choice<bool>{{{"first", false}, {"all", true}}});
  visit.field("port", rule.port, Or{"any", Text{}});
  visit.field("job", rule.job, Or{"any", JobChoiceSyntax{}});
  visit.field("rank", rule.rank, Or{"any", Integer<uint32_t>{0, (1 << 17) - 1}});
  visit.field("peer", rule.peer, Or{"any", Integer<uint32_t>{0, (1 << 17) - 1}});
  visit.field("operation", rule.operation, Or{"any", Text{}});
  visit.field("group", rule.group, Or{"any", Text{}});
  visit.field("step", rule.step, Or{"any", Integer<uint32_t>{0, (1 << 16) - 1}});
  visit.field("iteration", rule.iteration, Or{"any", Integer<uint32_t>{0, (1 << 14) - 1}});
  visit.field("message", rule.message, Or{"any", Integer<uint32_t>{0, (1U << 31) - 1}});
  visit.field("packet", rule.packet, Or{"any", PacketNumberSyntax{}});
  visit.field("every", rule.every, Integer<uint64_t>{1, 1'000'000'000});
  visit.field("probability", rule.probability_ppm, Share{});
}

template <class Visitor>
void describe_impairment(Visitor& visit, ImpairmentConfig& rule) {
  const Interval time{Duration(), seconds(1'000'000)};
  const Interval step{nanoseconds(1), seconds(1'000'000)};
  visit.field("action", rule.action, impairment_actions());
  describe_impaired_packets(visit, rule);
  visit.field("from", rule.from, time);
  visit.field("until", rule.until, Or{"none", step});
  visit.field("count", rule.count, Or{"unlimited", Integer<uint64_t>{1, UINT32_MAX}});
  visit.field("delay", rule.delay, Or{"none", step});
  visit.field("behind", rule.behind, Or{"none", Integer<uint32_t>{1, 1'024}});
  visit.field("target", rule.target,
              Or{"none", Choice<CorruptTarget>{{{"payload", CorruptTarget::kPayload},
                                                {"header", CorruptTarget::kHeader},
                                                {"icrc", CorruptTarget::kIcrc}}}});
  visit.list("priorities", rule.priorities, Integer<uint32_t>{0, 7});
  visit.field("quanta", rule.quanta, Or{"none", Integer<uint32_t>{0, 65'535}});
  visit.field("interval", rule.interval, Or{"none", step});
}

}  // namespace rankwire
