#include "emulator/engine/node_places.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

constexpr PlaceKind kCompute = PlaceKind::kCompute, kHost = PlaceKind::kHost;

TEST(NodePlaces, TheLowestIdTakesAFreePlaceFirst) {
  NodePlaces places(2, 1, 8);
  for (const uint64_t id : {30u, 10u, 20u}) places.push(kCompute, id, static_cast<uint32_t>(id + 1));
  const uint32_t first = places.next(kCompute);
  EXPECT_EQ(first, 11u);
  const uint32_t place = places.enter({.node = first, .kind = kCompute, .start = Time() + microseconds(5)});
  EXPECT_EQ(places.next(kCompute), 21u);
  places.enter({.node = 21, .kind = kCompute, .start = Time()});
  EXPECT_EQ(places.next(kCompute), NodePlaces::kNone) << "both places are taken";
  const NodePlaces::Running ended = places.leave(place);
  EXPECT_EQ(ended.node, 11u);
  EXPECT_EQ(ended.start, Time() + microseconds(5));
  EXPECT_EQ(places.next(kCompute), 31u);
}

TEST(NodePlaces, WhatTakesNoTimeTakesNoPlace) {
  NodePlaces places(1, 1, 8);
  for (const uint32_t id : {1u, 2u}) places.push(kCompute, id, id);
  EXPECT_EQ(places.next(kCompute), 1u);
  EXPECT_EQ(places.next(kCompute), 2u) << "the first has not entered";
  EXPECT_EQ(places.next(kCompute), NodePlaces::kNone) << "nobody waits";
}

TEST(NodePlaces, TheHostHasPlacesOfItsOwn) {
  NodePlaces places(1, 2, 8);
  for (const uint32_t id : {1u, 2u, 3u}) places.push(kHost, id, id);
  places.push(kCompute, 4, 4);
  const uint32_t first = places.enter({.node = places.next(kHost), .kind = kHost, .start = Time()});
  const uint32_t second = places.enter({.node = places.next(kHost), .kind = kHost, .start = Time()});
  EXPECT_NE(first, second);
  EXPECT_EQ(places.next(kHost), NodePlaces::kNone);
  const uint32_t compute = places.enter({.node = places.next(kCompute), .kind = kCompute, .start = Time()});
  EXPECT_EQ(places.leave(compute).node, 4u);
  EXPECT_EQ(places.next(kHost), NodePlaces::kNone) << "a place for computing is none on the host";
  EXPECT_EQ(places.leave(second).node, 2u);
  EXPECT_EQ(places.next(kHost), 3u);
}

}  // namespace
}  // namespace rankwire
