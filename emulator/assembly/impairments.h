// From the impairments of a configuration to those of its packets, and back to the record.
#pragma once

#include <memory>
#include <vector>

#include "base/transport.h"
#include "dataplane/impairments/impairments.h"
#include "dataplane/roce/transport.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/testbed.h"
#include "emulator/engine/communication.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// The rules with everything that they name found in workload and plan. Throws Error(kInput), naming file, line and
/// key, for a rank, job, operation or group that there is not, and for conditions that no message on the wire meets.
std::vector<ImpairmentRule> impairment_rules(const Setup& setup);

/// Null when the configuration has none.
std::unique_ptr<Impairments> make_impairments(const Setup& setup);

/// RoCEv2 on the ports, impaired unless `impairments` is null; they outlive the transport.
std::unique_ptr<Transport> make_roce_transport(const RoceOptions& options, Testbed& testbed, Impairments* impairments);

/// What has been done, in terms of the workload; nothing when `impairments` is null. What happens to the background has
/// the name of its entry.
std::vector<ImpairmentRow> impairment_rows(const Impairments* impairments, const Plan& plan,
                                           const BackgroundPlan& background, const Communication& messages);
std::vector<ImpairmentRuleRow> impairment_rule_rows(const Impairments* impairments);

}  // namespace rankwire
