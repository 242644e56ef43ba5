// Open MPI, or another MPI that `mpirun` or `srun` has started this process with.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <list>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "emulator/machines/launch.h"

namespace rankwire {
namespace {

void require(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  fail_run("MPI: {}: {}", what, std::string(text.data(), static_cast<size_t>(length)));
}

/// Nothing blocks: a receive from a process that has died would never end.
class MpiLinks final : public MachineLinks {
 public:
  MpiLinks() {
    int provided = 0;
    require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_SERIALIZED) fail_run("MPI: does not let a thread of its own send and receive");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    require(MPI_Comm_rank(MPI_COMM_WORLD, &own_), "MPI_Comm_rank");
    require(MPI_Comm_size(MPI_COMM_WORLD, &count_), "MPI_Comm_size");
  }

  uint32_t own() const override { return static_cast<uint32_t>(own_); }
  uint32_t count() const override { return static_cast<uint32_t>(count_); }

  std::string system_name() const override {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    require(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
    return {name.data(), static_cast<size_t>(length)};
  }

  void send(uint32_t to, MachineTag tag, std::string_view bytes) override {
    release_sent();
    Sending& sending = sending_.emplace_back();
    sending.bytes = bytes;
    const int status = MPI_Isend(sending.bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, static_cast<int>(to),
                                 static_cast<int>(tag), MPI_COMM_WORLD, &sending.request);
    if (status != MPI_SUCCESS) sending_.pop_back();  // to one that has died
  }

  std::optional<MachineMessage> receive() override {
    release_sent();
    take_announced();
    // Only what came from the same process must not be overtaken.
    std::vector<uint32_t> waiting;
    for (auto next = receiving_.begin(); next != receiving_.end(); ++next) {
      const uint32_t from = next->message.from;
      if (std::ranges::find(waiting, from) != waiting.end()) continue;
      int done = 0;
      if (MPI_Test(&next->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0) {
        MachineMessage message = std::move(next->message);
        receiving_.erase(next);
        return message;
      }
      waiting.push_back(from);
    }
    return std::nullopt;
  }

  // Where a process has died the others would wait for it in MPI_Finalize.
  void leave(bool orderly) override {
    if (orderly) MPI_Finalize();
  }

 private:
  struct Sending {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Receiving {
    MachineMessage message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void release_sent() {
    std::erase_if(sending_, [](Sending& sending) {
      int done = 0;
      return MPI_Test(&sending.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
    });
  }

  void take_announced() {
    for (;;) {
      int arrived = 0;
      MPI_Message announced = MPI_MESSAGE_NULL;
      MPI_Status status;
      if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, &announced, &status) != MPI_SUCCESS ||
          arrived == 0)
        return;
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      Receiving& receiving = receiving_.emplace_back();
      receiving.message.from = static_cast<uint32_t>(status.MPI_SOURCE);
      receiving.message.tag = static_cast<MachineTag>(status.MPI_TAG);
      receiving.message.bytes.resize(static_cast<size_t>(bytes));
      if (MPI_Imrecv(receiving.message.bytes.data(), bytes, MPI_BYTE, &announced, &receiving.request) != MPI_SUCCESS)
        receiving_.pop_back();
    }
  }

  int own_ = 0, count_ = 1;
  std::list<Sending> sending_;
  std::list<Receiving> receiving_;  // in the order in which they were announced
};

}  // namespace

bool has_machine_links() {
  return true;
}

// Set by mpirun of Open MPI, and by srun for PMIx and PMI-2. Without them MPI would make a world of this process alone.
// Open MPI without PMI-2 ends a process that PMI-2 has started when it joins; one that is alone has nobody to join.
bool is_launched() {
  constexpr std::array kSigns{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"};
  if (std::ranges::any_of(kSigns, [](const char* name) { return std::getenv(name) != nullptr; })) return true;
  const char* const size = std::getenv("PMI_SIZE");
  return std::getenv("PMI_RANK") != nullptr && (size == nullptr || std::string_view(size) != "1");
}

std::unique_ptr<MachineLinks> join_machines() {
  return std::make_unique<MpiLinks>();
}

}  // namespace rankwire
