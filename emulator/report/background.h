// Traffic without a trace: what it offered, and what arrived.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// Payload delivered, by the time from `start` to `stop` or, before that, to the end of the run's last operation;
/// nothing where that is no time.
std::optional<Bandwidth> delivered_rate(const BackgroundInfo& entry, const BackgroundRow& row, Duration completion);

/// `summary.json`'s `background`: of each entry what the configuration says, `emulated` and `reference`.
nlohmann::ordered_json background_json(const RunReader& record);
/// A table of the printed summary, and the section of `report.html`; empty where there is no background.
std::string background_text(const RunReader& record);
std::string html_background(const RunReader& record);
/// `background.csv`: a row for each entry of each run that carried it.
std::string background_csv(const RunReader& record);

}  // namespace rankwire
