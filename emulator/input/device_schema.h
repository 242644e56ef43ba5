// The keys of one item of `device_counters`; see schema.h.
#pragma once

#include "emulator/input/device_config.h"
#include "emulator/input/syntax.h"

namespace rankwire {

template <class Visitor>
void describe_gnmi(Visitor& visit, GnmiConfig& gnmi) {
  visit.field("target", gnmi.target, Text{});
  visit.list("paths", gnmi.paths, Text{});
  visit.field("path_target", gnmi.path_target, TextOrNone{});
  visit.field("mode", gnmi.mode,
              Choice<GnmiMode>{{{"sample", GnmiMode::kSample},
                                {"on_change", GnmiMode::kOnChange},
                                {"target_defined", GnmiMode::kTargetDefined}}});
  visit.field(
      "encoding", gnmi.encoding,
      Choice<GnmiEncoding>{
          {{"json_ietf", GnmiEncoding::kJsonIetf}, {"json", GnmiEncoding::kJson}, {"proto", GnmiEncoding::kProto}}});
  visit.field("tls", gnmi.tls, on_or_off());
  visit.field("ca", gnmi.ca, FilePathOrNone{});
  visit.field("certificate", gnmi.certificate, FilePathOrNone{});
  visit.field("key", gnmi.key, FilePathOrNone{});
  visit.field("server_name", gnmi.server_name, TextOrNone{});
  visit.field("username", gnmi.username, TextOrNone{});
  visit.field("password_file", gnmi.password_file, FilePathOrNone{});
}

template <class Visitor>
void describe_device_counters(Visitor& visit, DeviceCountersConfig& device) {
  visit.field("name", device.name, Name{});
  visit.field("command", device.command, TextOrNone{});
  visit.field("stream", device.stream, on_or_off());
  visit.optional_section("gnmi", device.gnmi, [](auto& keys, GnmiConfig& gnmi) { describe_gnmi(keys, gnmi); });
  visit.field("interval", device.interval, Interval{milliseconds(1), seconds(3600)});
  visit.field("patience", device.patience, Interval{milliseconds(10), seconds(3600)});
  visit.field("settle", device.settle, Interval{Duration(), seconds(3600)});
  visit.texts("ports", device.ports);
  visit.texts("metrics", device.metrics);
  visit.field("rows", device.rows, Integer<uint32_t>{2, 1 << 20});
}

}  // namespace rankwire
