#include "converters/json_array_splitter.h"

#include <gmock/gmock.h>

#include <vector>

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Parts {
  std::vector<std::string> batches;
  std::string rest;
};

/// The document comes in parts of `length` bytes.
Parts split(const std::string& document, size_t length) {
  Parts parts;
  JsonArraySplitter splitter("k", [&](std::string& batch) { parts.batches.push_back(batch); });
  for (size_t at = 0; at < document.size(); at += length) splitter.feed(std::string_view(document).substr(at, length));
  parts.rest = splitter.finish();
  return parts;
}

TEST(JsonArraySplitter, TakesTheArrayOutWhereverThePartsEnd) {
  // Brackets, quotes and the key itself within strings and within other values are none.
  const std::string document = R"({"a": "k", "b": {"k": [1]}, "k" : [{"x": "]\"}\\"}, [2, 3], "k"], "c": [4]})";
  for (size_t length = 1; length <= document.size(); ++length) {
    const Parts parts = split(document, length);
    EXPECT_THAT(parts.batches, ElementsAre(R"([{"x": "]\"}\\"}, [2, 3], "k"])")) << length;
    EXPECT_EQ(parts.rest, R"({"a": "k", "b": {"k": [1]}, "k" : [], "c": [4]})") << length;
  }
}

TEST(JsonArraySplitter, LargeArraysComeInBatchesOfWholeElements) {
  const std::string element = '"' + std::string(700'000, 'e') + '"';
  const Parts parts = split(R"({"k":[)" + element + "," + element + "," + element + "]}", 4096);
  EXPECT_THAT(parts.batches, ElementsAre("[" + element + "," + element + "]", "[" + element + "]"));
  EXPECT_EQ(parts.rest, R"({"k":[]})");
}

TEST(JsonArraySplitter, WhatHasNoSuchArrayIsLeft) {
  for (const char* document : {R"({"k": {"k": [1]}})", R"([["k", [1]]])", R"({"k": 1, "j": [2]})", "", "}]\"["}) {
    const Parts parts = split(document, 3);
    EXPECT_THAT(parts.batches, IsEmpty()) << document;
    EXPECT_EQ(parts.rest, document);
  }
}

TEST(JsonArraySplitter, AnArrayThatDoesNotEndIsLeft) {
  const Parts parts = split(R"({"k": [{"a": 1}, {"b")", 3);
  EXPECT_THAT(parts.batches, IsEmpty());
  EXPECT_EQ(parts.rest, R"({"k": [{"a": 1}, {"b")");
}

}  // namespace
}  // namespace rankwire
