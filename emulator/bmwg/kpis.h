// Which test measures which of the drafts' key performance indicators.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// Of an indicator that several tests measure under the same name.
struct BmwgKpi {
  const char* name;      ///< as in the drafts
  const char* measured;  ///< the name of the measurement, or how it begins; empty: nothing measures it
  const char* tests;     ///< ids, with `*`, divided by blanks; of what nothing measures: why
};

/// Of the training draft, then of the inference draft.
std::span<const BmwgKpi> bmwg_kpis();

/// Those that a test measures, in the same order.
std::vector<const BmwgKpi*> kpis_of(std::string_view test);

/// What these are called in gates, or how their names there begin: "jct_ratio".
std::vector<std::string> measured_names_of(std::string_view test);

}  // namespace rankwire
