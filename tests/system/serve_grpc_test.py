#!/usr/bin/env python3
"""The Open Traffic Generator API over gRPC."""

import importlib
import importlib.util
import json
import shutil
import subprocess
import sys
import unittest

from rankwire import SOURCE
from serving import PATIENCE, ServeTest, capture, otg, packets_of, transmit

DEBIAN = "/usr/lib/python3/dist-packages"


class GrpcTest(ServeTest):
    """With what protobuf's compiler makes of the model, as any client of gRPC has it."""

    def setUp(self):
        super().setUp()
        sys.path.append(DEBIAN)  # gRPC for Python is there, whichever Python this is
        self.addCleanup(sys.path.remove, DEBIAN)
        if shutil.which("protoc") is None or importlib.util.find_spec("grpc") is None:
            self.skipTest("a client of gRPC needs protoc and Python's grpc")
        room = SOURCE / "emulator/grpc"
        subprocess.run(["protoc", f"--proto_path={room}", f"--python_out={self.folder}", "otg.proto", "reflection.proto"], check=True)
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        self.grpc, self.otg, self.reflection = (importlib.import_module(name) for name in ("grpc", "otg_pb2", "reflection_pb2"))

    def serve(self, *options, **how):
        server = super().serve("--grpc", "127.0.0.1:0", *options, **how)
        if server.where["grpc"] is None:
            with server:
                self.skipTest("this build is without gRPC")
        return server

    def call(self, channel, method, request, answer, **how):
        """The answer, or the code and the Error of what fails."""
        stub = channel.unary_unary(f"/otg.Openapi/{method}", type(request).SerializeToString, answer.FromString)
        try:
            return stub(request, timeout=PATIENCE, **how)
        except self.grpc.RpcError as error:
            return error.code().name, json.loads(error.details())

    def test_requests_are_those_of_http(self):
        otg_pb2 = self.otg
        from google.protobuf import empty_pb2, json_format

        with self.serve() as server, self.grpc.insecure_channel(server.where["grpc"]) as channel:
            version = self.call(channel, "GetVersion", empty_pb2.Empty(), otg_pb2.GetVersionResponse).version
            self.assertEqual(version.api_spec_version, server.get("/capabilities/version")[1]["api_spec_version"])
            config = json_format.ParseDict({"config": otg(captures=[{"name": "c", "port_names": ["b"]}])}, otg_pb2.SetConfigRequest())
            self.assertEqual(self.call(channel, "SetConfig", config, otg_pb2.SetConfigResponse), otg_pb2.SetConfigResponse(warning={}))
            self.assertEqual(self.call(channel, "GetConfig", empty_pb2.Empty(), otg_pb2.GetConfigResponse).config, config.config)
            for state in (capture("start"), transmit("start")):
                request = json_format.ParseDict({"control_state": state}, otg_pb2.SetControlStateRequest())
                self.assertEqual(self.call(channel, "SetControlState", request, otg_pb2.SetControlStateResponse),
                                 otg_pb2.SetControlStateResponse(warning={}))
            start_it = json_format.ParseDict({"control_state": transmit("start")}, otg_pb2.SetControlStateRequest())
            again, error = self.call(channel, "SetControlState", start_it, otg_pb2.SetControlStateResponse)
            self.assertEqual((again, error["kind"]), ("FAILED_PRECONDITION", "validation"))
            ask = json_format.ParseDict({"metrics_request": {"choice": "port"}}, otg_pb2.GetMetricsRequest())
            ports = self.call(channel, "GetMetrics", ask, otg_pb2.GetMetricsResponse).metrics_response.port_metrics
            self.assertEqual({port.name for port in ports if port.transmit == otg_pb2.PortMetric.Transmit.started}, {"a", "b"})
            states = self.call(channel, "GetStates", otg_pb2.GetStatesRequest(), otg_pb2.GetStatesResponse).states_response
            self.assertEqual(len(states.ipv4_neighbors), 2)
            server.wait_for_frames("a")
            stop_it = json_format.ParseDict({"control_state": transmit("stop")}, otg_pb2.SetControlStateRequest())
            self.call(channel, "SetControlState", stop_it, otg_pb2.SetControlStateResponse)
            ask = json_format.ParseDict({"metrics_request": {"choice": "rocev2_flow"}}, otg_pb2.GetMetricsRequest())
            [row] = self.call(channel, "GetMetrics", ask, otg_pb2.GetMetricsResponse).metrics_response.rocev2_flow_per_qp_metrics
            self.assertEqual(json.loads(json_format.MessageToJson(row, preserving_proto_field_name=True))["tx_bytes"],
                             str(server.metrics("rocev2_flow")[0]["tx_bytes"]))

            # A client takes 4 MiB by default.
            want = {"port_name": "b", "packets": {"choice": "slice", "slice": {"initial": {"count": 100}}}}
            ask = json_format.ParseDict({"capture_request": want}, otg_pb2.GetCaptureRequest())
            captured = self.call(channel, "GetCapture", ask, otg_pb2.GetCaptureResponse).response_bytes
            self.assertEqual(captured, server.post("/monitor/capture", want)[1])
            self.assertEqual(len(packets_of(captured)), 100)

            config.config.lags.add()
            config.config.devices[0].bgp.SetInParent()
            code, error = self.call(channel, "SetConfig", config, otg_pb2.SetConfigResponse)
            self.assertEqual((code, sorted(error["errors"])),
                             ("INVALID_ARGUMENT", ["devices[0].bgp: is not served", "lags: is not served"]))
            # Field 500 of a port, a number: nobody knows its name.
            strange = otg_pb2.SetConfigRequest.FromString(config.SerializeToString())
            strange.config.ports[0].MergeFromString(b"\xa0\x1f\x01")
            code, error = self.call(channel, "SetConfig", strange, otg_pb2.SetConfigResponse)
            self.assertEqual((code, error["errors"]), ("INVALID_ARGUMENT", ["config.ports[0]: field 500 of Port is not served"]))
            removal = otg_pb2.DeleteConfigRequest(config_delete={"config_delete_list": [{"choice": 1, "flows": ["none"]}]})
            code, error = self.call(channel, "DeleteConfig", removal, otg_pb2.DeleteConfigResponse)
            self.assertEqual((code, error["errors"]), ("INVALID_ARGUMENT", ["config_delete_list[0].flows[0]: no flow is called 'none'"]))
            flow = {"name": "flow", "rate": {"choice": "percentage", "percentage": 9}}
            update = {"config_update": {"choice": "flows", "flows": {"property_names": ["rate"], "flows": [flow]}}}
            update = json_format.ParseDict(update, otg_pb2.UpdateConfigRequest())
            self.assertEqual(self.call(channel, "UpdateConfig", update, otg_pb2.UpdateConfigResponse),
                             otg_pb2.UpdateConfigResponse(warning={}))
            code, error = self.call(channel, "SetControlAction", config, otg_pb2.SetConfigResponse)
            self.assertEqual(code, "UNIMPLEMENTED")

    def test_reflection_and_token(self):
        messages = self.reflection
        token = self.folder / "token"
        token.write_text("0123456789abcdef", encoding="utf-8")
        metadata = [("authorization", "Bearer 0123456789abcdef")]
        with self.serve("--token", token) as server, self.grpc.insecure_channel(server.where["grpc"]) as channel:
            from google.protobuf import descriptor_pb2, empty_pb2

            self.assertEqual(self.call(channel, "GetConfig", empty_pb2.Empty(), self.otg.GetConfigResponse)[0], "UNAUTHENTICATED")
            older, newer = (channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
                                                  messages.ServerReflectionRequest.SerializeToString,
                                                  messages.ServerReflectionResponse.FromString)
                            for version in ("v1alpha", "v1"))  # fmt: skip
            asked = [messages.ServerReflectionRequest(list_services="*"),
                     messages.ServerReflectionRequest(file_containing_symbol="otg.Openapi"),
                     messages.ServerReflectionRequest(file_by_filename="google/protobuf/empty.proto"),
                     messages.ServerReflectionRequest(file_containing_symbol="otg.Nothing")]
            listed, file, empty, nothing = older(iter(asked), timeout=PATIENCE, metadata=metadata)
            self.assertEqual(next(newer(iter(asked), timeout=PATIENCE, metadata=metadata)), listed)
            self.assertIn("otg.Openapi", [service.name for service in listed.list_services_response.service])
            [data] = file.file_descriptor_response.file_descriptor_proto
            described = descriptor_pb2.FileDescriptorProto.FromString(data)
            self.assertEqual({message.name for message in described.message_type}, set(self.otg.DESCRIPTOR.message_types_by_name))
            self.assertIn("SetConfig", [method.name for method in described.service[0].method])
            self.assertEqual(len(empty.file_descriptor_response.file_descriptor_proto), 1)
            self.assertEqual(nothing.error_response.error_code, self.grpc.StatusCode.NOT_FOUND.value[0])

    def test_encrypted(self):
        certificate, key = self.certificate()
        trust = self.grpc.ssl_channel_credentials(root_certificates=certificate.read_bytes())
        with self.serve("--certificate", certificate, "--key", key, trusts=certificate) as server:
            from google.protobuf import empty_pb2

            with self.grpc.secure_channel(server.where["grpc"], trust) as channel:
                version = self.call(channel, "GetVersion", empty_pb2.Empty(), self.otg.GetVersionResponse).version
            self.assertEqual(version.api_spec_version, server.get("/capabilities/version")[1]["api_spec_version"])
            with self.grpc.insecure_channel(server.where["grpc"]) as channel:
                stub = channel.unary_unary("/otg.Openapi/GetVersion")
                with self.assertRaises(self.grpc.RpcError):
                    stub(b"", timeout=PATIENCE)


if __name__ == "__main__":
    unittest.main()
