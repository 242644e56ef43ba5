// What the numbers of devices under test are.
#pragma once

#include <array>

#include "emulator/report/metric_texts.h"

namespace rankwire {

/// Part of metric_texts().
inline constexpr std::array kDeviceTexts = {
    MetricText{"devices", "Device", "name of the device in the configuration"},
    MetricText{"devices", "Asked by", "a command that is called for each sample, a stream of them, or gNMI"},
    MetricText{"devices", "Samples", "samples that were read, before and after the run too"},
    MetricText{"devices", "Failed", "calls that failed, streams that broke, and what is no sample"},
    MetricText{"devices", "Clock",
               "the device's clock beside this machine's time of day, by its stamps; - without stamps"},
    MetricText{"devices", "Times within", "the largest error of the time of a sample, either way"},
    MetricText{"devices", "Clock set", "times that the device's clock was set while it was read"},
    MetricText{"device ports", "Device", "name of the device in the configuration"},
    MetricText{"device ports", "Its port", "what the device calls the port"},
    MetricText{"device ports", "Our port", "the port at the other end of its cable"},
    MetricText{"device ports", "Longest queue", "most bytes that waited in a queue of the port in a sample"},
    MetricText{"device ports", "Marked by it",
               "packets that the device counted as changed to ECN CE from the beginning of the run on"},
    MetricText{"device ports", "Marked here", "data packets that arrived behind our port with ECN CE"},
    MetricText{"device ports", "PFC sent by it", "PFC and PAUSE frames that the device counted as sent"},
    MetricText{"device ports", "PFC received here", "PFC and PAUSE frames that our port received"},
    MetricText{"device ports", "PFC received by it", "PFC and PAUSE frames that the device counted as received"},
    MetricText{"device ports", "PFC sent here", "PFC and PAUSE frames that our port sent"},
    MetricText{"device ports", "Dropped by it", "packets that the device counted as dropped"},
    MetricText{"device ports", "Lost on the way here", "data packets to ranks behind our port that did not arrive"},
};

}  // namespace rankwire
