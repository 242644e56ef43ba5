#include "emulator/assembly/impairments.h"

#include <fmt/format.h>

#include "dataplane/impairments/transport.h"
#include "dataplane/wire/opcode_name.h"
#include "emulator/assembly/transport_options.h"

namespace rankwire {
namespace {

std::optional<uint32_t> known(uint32_t value) {
  return value == ImpairmentEvent::kUnknown ? std::nullopt : std::optional(value);
}

ImpairmentRow row_of(const ImpairmentEvent& event, const Impairments& impairments, const Plan& plan,
                     const BackgroundPlan& background, const Communication& messages) {
  ImpairmentRow row{.time = event.time,
                    .rule = event.rule,
                    .action = to_string(impairments.rules()[event.rule].action),
                    .port = event.port,
                    .direction = to_string(event.side),
                    .packet = known(event.packet),
                    .psn = known(event.psn)};
  if (row.psn) row.opcode = to_string(event.opcode);
  if (!event.connection.valid()) return row;
  row.connection = plan.transport.connections[event.connection.value];
  if (event.message == ImpairmentEvent::kUnknown) return row;
  if (background.has(event.connection)) {
    row.operation = background.entries[row.connection.job.value - background.entries.front().job.value].name;
    row.message = fmt::format("message {}", event.message);
    return row;
  }
  Event message;
  message.connection = event.connection;
  message.index = event.message;
  row.operation = messages.operation_name(message);
  row.message = messages.message_text(message);
  return row;
}

}  // namespace

std::unique_ptr<Impairments> make_impairments(const Setup& setup) {
  if (setup.impairments.empty()) return nullptr;
  const RoceOptions roce = roce_options(setup);
  const ImpairmentOptions options{.flows = flow_options(roce),
                                  .markings = roce.markings,
                                  .hop_limit = roce.profile.hop_limit,
                                  .seed = setup.config.seed};
  return std::make_unique<Impairments>(setup.impairments, options);
}

std::unique_ptr<Transport> make_roce_transport(const RoceOptions& options, Testbed& testbed, Impairments* impairments) {
  if (impairments == nullptr) return std::make_unique<RoceTransport>(options, testbed.ports(), testbed.arrivals(0));
  // Frames that an impairment delays arrive without a bell.
  return std::make_unique<ImpairmentTransport>(options, testbed.ports(), *impairments);
}

std::vector<ImpairmentRow> impairment_rows(const Impairments* impairments, const Plan& plan,
                                           const BackgroundPlan& background, const Communication& messages) {
  std::vector<ImpairmentRow> rows;
  if (impairments == nullptr) return rows;
  for (const ImpairmentEvent& event : impairments->events())
    rows.push_back(row_of(event, *impairments, plan, background, messages));
  return rows;
}

std::vector<ImpairmentRuleRow> impairment_rule_rows(const Impairments* impairments) {
  std::vector<ImpairmentRuleRow> rows;
  if (impairments == nullptr) return rows;
  for (const ImpairmentCount& count : impairments->counts()) {
    const auto rule = static_cast<uint32_t>(rows.size());
    rows.push_back({rule, to_string(impairments->rules()[rule].action), count.done, count.not_done});
  }
  return rows;
}

}  // namespace rankwire
