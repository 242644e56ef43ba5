// Studies as files.
#include "emulator/input/study_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StudyFileTest : public ::testing::Test {
 protected:
  StudyFile read(const std::string& text) {
    std::ofstream(folder_.path() / "study.yaml") << text;
    return read_study_file(folder_.path() / "study.yaml");
  }
  std::string error_of(const std::string& text) {
    try {
      read(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "none";
  }
  testing::TemporaryFolder folder_;
};

constexpr const char* kBegin = "name: s\ntitle: t\nfigures:\n  - name: f\n    title: F\n    axes: [model, size]\n";

TEST_F(StudyFileTest, SettingsAndConfigurationsAreHandedDown) {
  const StudyFile study = read(R"(name: s
title: A study
definitions:
  - &small {ports.count: 4, "fabric.levels[0].count": 2}
config: a.yaml
set: {seed: 1}
figures:
  - name: f
    title: "F: 1"
    form: lines
    axes: [model, size]
    set: [*small, {name: 'x y'}]
    points:
      - {label: 4}
      - {label: 8, config: sub/b.yaml, set: {ports.count: 8}}
    groups:
      - {label: one, set: {workload.generate: {kind: mlp, list: [1, 2]}}}
      - {label: two, points: [{label: only, set: {a: null}}]}
)");
  EXPECT_EQ(study.title, "A study");
  ASSERT_EQ(study.figures.size(), 1u);
  const StudyFigure& figure = study.figures[0];
  EXPECT_EQ(figure.form, FigureForm::kLines);
  EXPECT_EQ(figure.points_are, "size");
  ASSERT_EQ(figure.groups.size(), 2u);
  ASSERT_EQ(figure.groups[0].points.size(), 2u);
  const StudyPoint& second = figure.groups[0].points[1];
  EXPECT_EQ(second.label, "8");
  EXPECT_EQ(second.config, folder_.path() / "sub/b.yaml");
  EXPECT_THAT(second.settings, ElementsAre("seed=1", "ports.count=4", "fabric.levels[0].count=2", "name='x y'",
                                           "workload.generate={kind: mlp, list: [1, 2]}", "ports.count=8"));
  ASSERT_EQ(figure.groups[1].points.size(), 1u);
  EXPECT_EQ(figure.groups[1].points[0].config, folder_.path() / "a.yaml");
  EXPECT_EQ(figure.groups[1].points[0].settings.back(), "a=null");
}

TEST_F(StudyFileTest, WhatIsWrongHasAPlace) {
  EXPECT_THAT(error_of("name: s\nfigures: []\n"), HasSubstr("needs the key 'title'"));
  EXPECT_THAT(error_of("name: s\ntitle: t\nfigure: []\n"), HasSubstr("study.yaml:3"));
  EXPECT_THAT(error_of("name: s\ntitle: t\nfigures: []\n"), HasSubstr("at least one"));
  const std::string begin = kBegin;
  EXPECT_THAT(error_of(begin + "    groups:\n      - {label: a, points: [{label: 1}]}\n"), HasSubstr("no 'config'"));
  EXPECT_THAT(error_of(begin + "    groups:\n      - {label: a, ponts: []}\n"), HasSubstr("points"));
  EXPECT_THAT(error_of(begin + "    config: c\n    groups:\n      - {label: a}\n"),
              HasSubstr("needs the key 'points'"));
  EXPECT_THAT(error_of(begin + "    config: c\n    groups:\n      - {label: a, points: [{label: 1}, {label: 1}]}\n"),
              HasSubstr("two labels '1'"));
  EXPECT_THAT(error_of(begin + "    form: pie\n    groups: []\n"), HasSubstr("bars, lines"));
  EXPECT_THAT(error_of("name: s\ntitle: t\nset: 3\nfigures: [{}]\n"), HasSubstr("study.yaml:3"));
}

}  // namespace
}  // namespace rankwire
