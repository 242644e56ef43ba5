// Built without libibverbs: there are no RDMA devices.
#include "base/error.h"
#include "dataplane/verbs/api.h"
#include "dataplane/verbs/device.h"

namespace rankwire {

std::vector<VerbsDeviceInfo> verbs_devices() {
  return {};
}

std::string verbs_absence() {
  return "this rankwire was built without libibverbs; install libibverbs-dev (rdma-core) and build it again";
}

std::unique_ptr<VerbsApi> make_verbs_api() {
  fail_input("RDMA devices cannot be used: {}", verbs_absence());
}

}  // namespace rankwire
