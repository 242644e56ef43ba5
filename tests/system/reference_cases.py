"""Public traces as packets in virtual time, beside the band of the reference."""

import dataclasses

from rankwire import RankwireTest

STAGE = {"element_size": "2B"}  # its sizes count elements


@dataclasses.dataclass(frozen=True)
class Traces:
    archive: str  # below traces/ of RANKWIRE_TEST_DATA
    workload: dict  # files are relative to what the archive unpacks to
    ranks: int = 8


def stage(name, ranks=8):
    return Traces(f"stage/{name}.tar.xz", {"traces": f"{name}/w", "groups": f"{name}/w.json"} | STAGE, ranks)


TRACES = {
    "gpt3": stage("gpt3_8r_tp2pp2dp2"),
    "llama8b": stage("llama8b_8r_tp8"),
    "moe": stage("moe_8r_ep4dp2"),
    "llama70b": stage("llama70b_64r_tp8pp2dp4", ranks=64),
    "gpt": stage("gpt_256r_tp8pp8dp4", ranks=256),
    "mlsynth": Traces(
        "mlsynth/mlsynth_c8.tar.xz", {"traces": "mlsynth_c8/et/w", "groups": "mlsynth_c8/comm_groups.json"}
    ),
    "transformer": Traces(
        "astra-sim/768a491_transformer_2stack_64r_v001.tar.xz",
        {"traces": "runs/example/workload/transformer_2stack"},
        ranks=64,
    ),
    "resnet50": Traces(
        "astra-sim/f5d4ddd_resnet50_DataParallel_64r_v004_nometa_ctrldeps.tar.xz",
        {"traces": "runs/example/workload/resnet50_DataParallel", "dependencies": "control"},
        ranks=64,
    ),
}


class ReferenceCases(RankwireTest):
    def band(self, name, scale, ranks_a_port=1, jitter=None, turn=16, traces=None, verb="write_imm"):
        """`reference.band` of the trace's twin, with bytes and computing of this scale, at 400 Gb/s."""
        traces = traces or TRACES[name]
        folder = self.unpack(f"traces/{traces.archive}")
        files = {key: str(folder / traces.workload[key]) for key in ("traces", "groups") if key in traces.workload}
        ports = traces.ranks // ranks_a_port
        config = {
            "workload": traces.workload | files | {"scale": {"bytes": scale, "compute": scale}},
            "hosts": {"count": ports, "npus": ranks_a_port, "nics": 1},
            "ports": {"count": ports, "device": "memory", "rate": "400Gbps"},
            "switch": {"latency": "1us", "link_latency": "100ns", "buffer": "256MiB"},  # nothing is lost
            "transport": {"window": 256, "turn": turn, "checking": "off", "verb": verb},
            "simulation": {"ensemble": 16},
            "run": {"deadline": "600s"},
        }
        if jitter is not None:
            config["compute"] = {"jitter": {"distribution": "normal", "deviation": jitter}}
        out = f"{name}-{scale.replace('/', '_')}-{ranks_a_port}-{turn}-{'jitter' if jitter else 'exact'}-{verb}"
        run = self.call("simulate", config, "--twin", out=out)
        self.assertEqual(run.summary["verdict"], "ok", run.summary["reason"])
        band = run.summary["reference"]["band"]
        self.assertEqual(band["runs"], 16)
        print(
            f"{name}, bytes {scale}, {ranks_a_port} a port, {verb}: twin / reference {run.summary['ratio']:.4f}, "
            f"median {band['ratio_median']:.4f}"
        )
        return band

    def assert_near(self, band):
        """Between 2 % below its lower end and 2 % above its upper end."""
        self.assertGreater(band["ratio_high"], 0.98)
        self.assertLess(band["ratio_low"], 1.02)
