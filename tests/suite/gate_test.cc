#include "emulator/suite/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "emulator/suite/case_text.h"
#include "emulator/suite/metric_unit.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Json gated_document() {
  return Json::parse(R"({
    "verdict": "ok", "reason": "", "rankwire": {"version": "1"}, "ratio": 1.05, "completion_time_ps": 2000000000,
    "completion": {"base_ps": {"base": 5000}}, "bytes_wire": 1048576, "fidelity": "ok", "collective": null,
    "losses": {"ppm": 10}, "operations": {"all_reduce": {"busbw_gbps": 80}}, "storms": [],
    "ports": [{"name": "p0", "rx_missed": 1, "rx_bytes": 10}, {"name": "p1", "rx_missed": 4, "rx_bytes": 30}],
    "limits": [{"name": "ratio", "is_kept": true, "text": "limits.ratio: 1.05, at most 1.1"}]})");
}

GateResult only_result(const std::string& line, const Json& document = gated_document()) {
  return check_gates(parse_gates(line, "gates"), document).at(0);
}

std::string gate_error(const std::string& text) {
  try {
    check_gates(parse_gates(text, "gates"), gated_document());
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kInput ? error.what() : "another kind";
  }
  return "none";
}

// 1.05 of the median is 1.02 of the late end of the band and 1.08 of the early one: between them nobody can tell.
TEST(Gates, OfTheRatioAreAsWideAsTheBand) {
  Json document = gated_document();
  document["reference"]["band"] = {{"ratio_low", 1.02}, {"ratio_high", 1.08}};
  for (const auto& [gate, verdict] :
       {std::pair("ratio <= 1.01", CaseVerdict::kFail), std::pair("ratio <= 1.04", CaseVerdict::kInconclusive),
        std::pair("ratio <= 1.06", CaseVerdict::kInconclusive), std::pair("ratio <= 1.08", CaseVerdict::kPass),
        std::pair("ratio >= 1.04", CaseVerdict::kInconclusive)})
    EXPECT_EQ(only_result(gate, document).verdict, verdict) << gate;
  EXPECT_THAT(only_result("ratio <= 1.04", document).text, HasSubstr("but 1.02 .. 1.08 over the reference's band"));
}

TEST(GateFile, TakesLinesCommentsAndYaml) {
  const std::vector<Gate> gates = parse_gates(
      "# all\n\ngates:\n- \"ratio <= 1.1\"\n - max(ports[*].rx_missed)<5 # few\noperations[layer#].time > 1us\n", "g");
  ASSERT_EQ(gates.size(), 3u);
  EXPECT_EQ(gates[0].text, "ratio <= 1.1");
  EXPECT_EQ(gates[0].origin, "g:4");
  EXPECT_EQ(gates[1].function, "max");
  EXPECT_EQ(gates[1].path, "ports[*].rx_missed");
  EXPECT_EQ(gates[1].comparison, "<");
  EXPECT_EQ(gates[1].bound, "5");
  EXPECT_EQ(gates[2].unit, "us");
}

TEST(GateFile, TakesAListInBrackets) {
  const std::vector<Gate> gates =
      parse_gates("---\ngates: [\"ratio <= 2\", max(ports[*].rx_missed) < 5, 'losses.ppm <= 10'] # all\n", "g");
  ASSERT_EQ(gates.size(), 3u);
  EXPECT_EQ(gates[0].text, "ratio <= 2");
  EXPECT_EQ(gates[1].path, "ports[*].rx_missed");
  EXPECT_EQ(gates[2].text, "losses.ppm <= 10");
  EXPECT_EQ(gates[2].origin, "g:2");
  EXPECT_THAT(gate_error("# one\ngates: ratio <= 2\n"), HasSubstr("gates:2: 'gates: ratio <= 2' is no list"));
  EXPECT_THAT(gate_error("gates: [\"ratio <= 2\",\n"), HasSubstr("right is 'gates: [\"ratio <= 2\"]'"));
  EXPECT_THAT(gate_error("gates: []"), HasSubstr("has no gates"));
}

TEST(Gates, OfOperationsNeedThem) {
  Json bare = Json::parse(R"({"verdict": "ok", "ratio": 1, "operations": {}, "critical_path": null,
                              "config": {"record": {"operations": "none"}}})");
  EXPECT_EQ(only_result("ratio <= 1", bare).verdict, CaseVerdict::kPass);
  for (const char* gate : {"operations.all_reduce.p99 < 1s", "critical_path.time < 1s", "count(operations) > 0"}) {
    try {
      only_result(gate, bare);
      ADD_FAILURE() << gate;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("needs 'record.operations: all'"));
    }
  }
  bare["config"]["record"]["operations"] = "all";
  EXPECT_EQ(only_result("critical_path.time < 1s", bare).verdict, CaseVerdict::kFail);
}

TEST(GateFile, NamesTheLineOfWhatIsWrong) {
  EXPECT_THAT(gate_error("ratio <= 1\nratio"), HasSubstr("gates:2: 'ratio' needs a figure"));
  EXPECT_THAT(gate_error("ratio = 1"), HasSubstr("compares by"));
  EXPECT_THAT(gate_error("ratio <= high"), HasSubstr("no number"));
  EXPECT_THAT(gate_error("ratio <="), HasSubstr("has no bound"));
  EXPECT_THAT(gate_error("median(ratio) <= 1"), HasSubstr("none of max, min"));
  EXPECT_THAT(gate_error("ports[.x <= 1"), HasSubstr("no path"));
  EXPECT_THAT(gate_error("# nothing\n"), HasSubstr("has no gates"));
}

TEST(Gate, ComparesInItsOwnUnit) {
  // 2 000 000 000 ps are 2 ms.
  EXPECT_EQ(only_result("completion_time <= 2 ms").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("completion_time < 2 ms").verdict, CaseVerdict::kFail);
  EXPECT_EQ(only_result("completion_time_ps == 2000000000").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("completion_time > 1999 us").text, "completion_time_ps: 2000 us, above 1999 us");
  EXPECT_EQ(only_result("bytes_wire >= 1 MiB").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("bytes_wire < 1.1 MB").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("operations.all_reduce.busbw >= 0.08 Tbit/s").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("operations.all_reduce.busbw_gbps >= 81 Gbps").text,
            "operations.all_reduce.busbw_gbps: 80 Gbps is below 81 Gbps");
  EXPECT_EQ(only_result("losses.ppm <= 0.001 %").verdict, CaseVerdict::kPass) << "10 of 10^6";
  EXPECT_EQ(only_result("ratio <= 105 %").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("completion.base.base == 5 ns").verdict, CaseVerdict::kPass) << "the parent has the unit";
}

TEST(Gate, KnowsTheUnitsOfItsFigure) {
  EXPECT_THAT(gate_error("completion_time <= 2 MiB"), HasSubstr("not in MiB, but in one of ps, ns, us, ms, s"));
  EXPECT_THAT(gate_error("ports.p0.rx_missed == 0 frames"), HasSubstr("is a bare number"));
  EXPECT_EQ(units_in("transport.naks", ""), 1);
  EXPECT_EQ(units_in("slow.reference_s", "ms"), 1e-3);
}

TEST(Gate, ReachesIntoArrays) {
  EXPECT_EQ(only_result("ports[*].rx_missed <= 3").text, "ports[1].rx_missed: 4 is above 3");
  EXPECT_EQ(only_result("ports[*].rx_missed >= 1").text, "ports[0].rx_missed: 1, at least 1");
  EXPECT_EQ(only_result("ports[*].rx_missed == 1").verdict, CaseVerdict::kFail);
  EXPECT_EQ(only_result("min(ports[*].rx_missed) == 1").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("sum(ports[*].rx_bytes) == 40 B").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("mean(ports[*].rx_missed) == 2.5").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("ports.p1.rx_missed == 4").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("ports[0].rx_missed == 1").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("count(storms[*]) == 0").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("sum(storms[*].dropped) == 0").verdict, CaseVerdict::kPass);
}

TEST(Gate, CountsTheElementsOfAList) {
  EXPECT_EQ(only_result("count(ports) == 2").text, "count(ports): 2, equal to 2");
  EXPECT_EQ(only_result("count(ports[*]) == 2").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("count(storms) == 0").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("count(losses) == 1").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("count(collective) == 1").text, "collective: the run has no such figure");
}

TEST(Gate, ComparesWords) {
  EXPECT_EQ(only_result("fidelity == ok").verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("fidelity != ok").text, "fidelity: ok is ok");
  EXPECT_EQ(only_result("ports[*].name == p0").text, "ports[1].name: p1 is not p0");
}

TEST(Gate, NamesTheNearestFigure) {
  EXPECT_THAT(gate_error("losses.pmp <= 1"),
              HasSubstr("gates:1: 'losses.pmp': losses has no 'pmp'; did you mean 'ppm'?"));
  EXPECT_THAT(gate_error("ports.p7.rx_missed == 0"), HasSubstr("did you mean 'p"));
  EXPECT_THAT(gate_error("ports[2].rx_missed == 0"), HasSubstr("ports has 2 elements"));
  EXPECT_THAT(gate_error("losses.everything <= 1"), HasSubstr("it has ppm"));
  EXPECT_THAT(gate_error("losses <= 1"), HasSubstr("a group of figures, not a number"));
  EXPECT_THAT(gate_error("ratio.high <= 1"), HasSubstr("ratio is a value"));
}

TEST(Gate, WithoutItsFigureIsAsGoodAsItsRun) {
  Json document = gated_document();
  EXPECT_EQ(only_result("collective.busbw >= 1", document).verdict, CaseVerdict::kFail);
  document["verdict"] = "inconclusive";
  EXPECT_EQ(only_result("collective.busbw >= 1", document).verdict, CaseVerdict::kInconclusive);
  // What ended early may lack whole groups, of which nothing is known then.
  document["verdict"] = "failed";
  EXPECT_EQ(only_result("elsewhere.busbw >= 1", document).verdict, CaseVerdict::kFail);
}

TEST(Gate, IsUnclearWithinWhatTheGeneratorAdds) {
  Json document = gated_document();
  document["certification"] = {{"resolvable", 0.1}};
  EXPECT_EQ(only_result("ratio <= 1", document).verdict, CaseVerdict::kInconclusive) << "5 % of 10 %";
  EXPECT_EQ(only_result("ratio <= 1.1", document).verdict, CaseVerdict::kInconclusive);
  EXPECT_EQ(only_result("ratio <= 0.9", document).verdict, CaseVerdict::kFail);
  EXPECT_EQ(only_result("ratio <= 1.2", document).verdict, CaseVerdict::kPass);
  EXPECT_EQ(only_result("ports.p1.rx_missed == 4", document).verdict, CaseVerdict::kPass) << "counted, not timed";
}

// 1.05 times the reference of 100 us: the gap is 5 us, and 4 us are above 1.01.
TEST(Gate, OfTheRatioIsUnclearWhereLatenessExplainsIt) {
  Json document = gated_document();
  document["emulated"]["completion_time_ps"] = 105'000'000;
  const auto verdict = [&](int64_t late) {
    document["diagnosis"]["gap"] = {{"generator_ps", late}};
    return only_result("ratio <= 1.01", document).verdict;
  };
  EXPECT_EQ(verdict(4'100'000), CaseVerdict::kInconclusive) << "all that is above the bound";
  EXPECT_EQ(verdict(2'600'000), CaseVerdict::kInconclusive) << "most of the gap";
  EXPECT_THAT(only_result("ratio <= 1.01", document).text, HasSubstr("and that is most of the gap"));
  EXPECT_EQ(verdict(2'400'000), CaseVerdict::kFail) << "half of it is the device's";
  EXPECT_EQ(only_result("ratio >= 1.1", document).verdict, CaseVerdict::kFail);
}

TEST(Gates, GiveTheStatusOfTheWorst) {
  Json document = gated_document();
  document["certification"] = {{"resolvable", 0.1}};
  const auto status = [&](const std::string& text) {
    return exit_status(check_gates(parse_gates(text, "g"), document));
  };
  EXPECT_EQ(status("fidelity == ok"), 0);
  EXPECT_EQ(status("fidelity == ok\nratio <= 1"), 3);
  EXPECT_EQ(status("ratio <= 1\nfidelity != ok"), 1);
}

TEST(Gates, AreTestsOfASuiteBehindTheVerdictAndTheLimits) {
  const std::vector<GateResult> results =
      check_gates(parse_gates("ratio <= 1\nlosses.ppm <= 10", "g"), gated_document());
  const SuiteResult suite = gates_suite("name", gated_document(), results);
  ASSERT_EQ(suite.cases.size(), 4u);
  EXPECT_EQ(suite.cases[0].id, "verdict");
  EXPECT_EQ(suite.cases[1].id, "limits.ratio");
  EXPECT_EQ(suite.cases[1].outcome.verdict, CaseVerdict::kPass);
  EXPECT_EQ(suite.cases[2].outcome.verdict, CaseVerdict::kFail);
  EXPECT_EQ(suite.cases[2].outcome.measurements.at(0).high, 1);
  EXPECT_EQ(suite.cases[3].source, "g:2");
  const std::vector<GateResult> strict = check_gates(parse_gates("ratio < 1.2\nratio > 1", "g"), gated_document());
  const SuiteResult open = gates_suite("name", gated_document(), strict);
  EXPECT_EQ(measurement_text(open.cases.at(2).outcome.measurements.at(0)), "1.05, expected less than 1.2");
  EXPECT_EQ(measurement_text(open.cases.at(3).outcome.measurements.at(0)), "1.05, expected more than 1");
  Json stalled = gated_document();
  stalled["verdict"] = "stalled";
  EXPECT_EQ(gates_suite("name", stalled, {}).cases[0].outcome.verdict, CaseVerdict::kFail);
}

TEST(Gates, OfTwoRunsEndAsTheWorseOfThem) {
  Json document = {{"verdict", {{"base", "ok"}, {"other", "failed"}}}, {"ratio", nullptr}};
  EXPECT_EQ(gates_suite("compare", document, {}).cases[0].outcome.reason, "failed");
  EXPECT_EQ(only_result("ratio <= 1", document).verdict, CaseVerdict::kFail);
}

}  // namespace
}  // namespace rankwire
