#include "emulator/input/units.h"

#include <gmock/gmock.h>

#include <functional>

#include "base/random.h"

namespace rankwire {
namespace {

std::string reason(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const ValueError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Quantity, DecimalAndBinaryPrefixesDiffer) {
  EXPECT_EQ(parse_quantity("1MB", kSizeScale), 1'000'000);
  EXPECT_EQ(parse_quantity("1MiB", kSizeScale), 1'048'576);
  EXPECT_EQ(parse_quantity("3TB", kSizeScale), 3'000'000'000'000);
  EXPECT_EQ(parse_quantity("2TiB", kSizeScale), 2'199'023'255'552);
  EXPECT_EQ(parse_quantity("400Gbps", kRateScale), 400'000'000'000);
  EXPECT_EQ(parse_quantity("312Tflops", kFlopsScale), 312'000'000'000'000);
}

TEST(Quantity, DecimalsAreExact) {
  EXPECT_EQ(parse_quantity("1.5us", kDurationScale), 1'500'000);
  EXPECT_EQ(parse_quantity("0.000001us", kDurationScale), 1);
  EXPECT_EQ(parse_quantity("1.5KiB", kSizeScale), 1'536);
  EXPECT_EQ(parse_quantity("2.00B", kSizeScale), 2);
  EXPECT_EQ(parse_quantity("0.0009765625KiB", kSizeScale), 1);  // 2^-10
}

TEST(Quantity, RefusesWhatIsNotWhole) {
  EXPECT_EQ(reason([] { parse_quantity("1.5B", kSizeScale); }), "'1.5B' is not a whole number of bytes");
  EXPECT_EQ(reason([] { parse_quantity("0.1KiB", kSizeScale); }), "'0.1KiB' is not a whole number of bytes");
  EXPECT_EQ(reason([] { parse_quantity("0.0001ns", kDurationScale); }),
            "'0.0001ns' is not a whole number of picoseconds");
}

TEST(Quantity, RefusesMissingAndUnknownUnits) {
  EXPECT_EQ(reason([] { parse_quantity("100", kRateScale); }), "'100' has no unit; write for example 100Gbps");
  EXPECT_EQ(reason([] { parse_quantity("0", kDurationScale); }), "'0' has no unit; write for example 0us");
  EXPECT_EQ(reason([] { parse_quantity("1gbps", kRateScale); }),
            "'1gbps' has the unknown unit 'gbps'; the units are bps, Kbps, Mbps, Gbps, Tbps");
  for (const char* text : {"", "-us", "+1us", ".5us", "1.us", "us", " 1us"}) {
    EXPECT_THAT(reason([&] { parse_quantity(text, kDurationScale); }),
                ::testing::HasSubstr("is not a number with a unit"))
        << text;
  }
}

TEST(Quantity, RefusesWhatIsBelowZero) {
  for (const char* text : {"-1us", "-0.5us", "-.5us", "-1"})
    EXPECT_EQ(reason([&] { parse_quantity(text, kDurationScale); }), fmt::format("'{}' is negative", text));
  EXPECT_EQ(reason([] { parse_integer("-1"); }), "'-1' is negative");
}

TEST(Quantity, StopsAtTheLargestInteger) {
  // 2^63 - 1 ps = 9223372.036854775807 s
  EXPECT_EQ(parse_quantity("9223372.036854775807s", kDurationScale), INT64_MAX);
  EXPECT_EQ(reason([] { parse_quantity("9223372.036854775808s", kDurationScale); }),
            "'9223372.036854775808s' is too large");
  EXPECT_EQ(reason([] { parse_quantity("9999999999999999999999999999B", kSizeScale); }),
            "'9999999999999999999999999999B' has too many digits");
}

TEST(Quantity, PrintsTheLargestUnitWithoutDecimals) {
  EXPECT_EQ(print_quantity(0, kSizeScale), "0B");
  EXPECT_EQ(print_quantity(1'048'576, kSizeScale), "1MiB");
  EXPECT_EQ(print_quantity(1'500'000, kDurationScale), "1500ns");
  EXPECT_EQ(print_quantity(1'000'000'000'000, kRateScale), "1Tbps");
}

TEST(Quantity, PrintsWhatReadsTheSame) {
  Random random(7);
  for (const UnitScale* scale : {&kSizeScale, &kDurationScale, &kRateScale, &kFlopsScale}) {
    for (int i = 0; i < 1'000; ++i) {
      const int64_t value = static_cast<int64_t>(random.next() >> (1 + random.below(63)));
      ASSERT_EQ(parse_quantity(print_quantity(value, *scale), *scale), value);
    }
  }
}

TEST(Fraction, IsAWholeNumberOrTwo) {
  const Scale scale = parse_fraction("3/64");
  EXPECT_EQ(scale.numerator, 3);
  EXPECT_EQ(scale.denominator, 64);
  EXPECT_EQ(print_fraction(scale), "3/64");
  EXPECT_EQ(print_fraction(parse_fraction("2")), "2");
  for (const char* text : {"0", "1/0", "0/1", "-1", "1/", "/2", "0.5", "1/2/3", "2000000000", ""}) {
    EXPECT_THAT(reason([&] { parse_fraction(text); }), ::testing::HasSubstr("is not a fraction")) << text;
  }
}

TEST(Share, IsReadToPartsPerMillion) {
  EXPECT_EQ(parse_share("1%"), 10'000u);
  EXPECT_EQ(parse_share("0.1%"), 1'000u);
  EXPECT_EQ(parse_share("0.0001%"), 1u);
  EXPECT_EQ(parse_share("100ppm"), 100u);
  EXPECT_EQ(parse_share("100%"), 1'000'000u);
  EXPECT_EQ(reason([] { parse_share("101%"); }), "'101%' is more than 100%");
  EXPECT_EQ(reason([] { parse_share("0.00001%"); }), "'0.00001%' is not a whole number of parts per million");
  EXPECT_EQ(reason([] { parse_share("1"); }), "'1' has no unit; write for example 1%");
  for (uint32_t parts : {0u, 1u, 10u, 123'456u, 10'000u, 1'000'000u}) EXPECT_EQ(parse_share(print_share(parts)), parts);
  EXPECT_EQ(print_share(1'000), "0.1%");
}

TEST(WholeNumber, TakesDigitsOnly) {
  EXPECT_EQ(parse_integer("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(reason([] { parse_integer("18446744073709551616"); }), "'18446744073709551616' is too large");
  for (const char* text : {"", "-", "+1", "1e3", "0x10", "1.0", "1 "}) {
    EXPECT_THAT(reason([&] { parse_integer(text); }), ::testing::HasSubstr("is not a whole number")) << text;
  }
}

}  // namespace
}  // namespace rankwire
