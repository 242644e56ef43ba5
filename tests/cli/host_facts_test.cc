#include "emulator/cli/host_facts.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

TEST(HostFacts, TakeTheNameOfTheProcessorWhereThereIsOne) {
  EXPECT_EQ(processor_name("processor\t: 0\nmodel\t\t: 85\nmodel name\t: A (B) @ 2 GHz\nstepping\t: 4\n"),
            "A (B) @ 2 GHz");
  EXPECT_EQ(processor_name("processor\t: 0\nBogoMIPS\t: 50.00\n"), "");
  EXPECT_EQ(processor_name("model name"), "");
}

}  // namespace
}  // namespace rankwire
