// A study: figures of many simulations, each of a configuration with some of its keys set otherwise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "emulator/input/tree.h"

namespace rankwire {

/// One simulation.
struct StudyPoint {
  std::string label;
  std::filesystem::path config;
  std::vector<std::string> settings;  ///< "key=value", in the order in which they apply
  Origin origin;
};

/// Points that belong together: a cluster of bars, or a line.
struct StudyGroup {
  std::string label;
  std::vector<StudyPoint> points;
};

enum class FigureForm : uint8_t { kBars, kLines };

struct StudyFigure {
  std::string name;  ///< unique
  std::string title;
  FigureForm form = FigureForm::kBars;
  std::string groups_are, points_are;  ///< what the labels name, such as "model" and "NPUs"
  std::vector<StudyGroup> groups;
};

struct StudyFile {
  std::string name, title;
  std::vector<StudyFigure> figures;
};

/// Reads the YAML of docs/studies.md. Paths of configurations are relative to the file's folder; the configurations are
/// not read. Throws Error(kInput) with file and line.
StudyFile read_study_file(const std::filesystem::path& file);

}  // namespace rankwire
