// T2: the transport of the Ultra Ethernet Consortium, which rankwire does not speak: named, so that a report is not
// taken for one of all categories.
#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/outcome.h"

namespace rankwire {
namespace {

std::string lacks_transport(const BmwgBench&, const BmwgParameters&) {
  return "rankwire speaks RoCEv2, and not the transport of the Ultra Ethernet Consortium";
}

double no_time(const BmwgBench&, const BmwgParameters&) {
  return 0;
}

void nothing(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  outcome.anomaly(lacks_transport(bench, parameters));
}

}  // namespace

std::vector<BmwgTest> bmwg_ultra_ethernet_tests() {
  return {{"T2.ultra_ethernet",
           "category 2, the Ultra Ethernet transport",
           "nothing",
           "not judged",
           "draft-calabria-bmwg-ai-fabric-training-bench-03, the category of UET",
           "a generator that speaks UET, which rankwire is not: always skipped",
           {},
           lacks_transport,
           no_time,
           nothing}};
}

}  // namespace rankwire
