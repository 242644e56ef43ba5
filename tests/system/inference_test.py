"""An inference service from its description to the figures of its requests: in the reference, in the twin, and emulated."""

import json
import unittest

from rankwire import FAILED, OK, SOURCE, USAGE, RankwireTest, rankwire
from schemas import schema_errors


def service(**changes):
    """Two ranks that compute prompts and two that decode; 8 requests of 64 tokens, of which 5 more are made."""
    return {
        "prefill": {"tensor_parallel": 2},
        "decode": {"tensor_parallel": 2},
        "attention": {"heads": 8, "kv_heads": 4, "head_dim": 16},
        "arrivals": {"rate": 200, "requests": 8},
        "input": {"mean": 64},
        "output": {"mean": 5},
    } | changes


def configuration(inference, ranks=4, **changes):
    model = {"kind": "inference", "layers": 2, "hidden": 128, "vocabulary": 512, "inference": inference}
    return {
        "workload": {"generate": model},
        "slo": {"ttft": "1s", "tpot": "1s"},
        "hosts": {"count": ranks, "npus": 1},
        "ports": {"count": ranks, "device": "memory", "rate": "10Gbps"},
    } | changes


class Inference(RankwireTest):
    def assert_served(self, side, requests=8, tokens=5):
        self.assertEqual(side["requests"], requests)
        self.assertEqual(side["complete"], requests)
        self.assertEqual(side["output_tokens"], requests * tokens)
        self.assertEqual(side["within"], requests)
        self.assertEqual(side["attainment"], 1)
        self.assertGreater(side["ttft"]["p50_ps"], 0)
        self.assertGreaterEqual(side["latency"]["max_ps"], side["ttft"]["max_ps"])

    def test_the_doctor_finds_nothing_in_its_traces(self):
        """Prefixes of prompts are sent when requests arrive, and taken, whatever is being computed."""
        model = configuration(service(cache={"ranks": 1, "hit": "50%", "prefix": "50%"}))["workload"]["generate"]
        spec, prefix = self.folder / "service.yaml", self.folder / "service"
        spec.write_text(json.dumps(model), encoding="utf-8")
        process = rankwire("trace", "generate", spec, "--out", prefix)
        self.assertEqual(process.returncode, OK, process.stderr)
        process = rankwire("trace", "check", prefix)
        self.assertEqual(process.returncode, OK, process.stdout)
        self.assertIn(" 0 errors, 0 warnings", process.stdout)

    def test_twin_and_reference_serve_all(self):
        run = self.call("simulate", configuration(service()), "--twin")
        self.assert_delivered(run)
        requests = run.summary["requests"]
        self.assertEqual(schema_errors("summary", run.summary), [])
        for wrong in (requests, requests["emulated"]):
            wrong["unheard_of"] = 1
            self.assertNotEqual(schema_errors("summary", run.summary | {"requests": requests}), [])
            del wrong["unheard_of"]
        for side in ("emulated", "reference"):
            with self.subTest(side=side):
                self.assert_served(requests[side])
        rows = run.rows("requests")
        self.assertEqual([int(row["request"]) for row in rows], list(range(8)))
        for row in rows:
            self.assertEqual((row["input_tokens"], row["output_tokens"], row["emulated_kept"]), ("64", "5", "1"))
            # Arrivals do not wait for anybody, and are the same in both.
            self.assertEqual(row["emulated_arrival_ps"], row["reference_arrival_ps"])
            times = [int(row[f"emulated_{name}_ps"]) for name in ("arrival", "first_token", "last_token")]
            self.assertEqual(times, sorted(times))
            self.assertEqual(int(row["emulated_ttft_ps"]), times[1] - times[0])
            self.assertEqual(int(row["emulated_tpot_ps"]), (times[2] - times[1]) // 4)
        # Heads 0 and 1 from shard to shard: 2 x 2 x 16 elements x 2 bytes x 2 layers of 64 tokens, of two shards.
        sent = sum(int(row["bytes"]) for row in run.rows("operations", kind="send"))
        self.assertEqual(sent, 8 * 2 * (2 * 2 * 16 * 2 * 2 * 64))
        self.assertIn("time to first token", (run.folder / "report.html").read_text(encoding="utf-8"))

    def test_other_services(self):
        one_pool = service(mixed={"tensor_parallel": 2, "chunked": True, "max_tokens": 48, "max_requests": 8})
        del one_pool["prefill"], one_pool["decode"]
        cached = service(cache={"ranks": 1, "hit": "100%", "prefix": "50%"}, kv_transfer="layers")
        for name, inference, ranks in (("mixed", one_pool, 2), ("cached", cached, 5)):
            with self.subTest(name=name):
                run = self.call("simulate", configuration(inference, ranks), "--twin")
                self.assert_delivered(run)
                self.assert_served(run.summary["requests"]["emulated"])
                self.assertIsNone(run.summary["requests"]["held"])

    def test_requests_wait_for_memory_and_tokens_choose_experts(self):
        """A token has 2 heads x 2 x 16 elements x 2 layers x 2 bytes = 256 at a shard, and a request 64 + 5 - 1 tokens:
        there is room for one at a time, though all arrive nearly at once."""
        inference = service(
            mixed={"tensor_parallel": 2, "expert_parallel": 2, "kv_memory": f"{68 * 256}B"},
            arrivals={"rate": 1e6, "requests": 8},
        )
        del inference["prefill"], inference["decode"]
        config = configuration(inference)
        config["workload"]["generate"] |= {"experts": 4, "experts_per_token": 2, "shared_experts": 1, "dense_layers": 1}
        config["workload"]["generate"]["peak"] = "10Gflops"  # a batch then takes longer than all of them to come
        config["workload"]["generate"]["routing"] = {"popularity": "zipf", "drift": 8}
        run = self.call("simulate", config, "--twin")
        self.assert_delivered(run)
        self.assert_served(run.summary["requests"]["emulated"])
        self.assertEqual(schema_errors("summary", run.summary), [])
        # Two replicas with four requests each: all but the first of either wait, but those whose turn never came first.
        held = [int(row["held_batches"]) for row in run.rows("requests")]
        self.assertEqual(held[:2], [0, 0])
        self.assertGreaterEqual(sum(count > 0 for count in held), 3)
        self.assertEqual(
            run.summary["requests"]["held"], {"requests": sum(count > 0 for count in held), "batches": sum(held)}
        )

    def test_requests_of_a_file(self):
        (self.folder / "requests.csv").write_text(
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,40,2\n2023-11-16 18:15:46.69,20,3\n"
        )
        inference = service(arrivals={"process": "csv", "file": "requests.csv"})
        del inference["input"], inference["output"]
        run = self.call("simulate", configuration(inference))
        rows = run.rows("requests")
        self.assertEqual([(row["input_tokens"], row["output_tokens"]) for row in rows], [("40", "2"), ("20", "3")])
        self.assertEqual([int(row["reference_arrival_ps"]) for row in rows], [0, 10 * 10**9])
        (self.folder / "requests.csv").write_text("0,40,2\n1,40\n")
        process = rankwire("simulate", self.configuration(configuration(inference)), "--out", self.folder / "wrong")
        self.assert_one_line_error(process, USAGE, "requests.csv:2: '1,40' is not the time of arrival")

    def test_a_training_step_has_no_requests(self):
        step = {"workload": {"generate": {"layers": 1, "hidden": 64, "vocabulary": 100, "tensor_parallel": 1}}}
        ports = {"ports": {"count": 2, "device": "memory", "rate": "10Gbps"}}
        limited = self.configuration(step | ports | {"limits": {"ttft_p99": "1s"}})
        self.assert_one_line_error(
            rankwire("check", "--no-measure", limited), USAGE, "limits: the traces say nothing of requests"
        )
        for config, warns in ((step | ports, True), (configuration(service()), False)):
            process = rankwire("check", "--no-measure", self.configuration(config | {"slo": {"ttft": "1s"}}))
            self.assertEqual(process.returncode, OK, process.stderr)
            self.assertEqual("slo has no effect: the traces say nothing of requests" in process.stderr, warns)

    def test_limits_and_comparison(self):
        config = configuration(service(), limits={"ttft_p99": "1s", "attainment": "100%", "goodput": 1})
        self.call("simulate", config, "--twin", out="fast")
        config["ports"]["rate"] = "100Mbps"
        config["limits"] = {"ttft_p99": "1us"}
        slow = self.call("simulate", config, "--twin", out="slow", status=FAILED)
        self.assertIn("limits.ttft_p99", slow.summary["reason"])
        model = self.call("simulate", config, out="model", status=FAILED)
        self.assertIn("limits.ttft_p99", model.summary["reason"])
        process = rankwire("compare", self.folder / "fast", self.folder / "slow", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        requests = json.loads(process.stdout)["requests"]
        for quantile in ("p50_ps", "p95_ps", "p99_ps"):
            self.assertGreater(requests["other"]["ttft"][quantile], requests["base"]["ttft"][quantile])

    def test_emulated(self):
        run = self.call("run", SOURCE / "configs/inference.yaml")
        self.assert_delivered(run)
        requests = run.summary["requests"]
        for side in ("emulated", "reference"):
            self.assertEqual(requests[side]["complete"], 32)
        print(
            f"inference: TTFT P50 {requests['emulated']['ttft']['p50_ps'] / 1e9:.1f} ms, reference "
            f"{requests['reference']['ttft']['p50_ps'] / 1e9:.1f} ms; goodput {requests['emulated']['goodput_per_s']:.1f}/s"
        )


if __name__ == "__main__":
    unittest.main()
