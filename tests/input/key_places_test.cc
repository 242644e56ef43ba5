#include "emulator/input/key_places.h"

#include <gtest/gtest.h>

#include <fstream>

#include "emulator/input/tree.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

class KeyPlacesTest : public ::testing::Test {
 protected:
  KeyPlacesTest() {
    std::ofstream(file_) << "name: x\n"
                            "collectives:\n"
                            "  chunk: 1KiB\n"
                            "jobs:\n"
                            "  - name: a\n"
                            "  - name: b\n"
                            "    collectives:\n"
                            "      channels: 2\n"
                            "mapping:\n"
                            "  ranks:\n"
                            "    - {rank: 0}\n"
                            "    - {rank: 1}\n";
  }
  /// With FILE for the file.
  std::string of(const std::string& key) const { return shown(KeyPlaces(read_yaml_file(file_)).of(key)); }
  std::string located(const std::string& text) const { return shown(KeyPlaces(read_yaml_file(file_)).located(text)); }
  std::string shown(std::string text) const {
    const size_t at = text.find(file_);
    return at == std::string::npos ? text : text.replace(at, file_.size(), "FILE");
  }

  const testing::TemporaryFolder folder_;
  const std::string file_ = folder_ / "run.yaml";
};

TEST_F(KeyPlacesTest, AKeyStandsWhereItIsWritten) {
  EXPECT_EQ(of("name"), "FILE:1: name");
  EXPECT_EQ(of("collectives.chunk"), "FILE:3: collectives.chunk");
  EXPECT_EQ(of("jobs[1].collectives.channels"), "FILE:8: jobs[1].collectives.channels");
}

TEST_F(KeyPlacesTest, AKeyThatIsNotWrittenStandsAtTheNearestAbove) {
  EXPECT_EQ(of("collectives.channels"), "FILE:2: collectives.channels");
  EXPECT_EQ(of("jobs[0].collectives.chunk"), "FILE:5: jobs[0].collectives.chunk");
  EXPECT_EQ(of("run.cpu"), "FILE:1: run.cpu");
}

// Of 131072 ranks none has a line of its own.
TEST_F(KeyPlacesTest, WhatIsInAListOfASectionStandsAtTheList) {
  EXPECT_EQ(of("mapping.ranks[1].rank"), "FILE:10: mapping.ranks[1].rank");
}

TEST_F(KeyPlacesTest, OfNoFileTheKeyIsLeft) {
  EXPECT_EQ(KeyPlaces().of("run.cpu"), "run.cpu");
  EXPECT_EQ(KeyPlaces().located("hosts: are too few"), "hosts: are too few");
}

TEST_F(KeyPlacesTest, TextsThatBeginWithAKeyAreLocated) {
  EXPECT_EQ(located("mapping.ranks: rank 2 is missing"), "FILE:10: mapping.ranks: rank 2 is missing");
  EXPECT_EQ(located("jobs: 3 are too many: two"), "FILE:4: jobs: 3 are too many: two");
  for (const char* other : {"there is no rank 2", "rank 2 of job a: is missing", "other.yaml:3: name: is long"})
    EXPECT_EQ(located(other), other);
}

TEST_F(KeyPlacesTest, SettingsStandWhereTheyAreGiven) {
  Tree root = read_yaml_file(file_);
  apply_setting(root, "run.cpu=3");
  EXPECT_EQ(KeyPlaces(root).of("run.cpu"), "--set run.cpu=3: run.cpu");
}

}  // namespace
}  // namespace rankwire
