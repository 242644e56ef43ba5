// What a training job exchanges with storage: samples that it reads, checkpoints that it writes and begins with.
//
// Storage ranks are ranks of their own behind those that train, and all that passes are messages. A read is a request
// of kStorageRequest bytes and the data that answer it; a write is the data and an answer of as many bytes. What is
// stored is cut into stripes that go round the storage ranks, of each file beginning with another one, as parallel file
// systems do it; or a file is on one of them that a hash chooses, as in an object store. Between a training rank and a
// storage rank one message carries all files of an event.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "converters/generated_traces.h"
#include "converters/node_writer.h"
#include "converters/storage_model.h"

namespace rankwire {

inline constexpr Bytes kStorageRequest = Bytes(256);  ///< a request for data, or the answer to a write

/// The first key that contradicts the rest of a job of so many steps, such as `storage.seed`; or nothing.
std::optional<WrongModel> wrong_storage(const StorageModel& storage, uint32_t steps);

/// A part of a checkpoint.
struct StateFile {
  uint32_t writer = 0;  ///< the rank that writes it
  uint32_t number = 0;  ///< among its files
  Bytes size;

  bool operator==(const StateFile&) const = default;
};

/// Parameters that ranks `first`, `first` + `stride`, ... keep alike: a file of the first one, or from each a part.
struct SharedState {
  uint32_t number = 0;  ///< of the file
  int64_t parameters = 0;
  int64_t bytes = 0;  ///< a parameter
  uint32_t first = 0, stride = 1, holders = 1;

  /// Of all writers. Throws Error(kInput) for sizes above 2^63 - 1, as the next.
  void add_files(StorageModel::Writers writers, std::vector<StateFile>& files) const;
  /// Of one holder.
  void add_file_of(uint32_t rank, StorageModel::Writers writers, std::vector<StateFile>& files) const;
};

/// What the ranks of a job have to do with storage. Ranks from `trainers` on are storage, which count from 0 here.
struct StorageTraffic {
  StorageModel model;
  uint32_t trainers = 0, steps = 1;
  std::vector<Bytes> samples;                   ///< of a step, by rank; 0: it reads none
  std::vector<std::vector<StateFile>> written;  ///< by rank, in each checkpoint
  /// What a rank reads to begin with a checkpoint.
  std::function<std::vector<StateFile>(uint32_t rank)> restored;

  /// Whether the step, counted from 0, ends with a checkpoint.
  bool saves(uint32_t step) const { return model.every > 0 && (step + 1) % model.every == 0; }
  /// The bytes on one storage rank: of the samples of a step, of the checkpoint that ends it, and of the one before
  /// all.
  Bytes samples_at(uint32_t rank, uint32_t step, uint32_t storage) const;
  Bytes written_at(uint32_t rank, uint32_t step, uint32_t storage) const;
  Bytes restored_at(uint32_t rank, uint32_t storage) const;

  /// Of a file, which begins elsewhere with each version.
  Bytes part(const StateFile& file, uint64_t version, uint32_t storage) const;

  /// Of a job of whose state rank r keeps what `state(r)` says, and writes its part of it.
  static StorageTraffic of_shared(const StorageModel& model, uint32_t trainers, uint32_t steps,
                                  std::vector<Bytes> samples,
                                  const std::function<std::vector<SharedState>(uint32_t rank)>& state);
};

struct StorageMessage {
  uint32_t tag = 0;  ///< those of one pair with different tags need not come in one order
  Bytes size;
};
/// What passes where a rank reads or writes so many bytes.
struct StorageExchange {
  StorageExchange(bool reads, Bytes size);

  StorageMessage asked, answered;
};

/// Writes the trace of one storage rank, the `number`-th behind `trainers` others. The n-th message of a kind that
/// comes from a rank is the n-th that is served; none waits for another. Throws Error(kRun) when the file cannot be
/// written.
class StorageServer {
 public:
  /// The model is borrowed.
  StorageServer(const StorageModel& model, uint32_t trainers, uint32_t number, const NodeFile& file)
      : model_(model), trainers_(trainers), number_(number), nodes_(file) {}

  /// Of traces that have control dependencies alone, which those of another kind would have ignored.
  void take_control_dependencies() { nodes_.take_control_dependencies(); }

  /// Of the event `what` of a rank.
  void serve(const std::string& what, bool reads, uint32_t rank, Bytes size);
  NodeCounts close();

 private:
  const StorageModel& model_;
  const uint32_t trainers_, number_;
  NodeWriter nodes_;
};

/// The side of one training rank. Traffic and writer are borrowed; nothing is written without storage. What is written
/// depends on `after`; what is returned must be waited for.
class StorageClient {
 public:
  using Id = NodeWriter::Id;
  using Ids = std::vector<Id>;

  StorageClient(const StorageTraffic& traffic, uint32_t rank, NodeWriter& nodes)
      : traffic_(traffic), rank_(rank), nodes_(nodes), samples_(traffic.steps) {}

  /// The state that the first step begins with.
  Ids restore();
  /// What a rank reads for a step.
  Bytes batch(uint32_t rank) const { return traffic_.samples[rank]; }
  /// The samples of a step, for which it waits; asks for those of later ones.
  Ids samples(uint32_t step, const Ids& after);
  /// Where the step ends with a checkpoint: what the next one waits for. Else `after`.
  Ids checkpoint(uint32_t step, const Ids& after);

 private:
  /// What a rank asks of storage and gets, or gives it and has acknowledged; returns the answers. `at` says how much of
  /// each storage rank.
  template <class At>
  Ids exchange(const std::string& what, bool reads, const Ids& after, At at);
  void ask_for_samples(uint32_t step, const Ids& after);

  const StorageTraffic& traffic_;
  const uint32_t rank_;
  NodeWriter& nodes_;
  std::vector<Ids> samples_;  ///< by step: their receives
  uint32_t asked_ = 0;        ///< steps whose samples have been asked for
  Ids saved_;                 ///< answers to the asynchronous checkpoint before
};

/// Writes the traces of the storage ranks, `<prefix>.<rank>.et`; returns how many nodes they have. Throws Error(kRun)
/// when one cannot be written.
uint64_t write_storage_ranks(const StorageTraffic& traffic, const NodeFiles& set);

}  // namespace rankwire
