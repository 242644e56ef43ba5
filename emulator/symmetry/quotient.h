// A planned run with one rank, connection and link for each class of those that cannot be told apart.
#pragma once

#include <optional>

#include "emulator/symmetry/classes.h"

namespace rankwire {

/// A run of its own, in which the first of each class stands for all. Its ranks, connections and links are numbered by
/// class, so a connection may lead from a rank to itself. Each draws on a link for all connections that the link
/// carries of its class (LinkUse::times): shares, and with them all times, are those of every member of the class in
/// the whole run, as far as equal times need no order that only numbers could decide (Communication::tied).
struct Quotient {
  SymmetryClasses classes;
  /// Nodes have the names of the whole workload, which outlives it. Ids of messages made from it name the wrong ranks.
  Workload workload;
  Plan plan;  ///< without NICs
  Network network;
};

/// Empty where there are no classes worth it, see `symmetry_classes`.
std::optional<Quotient> quotient(const Workload& workload, const Plan& plan, const Network& network);

}  // namespace rankwire
