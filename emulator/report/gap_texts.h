// What the parts are of which a gap to the reference consists.
#pragma once

#include <array>

#include "emulator/report/metric_texts.h"

namespace rankwire {

/// Part of metric_texts(); by name of the part as phrase_of() has it.
inline constexpr std::array kGapTexts = {
    MetricText{"gap", "reference", "completion time of the reference, from which the parts lead to the emulated one"},
    MetricText{"gap", "emulated", "completion time of the emulated side: that of the reference and all parts"},
    MetricText{"gap", "together", "emulated - reference completion time: the sum of the parts, exactly"},
    MetricText{"gap", "compute", "steps of the path that compute - the same nodes in the reference"},
    MetricText{"gap", "recovering",
               "steps that took longer: time in which their longest held up connection sent again what was lost"},
    MetricText{"gap", "receiver not ready",
               "steps that took longer: time in which receivers asked their longest held up connection to wait"},
    MetricText{"gap", "paused",
               "steps that took longer: time in which PFC stopped the priority of their longest held up connection"},
    MetricText{"gap", "congestion control",
               "steps that took longer: time that rate or window of congestion control made their connection wait"},
    MetricText{"gap", "window full",
               "steps that took longer: time in which all that may be under way was, less what the network explains"},
    MetricText{"gap", "others first",
               "steps that took longer: time in which other queue pairs of the sender's port were served first"},
    MetricText{"gap", "acknowledgements under way",
               "steps that took longer: time from the last packet to its acknowledgement, less what the network "
               "explains"},
    MetricText{"gap", "a longer way than the model's",
               "waiting for acknowledgements x (least - the model's) / mean round trip at the sender's port"},
    MetricText{"gap", "queueing behind other traffic of the job",
               "waiting for acknowledgements x (mean - least) / mean round trip, for what the job itself sent there"},
    MetricText{"gap", "queueing behind other jobs or the background",
               "waiting for acknowledgements x (mean - least) / mean round trip, for what others sent there"},
    MetricText{"gap", "communication without a known cause",
               "unexplained: the rest of steps that took longer; of it the record does not say why"},
    MetricText{"gap", "faster communication",
               "negative: steps that communicate and took shorter than in the reference"},
    MetricText{"gap", "between operations",
               "from the end of a step to the start of the next - what the reference waits there as well"},
    MetricText{"gap", "another chain of the reference",
               "what the reference waited for elsewhere: its own critical path is another one"},
    MetricText{"gap", "lateness of the generator",
               "what its late turns may have brought about at the most, taken off the other parts"},
    MetricText{
        "gap", "acknowledgements first",
        "steps that took longer: waiting at the sender's port x line time of acknowledgements / of all others there"},
};

}  // namespace rankwire
