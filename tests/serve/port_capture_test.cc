#include "emulator/serve/port_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Words in the byte order of this machine, as the section header of pcapng tells.
template <class... Words>
std::string words(Words... all) {
  std::string bytes;
  for (const uint32_t word : {static_cast<uint32_t>(all)...})
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  return bytes;
}

std::string block(uint32_t type, const std::string& body) {
  const size_t length = body.size() + 12;
  return words(type, length) + body + words(length);
}

std::string section() {
  return block(0x0A0D0D0A, words(0x1A2B3C4D, 1, ~0u, ~0u));
}

/// Option 2 is the name of an interface, 9 its resolution of times: 10^-12 s. Names have four letters here.
std::string interface(const std::string& name, uint32_t snap_length) {
  return block(1, words(1, snap_length, 2 | 4 << 16) + name + words(9 | 1 << 16, 12, 0));
}

/// `direction`: 1 in, 2 out; of a frame that is `frame`, whose length is a multiple of four.
std::string packet(uint32_t interface, uint64_t at, uint32_t direction, const std::string& frame,
                   uint32_t length_on_wire) {
  return block(6,
               words(interface, at >> 32, at, frame.size(), length_on_wire) + frame + words(2 | 4 << 16, direction, 0));
}

class PortCaptureTest : public ::testing::Test {
 protected:
  std::string read(const CaptureSettings& settings, const CaptureSelection& selection = {}) {
    std::ofstream(folder_.path() / "c", std::ios::binary) << content_;
    return read_port_capture(folder_.path() / "c", "s.p1", "p1.x", settings, selection).file;
  }

  const testing::TemporaryFolder folder_;
  std::string content_ = section() + interface("s.p0", 128) + interface("s.p1", 128) + packet(0, 1, 1, "zzzz", 4) +
                         packet(1, 5'000, 1, "aaaaAAAA", 100) + packet(1, (uint64_t{3} << 32) + 7, 2, "bbbb", 4) +
                         packet(1, ~uint64_t{0}, 2, "cccc", 4);
};

TEST_F(PortCaptureTest, HasOnePortsFramesAsThatPortSeesThem) {
  // What the switch's port received the generator's sent.
  const std::string all = section() + interface("p1.x", 65535) + packet(0, 5'000, 2, "aaaaAAAA", 100) +
                          packet(0, (uint64_t{3} << 32) + 7, 1, "bbbb", 4) + packet(0, ~uint64_t{0}, 1, "cccc", 4);
  EXPECT_EQ(read({.is_pcapng = true}), all);
  // One that is being written.
  content_ += packet(1, ~uint64_t{0}, 2, "dddd", 4).substr(0, 20);
  EXPECT_EQ(read({.is_pcapng = true}), all);
  content_.clear();
  EXPECT_EQ(read({.is_pcapng = true}), section() + interface("p1.x", 65535));
}

TEST_F(PortCaptureTest, SelectsByTimeAndNumberAndCutsFrames) {
  const std::string head = section() + interface("p1.x", 65535);
  const std::string second = packet(0, (uint64_t{3} << 32) + 7, 1, "bbbb", 4);
  EXPECT_EQ(read({.is_pcapng = true}, {.from = 5'001, .to = uint64_t{4} << 32}), head + second);
  EXPECT_EQ(read({.is_pcapng = true}, {.first = 2, .most = 1}), head + second);
  EXPECT_EQ(read({.packet_size = 4, .is_pcapng = true}, {.most = 1}),
            section() + interface("p1.x", 4) + packet(0, 5'000, 2, "aaaa", 100));
  EXPECT_EQ(read({.filters = {{0, "01100010", false}}, .is_pcapng = true}), head + second);
}

TEST_F(PortCaptureTest, PcapHasNanoseconds) {
  content_ = section() + interface("s.p1", 128) + packet(0, 2'000'000'123'456, 1, "aaaa", 60);
  // Magic, version 2.4, neither time zone nor accuracy, 65535 bytes of each, Ethernet; 2 s and 123 ns.
  EXPECT_EQ(read({}), words(0xA1B23C4D, 2 | 4 << 16, 0, 0, 65535, 1) + words(2, 123, 4, 60) + "aaaa");
}

std::vector<FrameField> filters_of(const Json& filters, RequestErrors& errors) {
  const Json capture{{"filters", filters}};
  JsonReader reader(capture, "captures[0]", errors);
  return read_capture_filters(reader);
}

bool passes(std::vector<Json> filters, const std::string& frame) {
  RequestErrors errors;
  const std::vector<FrameField> fields = filters_of(Json(std::move(filters)), errors);
  EXPECT_THAT(errors, IsEmpty());
  return std::all_of(fields.begin(), fields.end(), [&](const FrameField& field) { return field.matches(frame); });
}

TEST(CaptureFilter, FieldsOfHeadersAreCompared) {
  // Ethernet of 14 bytes: destination, source, type; IPv4 with type of service 0x68, TTL 64, UDP, 10.0.0.2 to 10.0.0.3.
  std::string frame("\x02\x00\x00\x00\x00\x0b\x02\x00\x00\x00\x00\x0a\x08\x00", 14);
  frame += std::string("\x45\x68\x00\x40\x00\x00\x40\x00\x40\x11\x00\x00\x0a\x00\x00\x02\x0a\x00\x00\x03", 20);
  const auto field = [](const char* header, const char* name, const char* value, bool negate = false) {
    return Json{{"choice", header}, {header, {{name, {{"value", value}, {"mask", "00"}, {"negate", negate}}}}}};
  };
  EXPECT_TRUE(passes({}, frame));
  EXPECT_TRUE(passes({field("ethernet", "src", "02000000000a")}, frame));
  EXPECT_FALSE(passes({field("ethernet", "dst", "02000000000A")}, frame));
  EXPECT_TRUE(passes({field("ethernet", "dst", "02000000000A", true)}, frame));
  EXPECT_TRUE(passes({field("ipv4", "dst", "0a000003"), field("ipv4", "protocol", "11")}, frame));
  EXPECT_FALSE(passes({field("ipv4", "dst", "0a000003"), field("ipv4", "protocol", "06")}, frame));
  // The second bit of the flags: not in pieces. As a number it is 1, however it is written.
  EXPECT_TRUE(passes({field("ipv4", "dont_fragment", "01")}, frame));
  EXPECT_TRUE(passes({field("ipv4", "header_length", "5")}, frame));
  EXPECT_FALSE(passes({field("ipv6", "hop_limit", "40", true)}, frame)) << "no IPv6";
  EXPECT_FALSE(passes({field("ipv4", "src", "0a000002")}, frame.substr(0, 20))) << "too short";
  // The upper six bits of byte 15: DSCP 26 of 0x68.
  EXPECT_TRUE(passes({Json{{"custom", {{"offset", 120}, {"bit_length", 6}, {"value", "1a"}}}}}, frame));
}

TEST(CaptureFilter, WhatHasNoMeaningIsRefused) {
  const auto errors_of = [](const Json& filters) {
    RequestErrors errors;
    filters_of(filters, errors);
    return errors;
  };
  EXPECT_THAT(errors_of({{{"choice", "vlan"}, {"vlan", {{"id", {{"value", "01"}}}}}}}),
              ElementsAre(HasSubstr("filters[0].choice: 'vlan' is not served"), HasSubstr("custom: is required"),
                          HasSubstr("filters[0].vlan: is not served")));
  EXPECT_THAT(errors_of({{{"choice", "ethernet"}, {"ethernet", {{"src", {{"mask", "0f"}}}}}}}),
              ElementsAre(HasSubstr("ethernet.src.mask: is not served")));
  EXPECT_THAT(errors_of({{{"choice", "ethernet"}, {"ethernet", {{"pfc_queue", {{"value", "01"}}}}}}}),
              ElementsAre(HasSubstr("ethernet.pfc_queue: is not served")));
  EXPECT_THAT(errors_of({{{"choice", "ipv4"}, {"ipv4", {{"version", {{"value", "10"}}}}}}}),
              ElementsAre(HasSubstr("'10' is no hexadecimal number of 4 bits")));
  EXPECT_THAT(errors_of({{{"custom", {{"value", "0x1"}}}}, {{"custom", Json::object()}}}),
              ElementsAre(HasSubstr("'0x1' is no hexadecimal"), HasSubstr("first filter alone")));
}

}  // namespace
}  // namespace rankwire
