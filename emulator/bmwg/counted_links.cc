#include "emulator/bmwg/counted_links.h"

#include "base/error.h"

namespace rankwire {

LinkBytes counted_links(const nlohmann::ordered_json& counters, const std::string& hook) {
  LinkBytes bytes;
  const auto links = counters.find("links");
  if (links == counters.end() || !links->is_object())
    fail_run("{}: prints no object 'links' with the bytes that each has sent", hook);
  for (const auto& [name, value] : links->items()) {
    if (!value.is_number() || value.get<double>() < 0)
      fail_run("{}: printed {} of link '{}', which is no count of bytes", hook, value.dump(), name);
    bytes[name] = value.get<double>();
  }
  if (bytes.size() < 2)
    fail_run("{}: printed {} of the device's links, and two or more that are parallel are compared", hook,
             bytes.size());
  return bytes;
}

LinkBytes counted_since(const LinkBytes& before, const LinkBytes& after, const std::string& hook) {
  LinkBytes sent;
  double sum = 0;
  for (const auto& [link, bytes] : before) {
    const auto later = after.find(link);
    if (later == after.end()) fail_run("{}: printed the link '{}' before the run, and not after it", hook, link);
    if (later->second < bytes)
      fail_run("{}: link '{}' had sent {:.0f} B before the run and {:.0f} after it: counts are expected that only grow",
               hook, link, bytes, later->second);
    sent[link] = later->second - bytes;
    sum += sent[link];
  }
  for (const auto& [link, bytes] : after)
    if (!before.contains(link)) fail_run("{}: printed the link '{}' after the run, and not before it", hook, link);
  if (sum <= 0)
    fail_run("{}: none of its {} links has sent anything during the run: links are expected that its traffic takes",
             hook, before.size());
  return sent;
}

}  // namespace rankwire
