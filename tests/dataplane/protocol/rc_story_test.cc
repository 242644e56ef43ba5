// The stories that fuzzing has found worth keeping, and random ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/random.h"
#include "tests/fuzz/rc_state.h"

namespace rankwire {
namespace {

TEST(RcStory, Corpus) {
  size_t stories = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RANKWIRE_SOURCE "/tests/fuzz/corpus/rc_state")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    const std::vector<uint8_t> story(text.begin(), text.end());
    EXPECT_STREQ(play_rc_story(story), nullptr) << entry.path();
    ++stories;
  }
  EXPECT_GT(stories, 0u);
}

TEST(RcStory, Random) {
  Random random(1);
  std::vector<uint8_t> story;
  for (int i = 0; i < 5000; ++i) {
    story.resize(random.below(400));
    for (uint8_t& byte : story) byte = static_cast<uint8_t>(random.next());
    ASSERT_STREQ(play_rc_story(story), nullptr) << i;
  }
}

}  // namespace
}  // namespace rankwire
