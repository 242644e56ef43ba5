// What the numbers of jobs beside each other are.
#pragma once

#include <array>

#include "emulator/report/metric_texts.h"

namespace rankwire {

/// Part of metric_texts().
inline constexpr std::array kInterferenceTexts = {
    MetricText{"interference", "Job", "the job whose completion times these are"},
    MetricText{"interference", "Beside", "the job that runs at the same time"},
    MetricText{"interference", "Side", "which run of the record"},
    MetricText{"interference", "Alone", "completion time of the job when nobody else is at work"},
    MetricText{"interference", "Here", "completion time of the job beside the other"},
    MetricText{"interference", "Times alone", "completion time here / alone"},
    MetricText{"interference", "Run folder", "where the run is"},
    MetricText{"interference", "Missing because", "why there is no time"},
};

}  // namespace rankwire
