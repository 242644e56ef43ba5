#!/usr/bin/env python3
"""The document's session by grpcurl, which learns by reflection what the server has, where it is installed."""

import json
import re
import shutil
import subprocess
import unittest

from rankwire import SOURCE
from serving import MESSAGE, PATIENCE, ServeTest, otg


@unittest.skipUnless(shutil.which("grpcurl"), "needs grpcurl")
class GrpcurlTest(ServeTest):
    def test_the_documented_session(self):
        document = (SOURCE / "docs/serve.md").read_text(encoding="utf-8")
        [text] = [text for text in re.findall(r"```sh\n(.*?)```", document, re.DOTALL) if "grpcurl" in text]
        (self.folder / "token").write_text("0123456789abcdef", encoding="utf-8")
        [flow] = re.findall(r"```json\n(.*?)```", document, re.DOTALL)
        (self.folder / "flow.json").write_text(flow, encoding="utf-8")
        with self.serve("--grpc", "127.0.0.1:0", "--token", self.folder / "token") as server:
            where = server.where["grpc"]
            if where is None:
                self.skipTest("this build is without gRPC")
            session = ["sh", "-e", "-c", text.replace("127.0.0.1:40051", where)]
            done = subprocess.run(session, cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            [row] = json.loads((self.folder / "flows.json").read_text(encoding="utf-8"))["metricsResponse"]["rocev2FlowPerQpMetrics"]
            self.assertGreater(int(row["messageCompleteRx"]), 0)
            self.assertEqual(int(row["rxBytes"]), int(row["messageCompleteRx"]) * MESSAGE)

            self.assertIn("otg.Openapi.SetConfig\n", self.grpcurl(where, "list", "otg.Openapi")[1])
            self.assertIn("message SetConfigRequest {", self.grpcurl(where, "describe", "otg.SetConfigRequest")[1])
            status, _, said = self.grpcurl("-d", json.dumps({"config": otg(lags=[{}])}), where, "otg.Openapi/SetConfig")
            self.assertEqual(status, 67)  # 64 and the code of gRPC, here INVALID_ARGUMENT
            self.assertIn("lags: is not served", said)
            self.assertIn("Unauthenticated", self.grpcurl(where, "list", token="wrong")[2])

    def grpcurl(self, *arguments, token="0123456789abcdef"):
        done = subprocess.run(["grpcurl", "-plaintext", "-H", f"authorization: Bearer {token}", *arguments],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)  # fmt: skip
        return done.returncode, done.stdout, done.stderr


if __name__ == "__main__":
    unittest.main()
