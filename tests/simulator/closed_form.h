// Closed forms of collectives that are alone on the star of star.h, of any number of members.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "emulator/collective/schedule.h"
#include "tests/simulator/walk.h"

namespace rankwire {

/// How an operation goes on: `steps` one after the other, in each of which a member sends, or receives, `at_once`
/// messages.
struct ClosedForm {
  int64_t steps, at_once;
  Bytes message;
  int64_t acknowledged = 0;  ///< steps that begin with the acknowledgement of the one before, not with its data
  Bytes others = {};         ///< on the line, of others at once, until this one is over; 0: all are as long as it is

  /// At once they share the ports of their sources, and of their destinations, fairly. Whenever one of several is over
  /// before others the shares change, and the model rounds up to a picosecond.
  Duration time() const { return (on_line() + tail(message)) * steps + kOneWay * acknowledged; }
  Duration on_line() const {
    const Bytes own = line_size(message, Star::framing());
    if (others.count > 0) return serialization_time(own + others, kRate) + Duration(at_once - 1);
    return serialization_time(own, Bandwidth(kRate.bits_per_second / at_once));
  }

  /// By how much packets may differ. In front of a message of a step, at the NIC and in the switch, acknowledgements of
  /// what the port has received may stand: one a message and one after every 32 packets, over IPv4 preamble 8, Ethernet
  /// 14, IPv4 20, UDP 8, BTH 12, AETH 4, ICRC 4, FCS 4 and gap 12 bytes. Of several messages at a port packets take
  /// turns, so that the last frame of one may stand behind one frame of each other at either port.
  Duration slack() const {
    constexpr Bytes kAcknowledgement(86);
    const int64_t packets = std::max<int64_t>(1, (message.count + 4095) / 4096);
    const Duration acknowledgements = serialization_time(kAcknowledgement, kRate) * (2 * at_once * (1 + packets / 32));
    return (acknowledgements + line_time(std::min(message, Bytes(4096))) * (2 * (at_once - 1))) * steps;
  }

  /// By how much they may be earlier. A queue pair that has its turn sends up to 16 packets, before which those of each
  /// other at the port would have had as many; where the others are of unlike sizes, all of them may come behind it.
  Duration ahead() const {
    constexpr Bytes kTurn(16 * 4096);
    if (others.count > 0) return serialization_time(others, kRate) * steps;
    return line_time(std::min(message, kTurn)) * ((at_once - 1) * steps);
  }
};

/// One after the other.
using ClosedForms = std::vector<ClosedForm>;

/// What nothing rounds up.
inline ClosedForms not_rounded(ClosedForms forms) {
  for (ClosedForm& form : forms)
    if (form.others.count > 0) form.at_once = 1;
  return forms;
}

inline Duration time_of(const ClosedForms& forms) {
  Duration time;
  for (const ClosedForm& form : forms) time += form.time();
  return time;
}
inline Duration slack_of(const ClosedForms& forms) {
  Duration slack;
  for (const ClosedForm& form : forms) slack += form.slack();
  return slack;
}
inline Duration ahead_of(const ClosedForms& forms) {
  Duration ahead;
  for (const ClosedForm& form : forms) ahead += form.ahead();
  return ahead;
}
inline Bytes largest_of(const ClosedForms& forms) {
  Bytes largest;
  for (const ClosedForm& form : forms) largest = std::max(largest, form.message);
  return largest;
}

struct ClosedCase {
  std::string name;
  Operation operation;
  Algorithm algorithm;
  /// The time, or where `least` is given what it is at most; input: a rank's.
  std::function<ClosedForms(int64_t members, Bytes input)> form;
  /// Empty: the form is the time. Of some numbers of members the form is a bound, and this the other one.
  std::function<std::optional<ClosedForms>(int64_t members, Bytes input)> least = nullptr;
  int64_t of_host = 0;  ///< members of each host, one behind the other; 0: hosts do not matter

  bool suits(int64_t members) const { return of_host == 0 || members % of_host == 0; }
  /// Both are the same where the form is exact.
  ClosedForms shortest(int64_t members, Bytes input) const {
    const std::optional<ClosedForms> other = least ? least(members, input) : std::nullopt;
    return other ? *other : form(members, input);
  }
  Duration least_time(int64_t members, Bytes input) const { return time_of(shortest(members, input)); }
};

inline void PrintTo(const ClosedCase& of, std::ostream* out) {
  *out << of.name;
}

inline std::string case_name(const ::testing::TestParamInfo<ClosedCase>& info) {
  return info.param.name;
}

/// Of `block` bytes a member: what a rank has.
inline Bytes closed_input(const ClosedCase& of, int64_t members, int64_t block) {
  const bool is_block = of.operation == Operation::kAllGather || of.operation == Operation::kGather;
  return Bytes(is_block ? block : block * members);
}

inline std::vector<ClosedCase> closed_cases() {
  const auto part = [](Bytes input, int64_t parts) { return Bytes(input.count / parts); };
  return {
      {"all_reduce_ring", Operation::kAllReduce, Algorithm::kRing,
       [=](int64_t n, Bytes s) {
         return ClosedForms{{2 * (n - 1), 1, part(s, n)}};
       }},
      {"all_reduce_direct", Operation::kAllReduce, Algorithm::kDirect,
       [=](int64_t n, Bytes s) {
         return ClosedForms{{2, n - 1, part(s, n)}};
       }},
      {"reduce_scatter_ring", Operation::kReduceScatter, Algorithm::kRing,
       [=](int64_t n, Bytes s) {
         return ClosedForms{{n - 1, 1, part(s, n)}};
       }},
      {"reduce_scatter_direct", Operation::kReduceScatter, Algorithm::kDirect,
       [=](int64_t n, Bytes s) {
         return ClosedForms{{1, n - 1, part(s, n)}};
       }},
      {"all_gather_ring", Operation::kAllGather, Algorithm::kRing,
       [](int64_t n, Bytes s) {
         return ClosedForms{{n - 1, 1, s}};
       }},
      {"all_gather_direct", Operation::kAllGather, Algorithm::kDirect,
       [](int64_t n, Bytes s) {
         return ClosedForms{{1, n - 1, s}};
       }},
      {"all_to_all_direct", Operation::kAllToAll, Algorithm::kDirect,
       [=](int64_t n, Bytes s) {
         return ClosedForms{{1, n - 1, part(s, n)}};
       }},
      {"all_to_all_pairwise", Operation::kAllToAll, Algorithm::kPairwise,
       [=](int64_t n, Bytes s) {
         return ClosedForms{{n - 1, 1, part(s, n), n - 2}};
       }},
      {"broadcast_ring", Operation::kBroadcast, Algorithm::kRing,
       [](int64_t n, Bytes s) {
         return ClosedForms{{n - 1, 1, s}};
       }},
      {"reduce_ring", Operation::kReduce, Algorithm::kRing,
       [](int64_t n, Bytes s) {
         return ClosedForms{{n - 1, 1, s}};
       }},
      {"gather_direct", Operation::kGather, Algorithm::kDirect,
       [](int64_t n, Bytes s) {
         return ClosedForms{{1, n - 1, s}};
       }},
      {"scatter_direct", Operation::kScatter, Algorithm::kDirect,
       [=](int64_t n, Bytes s) {
         return ClosedForms{{1, n - 1, part(s, n)}};
       }},
  };
}

}  // namespace rankwire
