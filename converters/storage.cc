#include "converters/storage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.h"
#include "converters/generated_traces.h"
#include "converters/model_sizes.h"

namespace rankwire {
namespace {

enum StorageTag : uint32_t { kAsked, kRead, kWritten, kStored };

/// Of `size` bytes in stripes of `stripe`, those on the `turn`-th of `ranks` storage ranks to which they go in turn.
Bytes striped_part(Bytes size, Bytes stripe, uint32_t ranks, uint32_t turn) {
  const int64_t whole = size.count / stripe.count, last = whole % ranks;
  const int64_t stripes = whole / ranks + (turn < last ? 1 : 0);
  return Bytes(stripes * stripe.count + (turn == last ? size.count % stripe.count : 0));
}

std::string event_name(const StorageTraffic& traffic, uint32_t step, const char* what) {
  return step_prefix(traffic.steps, step) + what;
}

/// What one storage rank has to do with all others in one event, in the order of the ranks.
template <class SizeOf>
void serve_each(StorageServer& server, uint32_t trainers, const std::string& what, bool reads, SizeOf size_of) {
  for (uint32_t rank = 0; rank < trainers; ++rank)
    if (const Bytes size = size_of(rank); size.count > 0) server.serve(what, reads, rank, size);
}

uint64_t write_storage_rank(const StorageTraffic& traffic, uint32_t number, const NodeFile& file) {
  StorageServer server(traffic.model, traffic.trainers, number, file);
  const auto each = [&](const std::string& what, bool reads, auto size_of) {
    serve_each(server, traffic.trainers, what, reads, size_of);
  };
  if (traffic.model.restore) each("restore", true, [&](uint32_t rank) { return traffic.restored_at(rank, number); });
  for (uint32_t step = 0; step < traffic.steps; ++step) {
    if (traffic.model.sample.count > 0) {
      each(event_name(traffic, step, "samples"), true,
           [&](uint32_t rank) { return traffic.samples_at(rank, step, number); });
    }
    if (traffic.saves(step)) {
      each(event_name(traffic, step, "checkpoint"), false,
           [&](uint32_t rank) { return traffic.written_at(rank, step, number); });
    }
  }
  return server.close().nodes;
}

}  // namespace

std::optional<WrongModel> wrong_storage(const StorageModel& storage, uint32_t steps) {
  std::optional<WrongModel> found;
  const auto refuse_if = [&](bool wrong, const char* key, std::string text) {
    if (wrong && !found) found = {fmt::format("storage.{}", key), std::move(text)};
  };
  const StorageModel fallback;
  if (storage.ranks == 0) {
    refuse_if(storage != fallback, "ranks", "is 0; the other keys of 'storage' need 1 or more");
    return found;
  }
  const bool hashed = storage.placement == StorageModel::Placement::kHashed;
  const bool reads = storage.sample.count > 0;
  refuse_if(!reads && storage.every == 0 && !storage.restore, "ranks",
            fmt::format("{} would have nothing to do; give 'samples.size', 'checkpoint.every' or 'checkpoint.restore' "
                        "there",
                        storage.ranks));
  refuse_if(hashed && storage.stripe != fallback.stripe, "stripe", "is for 'placement: striped'");
  refuse_if(storage.stripe.count < 1, "stripe", fmt::format("is {}, must be at least 1", storage.stripe.count));
  refuse_if(!hashed && storage.seed != fallback.seed, "seed", "is for 'placement: hashed'");
  refuse_if(!reads && storage.prefetch != fallback.prefetch, "samples.prefetch", "needs 'samples.size'");
  refuse_if(storage.every > steps, "checkpoint.every",
            fmt::format("{} is above steps {}, so that none would end with a checkpoint", storage.every, steps));
  refuse_if(storage.every == 0 && storage.asynchronous, "checkpoint.mode", "needs 'checkpoint.every'");
  refuse_if(storage.copy && !storage.asynchronous, "checkpoint.copy", "is for 'mode: async'");
  return found;
}

void SharedState::add_files(StorageModel::Writers writers, std::vector<StateFile>& files) const {
  for (uint32_t holder = 0; holder < holders; ++holder) add_file_of(first + holder * stride, writers, files);
}

void SharedState::add_file_of(uint32_t rank, StorageModel::Writers writers, std::vector<StateFile>& files) const {
  const bool each = writers == StorageModel::Writers::kAll;
  if (!each && rank != first) return;
  const Bytes size(size_product({divide_up(parameters, each ? holders : 1), bytes}));
  if (size.count > 0) files.push_back({rank, number, size});
}

StorageExchange::StorageExchange(bool reads, Bytes size)
    : asked{reads ? kAsked : kWritten, reads ? kStorageRequest : size},
      answered{reads ? kRead : kStored, reads ? size : kStorageRequest} {}

void StorageServer::serve(const std::string& what, bool reads, uint32_t rank, Bytes size) {
  const uint32_t self = trainers_ + number_;
  const StorageExchange messages(reads, size);
  const auto name = [&](const char* part) { return fmt::format("{}.rank{}.{}", what, rank, part); };
  std::vector<NodeWriter::Id> ready = {
      nodes_.receive(name(reads ? "asked" : "receive"), rank, self, messages.asked.tag, messages.asked.size, {})};
  if (model_.bandwidth) {
    const uint64_t micros = micros_of(size, *model_.bandwidth);
    ready = {nodes_.on_host().compute(name(reads ? "read" : "write"), micros, 0, Bytes(0), ready)};
  }
  nodes_.send(name(reads ? "send" : "stored"), self, rank, messages.answered.tag, messages.answered.size, ready);
}

NodeCounts StorageServer::close() {
  // A hash may leave a rank without any file, but a trace has a node.
  if (nodes_.counts().nodes == 0) nodes_.on_host().compute("idle", 0, 0, Bytes(0), {});
  nodes_.close();
  return nodes_.counts();
}

Bytes StorageTraffic::part(const StateFile& file, uint64_t version, uint32_t storage) const {
  if (model.placement == StorageModel::Placement::kStriped) {
    const uint64_t first = (uint64_t{file.writer} + file.number + version) % model.ranks;
    const auto turn = static_cast<uint32_t>((storage + model.ranks - first) % model.ranks);
    return striped_part(file.size, model.stripe, model.ranks, turn);
  }
  uint64_t hash = model.seed;
  for (const uint64_t word : {uint64_t{file.writer}, uint64_t{file.number}, version})
    hash = mix64(hash + mix64(word + 1));
  return hash % model.ranks == storage ? file.size : Bytes(0);
}

Bytes StorageTraffic::samples_at(uint32_t rank, uint32_t step, uint32_t storage) const {
  // No file of a state has this number, so that samples are placed on their own.
  return part({.writer = rank, .number = UINT32_MAX, .size = samples[rank]}, step, storage);
}

Bytes StorageTraffic::written_at(uint32_t rank, uint32_t step, uint32_t storage) const {
  Bytes sum;
  for (const StateFile& file : written[rank]) sum += part(file, step + 1, storage);
  return sum;
}

Bytes StorageTraffic::restored_at(uint32_t rank, uint32_t storage) const {
  int64_t sum = 0;
  for (const StateFile& file : restored(rank)) sum = size_sum({sum, part(file, 0, storage).count});
  return Bytes(sum);
}

StorageTraffic StorageTraffic::of_shared(const StorageModel& model, uint32_t trainers, uint32_t steps,
                                         std::vector<Bytes> samples,
                                         const std::function<std::vector<SharedState>(uint32_t rank)>& state) {
  StorageTraffic traffic{.model = model,
                         .trainers = trainers,
                         .steps = steps,
                         .samples = std::move(samples),
                         .written = std::vector<std::vector<StateFile>>(trainers),
                         .restored = {}};
  for (uint32_t rank = 0; model.every > 0 && rank < trainers; ++rank) {
    for (const SharedState& shared : state(rank)) shared.add_file_of(rank, model.writers, traffic.written[rank]);
  }
  traffic.restored = [state, writers = model.writers](uint32_t rank) {
    std::vector<StateFile> files;
    for (const SharedState& shared : state(rank)) shared.add_files(writers, files);
    return files;
  };
  return traffic;
}

template <class At>
StorageClient::Ids StorageClient::exchange(const std::string& what, bool reads, const Ids& after, At at) {
  Ids answers;
  for (uint32_t storage = 0; storage < traffic_.model.ranks; ++storage) {
    const Bytes size = at(storage);
    if (size.count == 0) continue;
    const uint32_t peer = traffic_.trainers + storage;
    const std::string name = fmt::format("{}.storage{}.", what, storage);
    const StorageExchange messages(reads, size);
    nodes_.send(name + (reads ? "ask" : "send"), rank_, peer, messages.asked.tag, messages.asked.size, after);
    answers.push_back(nodes_.receive(name + (reads ? "receive" : "stored"), peer, rank_, messages.answered.tag,
                                     messages.answered.size, after));
  }
  return answers;
}

StorageClient::Ids StorageClient::restore() {
  if (!traffic_.model.restore) return {};
  return exchange("restore", true, {}, [&](uint32_t storage) { return traffic_.restored_at(rank_, storage); });
}

void StorageClient::ask_for_samples(uint32_t step, const Ids& after) {
  samples_[step] = exchange(event_name(traffic_, step, "samples"), true, after,
                            [&](uint32_t storage) { return traffic_.samples_at(rank_, step, storage); });
}

StorageClient::Ids StorageClient::samples(uint32_t step, const Ids& after) {
  if (traffic_.model.sample.count == 0) return {};
  const uint64_t end = std::min<uint64_t>(traffic_.steps, uint64_t{step} + traffic_.model.prefetch + 1);
  for (; asked_ < end; ++asked_) ask_for_samples(asked_, after);
  return samples_[step];
}

StorageClient::Ids StorageClient::checkpoint(uint32_t step, const Ids& after) {
  if (!traffic_.saves(step) || traffic_.written[rank_].empty()) return after;
  const StorageModel& model = traffic_.model;
  const std::string name = event_name(traffic_, step, "checkpoint");
  Ids ready = after;
  if (model.asynchronous) {
    // The copy takes the place of the one before, which must have been stored.
    ready.insert(ready.end(), saved_.begin(), saved_.end());
    if (model.copy) {
      int64_t state = 0;
      for (const StateFile& file : traffic_.written[rank_]) state = size_sum({state, file.size.count});
      ready = {nodes_.on_host().compute(name + ".copy", micros_of(Bytes(state), *model.copy), 0, Bytes(0), ready)};
    }
  }
  saved_ = exchange(name, false, ready, [&](uint32_t storage) { return traffic_.written_at(rank_, step, storage); });
  return model.asynchronous ? ready : saved_;
}

uint64_t write_storage_ranks(const StorageTraffic& traffic, const NodeFiles& set) {
  uint64_t nodes = 0;
  for (uint32_t number = 0; number < traffic.model.ranks; ++number)
    nodes += write_storage_rank(traffic, number, set.file(traffic.trainers + number));
  return nodes;
}

}  // namespace rankwire
