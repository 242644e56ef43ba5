"""The public traces that have a configuration of their own, and where they are in the test data."""

import dataclasses
import fractions

import chakra
import traffic
from rankwire import SOURCE


@dataclasses.dataclass(frozen=True)
class TraceSet:
    config: str  # below configs/
    archive: str  # below RANKWIRE_TEST_DATA
    traces: str  # prefix of the files within the archive
    quarter: str  # of the bytes that the configuration leaves: `workload.scale.bytes`
    groups: str = ""  # process groups within the archive

    def arguments(self, folder):
        """The configuration's path and the settings that make it read the traces unpacked to `folder`."""
        settings = ["--set", f"workload.traces={folder / self.traces}"]
        if self.groups:
            settings += ["--set", f"workload.groups={folder / self.groups}"]
        return SOURCE / "configs" / self.config, settings

    def bytes_of(self, folder, workload):
        """What the traces move with the element size and scale of a resolved `workload` section."""
        ranks = chakra.read_ranks(folder / self.traces)
        sizes = traffic.read_groups(folder / self.groups) if self.groups else {}
        element = int(workload["element_size"].removesuffix("B"))
        return traffic.bytes_of(ranks, sizes, element, fractions.Fraction(workload["scale"]["bytes"]))


GPT3 = TraceSet(
    config="gpt3_8r.yaml",
    archive="traces/stage/gpt3_8r_tp2pp2dp2.tar.xz",
    traces="gpt3_8r_tp2pp2dp2/w",
    quarter="1/156",
    groups="gpt3_8r_tp2pp2dp2/w.json",
)
MLSYNTH = TraceSet(
    config="mlsynth_c8.yaml",
    archive="traces/mlsynth/mlsynth_c8.tar.xz",
    traces="mlsynth_c8/et/w",
    quarter="1/84",
    groups="mlsynth_c8/comm_groups.json",
)
RESNET50 = TraceSet(
    config="resnet50_64r.yaml",
    archive="traces/astra-sim/f5d4ddd_resnet50_DataParallel_64r_v004_nometa_ctrldeps.tar.xz",
    traces="runs/example/workload/resnet50_DataParallel",
    quarter="1/24",
)
CONFIGS = {traces.config for traces in (GPT3, MLSYNTH, RESNET50)}
