"""Networks without switches, dragonflies and hierarchies: the twin's frames go where an independent walk says, and take the
time that the cables' rates give. Virtual time."""

import collections
import itertools
import json
import unittest

import chakra
from rankwire import OK, SOURCE, RankwireTest, rankwire

MIB = 1 << 20
MTU = 4096
# Ethernet 14, IPv4 20, UDP 8, BTH 12 before the payload, ICRC 4 behind it; FCS 4, preamble 8 and gap 12 on the line.
FRAME_BYTES = MTU + 14 + 20 + 8 + 12 + 4
LINE_BYTES = FRAME_BYTES + 4 + 8 + 12


def dimension_order(extents, source, destination):
    """The routers on the way, as coordinates: dimension by dimension, the shorter way round."""
    way, at = [source], list(source)
    for d, extent in enumerate(extents):
        ahead = (destination[d] - source[d]) % extent
        step = 1 if ahead <= extent // 2 else -1
        while at[d] != destination[d]:
            at[d] = (at[d] + step) % extent
            way.append(tuple(at))
    return way


class Topologies(RankwireTest):
    def config(self, kind, size, ranks, fabric, **ports):
        prefix = self.folder / "traces"
        chakra.write_ranks(prefix, [[chakra.collective(kind, size)]] * ranks)
        return {
            "workload": {"traces": str(prefix)},
            "ports": {"count": ranks, "device": "memory"} | ports,
            "switch": {"latency": "200ns", "link_latency": "100ns"},
            "fabric": fabric,
        }

    def twin(self, *arguments, **keywords):
        run = self.call("simulate", self.config(*arguments, **keywords), "--twin")
        self.assert_delivered(run)
        self.assertEqual(run.transport["retransmitted"], 0)
        return run

    def sent(self, run):
        """Bytes of frames that switches sent, by port."""
        return {row["name"]: int(row["tx_bytes"]) for row in run.rows("ports", fidelity="twin") if "." in row["name"]}


class Routes(Topologies):
    # Odd extents, so that there is one shorter way round.
    EXTENTS = (5, 3)

    def test_dimension_order_in_a_torus(self):
        npus = [(x, y) for y in range(self.EXTENTS[1]) for x in range(self.EXTENTS[0])]
        part = 64 * MTU
        run = self.twin(
            chakra.ALL_TO_ALL,
            part * len(npus),
            len(npus),
            {"topology": "torus2d", "extents": list(self.EXTENTS), "link_rate": "10Gbps", "routing": "dimension_order"},
        )
        messages, back = collections.Counter(), collections.Counter()
        for source, destination in itertools.permutations(npus, 2):
            way = dimension_order(self.EXTENTS, source, destination)
            for a, b in itertools.pairwise(way):
                messages[f"npu{a[0]}.{a[1]}.npu{b[0]}.{b[1]}"] += 1
        sent = self.sent(run)
        cables = [name for name in sent if ".npu" in name]
        self.assertEqual(set(cables), set(messages))
        self.assertEqual(len(cables), 2 * 2 * len(npus))
        for name in cables:
            # The rest, below 3 %, are the acknowledgements of what came the other way.
            data = messages[name] * (part // MTU) * FRAME_BYTES
            self.assertGreater(sent[name], data, name)
            self.assertLess(sent[name], 1.03 * data, name)

    def test_a_hierarchy_keeps_traffic_as_low_as_it_can(self):
        run = self.call("simulate", SOURCE / "configs/hierarchy.yaml", "--twin")
        self.assert_delivered(run)
        sent = self.sent(run)
        # In the nodes, all-reduces of 128 x 256 activations of 2 bytes over rings of 4, 2 x 3/4 of them from each NPU:
        # attention and MLP of 2 layers, forwards and backwards, the embedding and the logits. Between nodes all the rest.
        inside = (2 * 4 + 2) * (128 * 256 * 2) * 2 * 3 // 4
        to_node = sum(size for name, size in sent.items() if name.startswith("npu") and ".node" in name)
        to_leaf = sum(size for name, size in sent.items() if name.startswith("npu") and ".leaf" in name)
        print(f"{to_node} bytes into the nodes, {to_leaf} into the leaves")
        frame = FRAME_BYTES / MTU
        self.assertAlmostEqual(to_node / (8 * inside * frame), 1, delta=0.03)
        self.assertAlmostEqual(to_leaf / ((run.summary["bytes_wire"] - 8 * inside) * frame), 1, delta=0.03)


class InfraGraph(Topologies):
    def infrastructure(self):
        """Two servers of two NPUs with a scale-up switch, whose NICs meet in one leaf."""
        many, one = {"scheme": "many2many"}, {"scheme": "one2one"}

        def link(name, **bandwidth):
            return {"name": name} | ({"physical": {"bandwidth": bandwidth}} if bandwidth else {})

        server = {
            "name": "server",
            "components": [
                {"name": "xpu", "choice": "xpu", "count": 2},
                {"name": "nvsw", "choice": "switch", "count": 1},
                {"name": "nic", "choice": "nic", "count": 2},
            ],
            "links": [link("nvlink", gigabytes_per_second=5), link("pcie")],
            "edges": [
                many | {"ep1": {"component": "xpu"}, "ep2": {"component": "nvsw"}, "link": "nvlink"},
                one | {"ep1": {"component": "xpu"}, "ep2": {"component": "nic"}, "link": "pcie"},
            ],
        }
        leaf = {"name": "leaf", "components": [{"name": "asic", "choice": "switch", "count": 1}], "links": [], "edges": []}
        nics, asic = {"instance": "server", "component": "nic"}, {"instance": "leaf", "component": "asic[0]"}
        return {
            "devices": [server, leaf],
            "links": [link("eth", gigabits_per_second=10)],
            "instances": [{"name": name, "device": name, "count": count} for name, count in (("server", 2), ("leaf", 1))],
            "edges": [many | {"ep1": nics, "ep2": asic, "link": "eth"}],
        }

    def test_traffic_takes_the_links_of_the_file(self):
        self.configuration(self.infrastructure(), "infra.json")
        part = 1024 * MTU
        config = self.config(chakra.ALL_TO_ALL, 4 * part, 4, {"infragraph": "infra.json"})
        # Acknowledgements wait behind data at the NICs, and smaller windows would be used up meanwhile.
        run = self.call("simulate", config | {"transport": {"window": 1024}}, "--twin")
        self.assert_delivered(run)
        sent = self.sent(run)
        # A port has the 40 Gb/s of the NVLink and 10 Gb/s of the NIC. Each NPU sends one part to the other of its server,
        # two to the leaf.
        self.assertEqual({port["rate"] for port in run.summary["config"]["ports"]}, {"50Gbps"})
        for server, xpu in itertools.product(range(2), repeat=2):
            for to, parts in ((f"server.{server}.nvsw.0", 1), ("leaf.0.asic.0", 2)):
                size = sent[f"server.{server}.xpu.{xpu}.{to}"]
                self.assertAlmostEqual(size / (parts * part // MTU * FRAME_BYTES), 1, delta=0.03)
        print(f"infragraph: twin / reference {run.summary['ratio']:.3f}")
        self.assertLess(abs(run.summary["ratio"] - 1), 0.05)


class Times(Topologies):
    SIZE = 8 * MIB
    GRID = {"routing": "dimension_order", "link_rate": "10Gbps"}

    def assert_accurate(self, ranks, cable_bits, fabric, tolerance=0.02, kind=chakra.ALL_REDUCE, **ports):
        """A ring over neighbours: each sends 2 (n - 1) / n of the input over a cable that it has to itself."""
        with self.subTest(fabric=fabric["topology"]):
            run = self.twin(kind, self.SIZE, ranks, fabric, **ports)
            twin, reference = (run.summary[name]["completion_time_ps"] for name in ("emulated", "reference"))
            print(f"{fabric['topology']}, {ranks} ranks: twin / reference {twin / reference:.4f}")
            self.assertLessEqual(abs(twin / reference - 1), tolerance)
            ideal = 2 * (ranks - 1) * self.SIZE // ranks // MTU * LINE_BYTES * 8 * 10**12 // cable_bits
            self.assertGreater(reference, ideal)
            self.assertLess(reference, 1.02 * ideal)

    def test_rings_over_neighbours(self):
        ten = 10 * 10**9
        self.assert_accurate(8, ten, {"topology": "ring", "link_rate": "10Gbps"})
        self.assert_accurate(8, ten, {"topology": "fully_connected", "link_rate": "10Gbps"})
        # A port of 70 Gb/s shared out over seven cables.
        self.assert_accurate(8, ten, {"topology": "fully_connected"}, rate="70Gbps")
        levels = [{"name": "node", "count": 4, "rate": "10Gbps"}, {"name": "core", "count": 2, "oversubscription": 4}]
        self.assert_accurate(8, ten, {"topology": "hierarchy", "levels": levels})

    def test_a_network_file_of_astra_sim(self):
        # 1.25 GB/s of 2^30 bytes.
        (self.folder / "network.yml").write_text(
            "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 1.25 ]\nlatency: [ 500.0 ]\n", encoding="utf-8"
        )
        fabric = {"topology": "astra_network", "astra_network": "network.yml"}
        self.assert_accurate(8, int(1.25 * 8 * 2**30), fabric)

    def test_crowded_cables(self):
        """All to all: what shares a cable is as slow as the cable in both runs."""
        for ranks, fabric in (
            (8, {"topology": "ring", "link_rate": "10Gbps"}),
            (12, {"topology": "torus2d", "extents": [4, 3], **self.GRID}),
            (12, {"topology": "torus2d", "extents": [4, 3], "wrap": False, **self.GRID}),
            (12, {"topology": "torus3d", "extents": [3, 2, 2], **self.GRID}),
            (12, {"topology": "dragonfly", "link_rate": "10Gbps"}),
        ):
            with self.subTest(fabric=fabric):
                run = self.twin(chakra.ALL_TO_ALL, self.SIZE, ranks, fabric)
                print(f"{fabric}: twin / reference {run.summary['ratio']:.3f}")
                self.assertLess(abs(run.summary["ratio"] - 1), 0.05)

    def test_check_names_what_is_wrong(self):
        path = self.configuration(self.config(chakra.ALL_REDUCE, MIB, 8, {"topology": "torus2d", "extents": [3, 3]}))
        process = rankwire("check", path)
        self.assert_one_line_error(process, 2, "a network of 3 x 3 has 9 NPUs, not 8; every port is one")

    def test_the_resolved_configuration_is_one(self):
        run = self.call("simulate", SOURCE / "configs/torus.yaml")
        again = self.configuration(run.summary["config"], "again.yaml")
        process = rankwire("check", again, "--json", "--no-measure")
        self.assertEqual((process.returncode, process.stderr), (OK, ""))
        self.assertEqual(json.loads(process.stdout)["bytes_wire_per_iteration"], run.summary["bytes_wire"])


if __name__ == "__main__":
    unittest.main()
