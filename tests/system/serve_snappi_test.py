#!/usr/bin/env python3
"""The document's flow by snappi, the client of the Open Traffic Generator API that labs have, where it is installed."""

import importlib.util
import re
import unittest

from rankwire import SOURCE
from serving import ServeTest


class SnappiTest(ServeTest):
    def setUp(self):
        super().setUp()
        if importlib.util.find_spec("snappi") is None:
            self.skipTest("snappi is not installed for this Python")

    def test_the_documented_flow(self):
        document = (SOURCE / "docs/serve.md").read_text(encoding="utf-8")
        [text] = [text for text in re.findall(r"```python\n(.*?)```", document, re.DOTALL) if "import snappi" in text]
        import snappi

        with self.serve("--grpc", "127.0.0.1:0") as server:
            transports = [("http", server.where["rest"])]
            if server.where["grpc"]:
                transports.append(("grpc", server.where["grpc"]))
            for transport, location in transports:
                with self.subTest(transport):
                    found = {"print": lambda *_: None}
                    exec(text.replace("http://127.0.0.1:8443", location).replace('"http"', f'"{transport}"'), found)
                    [row], api = found["rows"], found["api"]
                    self.assertGreater(row.message_complete_rx, 0)
                    self.assertEqual(row.rx_bytes, row.message_complete_rx * 100_000)
                    wrong = found["config"]
                    wrong.lags.add(name="lag")
                    with self.assertRaisesRegex(Exception, "lags: is not served"):
                        api.set_config(wrong)

    def test_token(self):
        import snappi

        token = self.folder / "token"
        token.write_text("0123456789abcdef", encoding="utf-8")
        with self.serve("--grpc", "none", "--token", token) as server:
            location = server.where["rest"]
            api = snappi.api(location=location.replace("//", "//token:0123456789abcdef@"), transport="http", verify=False)
            self.assertEqual(api.get_version().api_spec_version, api.get_local_version().api_spec_version)
            with self.assertRaisesRegex(Exception, "the token is missing or wrong"):
                snappi.api(location=location, transport="http", verify=False).get_version()


if __name__ == "__main__":
    unittest.main()
