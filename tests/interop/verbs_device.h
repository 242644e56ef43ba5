// An RDMA device of libibverbs and the objects made on it, each released when its owner ends.
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

namespace verbs {

constexpr uint8_t kPort = 1;

struct Release {
  void operator()(ibv_context* p) const { ibv_close_device(p); }
  void operator()(ibv_pd* p) const { ibv_dealloc_pd(p); }
  void operator()(ibv_comp_channel* p) const { ibv_destroy_comp_channel(p); }
  void operator()(ibv_cq* p) const { ibv_destroy_cq(p); }
  void operator()(ibv_mr* p) const { ibv_dereg_mr(p); }
  void operator()(ibv_qp* p) const { ibv_destroy_qp(p); }
};
template <class Object>
using Owned = std::unique_ptr<Object, Release>;

template <class Object>
Owned<Object> made(Object* object, const char* call) {
  if (object == nullptr) throw std::runtime_error(std::string(call) + ": " + std::strerror(errno));
  return Owned<Object>(object);
}

inline void check(int status, const char* call) {
  if (status != 0) throw std::runtime_error(std::string(call) + ": " + std::strerror(status));
}

/// An address as a GID: IPv4 as ::ffff:a.b.c.d.
inline ibv_gid gid_of(const std::string& address) {
  ibv_gid gid{};
  if (inet_pton(AF_INET6, address.c_str(), gid.raw) == 1) return gid;
  gid.raw[10] = gid.raw[11] = 0xFF;
  if (inet_pton(AF_INET, address.c_str(), gid.raw + 12) != 1) throw std::runtime_error("no address: " + address);
  return gid;
}

/// The first device.
struct Device {
  Device() {
    ibv_device** const list = ibv_get_device_list(nullptr);
    if (list == nullptr || *list == nullptr) throw std::runtime_error("no RDMA device");
    context = made(ibv_open_device(*list), "ibv_open_device");
    ibv_free_device_list(list);
    domain = made(ibv_alloc_pd(context.get()), "ibv_alloc_pd");
    channel = made(ibv_create_comp_channel(context.get()), "ibv_create_comp_channel");
  }

  uint8_t gid_index(const std::string& address) const {
    const ibv_gid wanted = gid_of(address);
    ibv_gid gid;
    for (uint8_t i = 0; i < 32 && ibv_query_gid(context.get(), kPort, i, &gid) == 0; ++i)
      if (std::memcmp(gid.raw, wanted.raw, sizeof gid.raw) == 0) return i;
    throw std::runtime_error("no GID " + address);
  }

  Owned<ibv_context> context;
  Owned<ibv_pd> domain;
  Owned<ibv_comp_channel> channel;
};

}  // namespace verbs
