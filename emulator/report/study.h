// The figures of a study: each a sweep of two keys, the labels of its groups and of its points.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/report/sweep.h"

namespace rankwire {

struct StudyReportFigure {
  std::string title;
  bool lines = false;  ///< instead of bars
  Sweep sweep;         ///< named as the figure; its points are group by group
};

struct Study {
  std::string name, title;
  std::vector<SweepColumn> columns;  ///< of every figure's sweep
  std::vector<StudyReportFigure> figures;
};

/// Fields are described in docs/studies.md.
nlohmann::ordered_json study_json(const Study& study);
/// A row a point and run.
std::string study_csv(const Study& study);
/// For people. Ends with a newline.
std::string study_tables(const Study& study);
/// A page that opens offline, with a picture and a table for each figure.
std::string study_html(const Study& study);

}  // namespace rankwire
