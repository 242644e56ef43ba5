"""What rankwire over RDMA devices is run with in a guest, whatever it talks to there."""

import itertools
import os

# The whole matrices, or lines through them in which everything stands once.
LONG = os.environ.get("RANKWIRE_INTEROP_LONG") == "1"
MTUS = (1024, 4096)
# The ways in which a message may travel.
WAYS = {
    "write_then_imm, split, 5000 B": {"verb": "write_then_imm", "queue_pairs": 2, "verbs": {"max_message": "5000B"}},
    "read, split, 10000 B": {"verb": "read", "queue_pairs": 2, "verbs": {"max_message": "10000B"}},
    "send_imm, dealt to 4": {"verb": "send_imm", "queue_pairs": 4, "spread": "deal"},
}
MORE_WAYS = {
    "write_then_imm": {"verb": "write_then_imm"},
    "send_imm": {"verb": "send_imm"},
    "read": {"verb": "read"},
    "write_imm, split over 3": {"queue_pairs": 3},
    "write_imm, 10000 B": {"verbs": {"max_message": "10000B"}},
}


class VerbsMatrix:
    """Tests beside those of a GuestTest that has workloads of the names below, `config(workload, ...)`, and
    `check_run(name, workload, ...)`, which both take the keys of `transport`."""

    axes = {}  # other keyword arguments of check_run, and their values
    ways = WAYS

    def check_workload(self, workload, *cells):
        """`cells`: one value of each axis."""
        if workload is None:
            self.skipTest("no gpt3_8r under RANKWIRE_TEST_DATA")
        for cell in itertools.product(*self.axes.values()) if LONG else cells:
            case = dict(zip(self.axes, cell))
            with self.subTest(**case):
                self.check_run(workload.name, workload, **case)

    def test_ways(self):
        for name, transport in (self.ways | MORE_WAYS if LONG else self.ways).items():
            with self.subTest(way=name):
                self.check_run(name, self.small, **transport)

    def test_nccl(self):
        """Grants travel against the data, as plain WRITEs that the receiver looks for in its memory."""
        config = self.config(self.small) | {"collectives": {"profile": "nccl", "nccl": {"channels": 2}}}
        self.assert_delivered(self.run_in_guest(config))
