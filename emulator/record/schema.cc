#include "emulator/record/schema.h"

namespace rankwire {

// `operations` has no index: it is written at the rate of the run and sorted once by whoever reads it.
const char* const kRecordSchema = R"sql(
CREATE TABLE record(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE dut(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE warnings(warning INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE nodes(
  rank INTEGER NOT NULL, node INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
  "group" TEXT NOT NULL, group_size INTEGER NOT NULL, bytes INTEGER NOT NULL, recorded_ps INTEGER,
  job INTEGER NOT NULL, timed_by TEXT, sequence INTEGER, peer INTEGER, tag INTEGER, PRIMARY KEY(rank, node)) WITHOUT ROWID;
CREATE TABLE request_marks(
  rank INTEGER NOT NULL, node INTEGER NOT NULL, request INTEGER NOT NULL, arrives INTEGER NOT NULL,
  job INTEGER NOT NULL, input_tokens INTEGER, PRIMARY KEY(rank, node, request, arrives)) WITHOUT ROWID;
CREATE TABLE request_holds(
  job INTEGER NOT NULL, request INTEGER NOT NULL, batches INTEGER NOT NULL, PRIMARY KEY(job, request)) WITHOUT ROWID;
CREATE TABLE objectives(name TEXT PRIMARY KEY, limit_ps INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE certification(name TEXT NOT NULL, value REAL, text TEXT);
CREATE TABLE limits(name TEXT NOT NULL, value REAL NOT NULL);
CREATE TABLE jobs(
  job INTEGER PRIMARY KEY, name TEXT NOT NULL, first_rank INTEGER NOT NULL, ranks INTEGER NOT NULL,
  iterations INTEGER NOT NULL, follows INTEGER, start_ps INTEGER NOT NULL, color TEXT NOT NULL);
CREATE TABLE job_spans(
  run INTEGER NOT NULL, job INTEGER NOT NULL, begin_ps INTEGER, end_ps INTEGER, PRIMARY KEY(run, job)) WITHOUT ROWID;
CREATE TABLE what_if(kind TEXT NOT NULL, name TEXT NOT NULL, completion_ps INTEGER NOT NULL);
CREATE TABLE ensemble(member INTEGER PRIMARY KEY, completion_ps INTEGER NOT NULL);
CREATE TABLE ensemble_stretched(member INTEGER PRIMARY KEY, completion_ps INTEGER NOT NULL);
CREATE TABLE ensemble_ranks(
  rank INTEGER NOT NULL, member INTEGER NOT NULL, completion_ps INTEGER NOT NULL,
  PRIMARY KEY(rank, member)) WITHOUT ROWID;
CREATE TABLE ensemble_operations(
  member INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, "group" TEXT NOT NULL, job INTEGER NOT NULL,
  mean_ps INTEGER NOT NULL);
CREATE TABLE jobs_alone(
  job INTEGER PRIMARY KEY, model TEXT NOT NULL, completion_ps INTEGER NOT NULL, unharmed_ps INTEGER);
CREATE TABLE background(
  job INTEGER PRIMARY KEY, name TEXT NOT NULL, pattern TEXT NOT NULL, flows INTEGER NOT NULL,
  mean_bytes INTEGER NOT NULL, rate_bps INTEGER, message_limit INTEGER NOT NULL, start_ps INTEGER NOT NULL,
  stop_ps INTEGER);
CREATE TABLE background_ends(rank INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE background_traffic(
  run INTEGER NOT NULL, job INTEGER NOT NULL, offered INTEGER NOT NULL, posted INTEGER NOT NULL,
  acknowledged INTEGER NOT NULL, delivered INTEGER NOT NULL, failed INTEGER NOT NULL, bytes_offered INTEGER NOT NULL,
  bytes_posted INTEGER NOT NULL, bytes_delivered INTEGER NOT NULL, payload_errors INTEGER NOT NULL,
  failed_flows INTEGER NOT NULL, count INTEGER NOT NULL, p50_ps INTEGER NOT NULL, p95_ps INTEGER NOT NULL,
  p99_ps INTEGER NOT NULL, p999_ps INTEGER NOT NULL, max_ps INTEGER NOT NULL, last_delivery_ps INTEGER,
  first_arrival_ps INTEGER, PRIMARY KEY(run, job)) WITHOUT ROWID;
CREATE TABLE runs(
  run INTEGER PRIMARY KEY, fidelity TEXT NOT NULL, clock TEXT NOT NULL, ranks INTEGER NOT NULL,
  shards INTEGER NOT NULL, seed INTEGER NOT NULL, verdict TEXT, reason TEXT, completion_ps INTEGER, messages INTEGER,
  bytes INTEGER, bytes_wire INTEGER, bytes_local INTEGER, messages_lost INTEGER, messages_duplicated INTEGER,
  operations_dropped INTEGER, messages_dropped INTEGER, messages_unjoined INTEGER);
CREATE TABLE models(run INTEGER PRIMARY KEY, model TEXT NOT NULL);
CREATE TABLE repetitions(run INTEGER PRIMARY KEY, repetition INTEGER NOT NULL, planned INTEGER NOT NULL);
CREATE TABLE operations(
  run INTEGER NOT NULL, iteration INTEGER NOT NULL, rank INTEGER NOT NULL, node INTEGER NOT NULL,
  start_ps INTEGER NOT NULL, end_ps INTEGER NOT NULL);
CREATE TABLE operation_causes(
  run INTEGER NOT NULL, iteration INTEGER NOT NULL, rank INTEGER NOT NULL, node INTEGER NOT NULL,
  connection INTEGER NOT NULL, transmitting_ps INTEGER NOT NULL, window_ps INTEGER NOT NULL,
  congestion_control_ps INTEGER NOT NULL, paused_ps INTEGER NOT NULL, rnr_ps INTEGER NOT NULL,
  recovering_ps INTEGER NOT NULL, port_ps INTEGER NOT NULL, acknowledgement_ps INTEGER NOT NULL);
CREATE TABLE messages(
  run INTEGER NOT NULL, job INTEGER NOT NULL, "group" INTEGER NOT NULL, sequence INTEGER NOT NULL,
  iteration INTEGER NOT NULL, source INTEGER NOT NULL, destination INTEGER NOT NULL, step INTEGER NOT NULL,
  channel INTEGER NOT NULL, slice INTEGER NOT NULL, bytes INTEGER NOT NULL, posted_ps INTEGER, acked_ps INTEGER,
  first_rx_ps INTEGER, delivered_ps INTEGER, retransmissions INTEGER NOT NULL, marks INTEGER NOT NULL,
  failed INTEGER NOT NULL, control INTEGER NOT NULL);
CREATE TABLE message_latency(
  run INTEGER NOT NULL, job INTEGER, "group" INTEGER, source INTEGER, destination INTEGER, channel INTEGER,
  control INTEGER, count INTEGER NOT NULL, p50_ps INTEGER NOT NULL, p95_ps INTEGER NOT NULL, p99_ps INTEGER NOT NULL,
  p999_ps INTEGER NOT NULL, max_ps INTEGER NOT NULL);
CREATE INDEX message_latency_by_flow ON message_latency(run, job, "group", source, destination, channel, control);
CREATE TABLE message_buckets(
  run INTEGER NOT NULL, low_ps INTEGER NOT NULL, high_ps INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY(run, low_ps)) WITHOUT ROWID;
CREATE TABLE rank_completion(
  run INTEGER NOT NULL, rank INTEGER NOT NULL, completion_ps INTEGER NOT NULL, PRIMARY KEY(run, rank)) WITHOUT ROWID;
CREATE TABLE compute_times(
  run INTEGER NOT NULL, rank INTEGER NOT NULL, model TEXT NOT NULL, nodes INTEGER NOT NULL, time_ps INTEGER NOT NULL,
  PRIMARY KEY(run, rank, model)) WITHOUT ROWID;
CREATE TABLE compute_variation(
  run INTEGER NOT NULL, rank INTEGER NOT NULL, jitter_ps INTEGER NOT NULL, noise_ps INTEGER NOT NULL,
  slowed_ps INTEGER NOT NULL, PRIMARY KEY(run, rank)) WITHOUT ROWID;
CREATE TABLE stragglers(
  run INTEGER NOT NULL, rank INTEGER NOT NULL, from_ps INTEGER NOT NULL, until_ps INTEGER, factor_ppm INTEGER);
CREATE TABLE counters(
  run INTEGER NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL, PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE flows(
  run INTEGER NOT NULL, connection INTEGER NOT NULL, job INTEGER NOT NULL, group_id INTEGER, "group" TEXT NOT NULL,
  source INTEGER NOT NULL, destination INTEGER NOT NULL, channel INTEGER NOT NULL, path TEXT NOT NULL,
  control INTEGER NOT NULL, member INTEGER NOT NULL, source_qp INTEGER NOT NULL, destination_qp INTEGER NOT NULL,
  messages INTEGER NOT NULL, bytes INTEGER NOT NULL, packets INTEGER NOT NULL, retransmitted INTEGER NOT NULL,
  naks INTEGER NOT NULL, rnr_naks INTEGER NOT NULL, timeouts INTEGER NOT NULL, marks INTEGER NOT NULL,
  PRIMARY KEY(run, connection, member)) WITHOUT ROWID;
CREATE TABLE flow_causes(
  run INTEGER NOT NULL, connection INTEGER NOT NULL, member INTEGER NOT NULL, transmitting_ps INTEGER NOT NULL,
  window_ps INTEGER NOT NULL, congestion_control_ps INTEGER NOT NULL, paused_ps INTEGER NOT NULL,
  rnr_ps INTEGER NOT NULL, recovering_ps INTEGER NOT NULL, port_ps INTEGER NOT NULL,
  acknowledgement_ps INTEGER NOT NULL, PRIMARY KEY(run, connection, member)) WITHOUT ROWID;
CREATE TABLE flow_rdma(
  run INTEGER NOT NULL, connection INTEGER NOT NULL, member INTEGER NOT NULL, at_source INTEGER NOT NULL,
  name TEXT NOT NULL, value INTEGER NOT NULL, PRIMARY KEY(run, connection, member, at_source, name)) WITHOUT ROWID;
CREATE TABLE flow_arrivals(
  run INTEGER NOT NULL, connection INTEGER NOT NULL, member INTEGER NOT NULL, arrived INTEGER,
  unacknowledged INTEGER NOT NULL, PRIMARY KEY(run, connection, member)) WITHOUT ROWID;
CREATE TABLE flow_answers(
  run INTEGER NOT NULL, connection INTEGER NOT NULL, member INTEGER NOT NULL, acks_tx INTEGER NOT NULL,
  naks_tx INTEGER NOT NULL, acks_rx INTEGER NOT NULL, PRIMARY KEY(run, connection, member)) WITHOUT ROWID;
CREATE TABLE port_rdma(
  run INTEGER NOT NULL, port INTEGER NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL,
  PRIMARY KEY(run, port, name)) WITHOUT ROWID;
CREATE TABLE connection_cables(
  connection INTEGER PRIMARY KEY, out TEXT NOT NULL, into_last TEXT NOT NULL, back_out TEXT NOT NULL,
  back_into_last TEXT NOT NULL);
CREATE TABLE rank_nics(
  run INTEGER NOT NULL, rank INTEGER NOT NULL, nic INTEGER NOT NULL, port INTEGER NOT NULL, mac TEXT NOT NULL,
  ip TEXT NOT NULL, PRIMARY KEY(run, rank)) WITHOUT ROWID;
CREATE TABLE rank_hosts(
  run INTEGER NOT NULL, rank INTEGER NOT NULL, host INTEGER NOT NULL, PRIMARY KEY(run, rank)) WITHOUT ROWID;
CREATE TABLE ports(
  run INTEGER NOT NULL, port INTEGER NOT NULL, name TEXT NOT NULL, tx_frames INTEGER NOT NULL,
  tx_bytes INTEGER NOT NULL, rx_frames INTEGER NOT NULL, rx_bytes INTEGER NOT NULL, tx_refused INTEGER NOT NULL,
  rx_missed INTEGER NOT NULL, dropped INTEGER NOT NULL, marked INTEGER NOT NULL, hardware_time INTEGER NOT NULL,
  arrival_error_ps INTEGER NOT NULL);
CREATE TABLE port_pauses(
  run INTEGER NOT NULL, port INTEGER NOT NULL, name TEXT NOT NULL, pause_tx INTEGER NOT NULL,
  pause_rx INTEGER NOT NULL, paused_0_ps INTEGER NOT NULL, paused_1_ps INTEGER NOT NULL, paused_2_ps INTEGER NOT NULL,
  paused_3_ps INTEGER NOT NULL, paused_4_ps INTEGER NOT NULL, paused_5_ps INTEGER NOT NULL,
  paused_6_ps INTEGER NOT NULL, paused_7_ps INTEGER NOT NULL, PRIMARY KEY(run, port, name)) WITHOUT ROWID;
CREATE TABLE port_drivers(
  run INTEGER NOT NULL, port INTEGER NOT NULL, name TEXT NOT NULL, worker INTEGER, slipped_ps INTEGER NOT NULL,
  PRIMARY KEY(run, port, name)) WITHOUT ROWID;
CREATE TABLE failures(
  run INTEGER NOT NULL, connection INTEGER NOT NULL, source INTEGER NOT NULL, destination INTEGER NOT NULL,
  operation TEXT NOT NULL, message TEXT NOT NULL, reason TEXT NOT NULL, state TEXT NOT NULL);
CREATE TABLE wrong_messages(
  run INTEGER NOT NULL, operation TEXT NOT NULL, messages INTEGER NOT NULL,
  PRIMARY KEY(run, operation)) WITHOUT ROWID;
CREATE TABLE stalls(
  run INTEGER PRIMARY KEY, kind TEXT NOT NULL, culprit INTEGER, behind INTEGER NOT NULL, accused INTEGER NOT NULL,
  is_cycle INTEGER NOT NULL, last_progress_ps INTEGER NOT NULL, machine TEXT NOT NULL);
CREATE TABLE stall_waits(
  run INTEGER NOT NULL, in_chain INTEGER NOT NULL, kind TEXT NOT NULL, rank INTEGER NOT NULL, peer INTEGER,
  operation TEXT NOT NULL, group_name TEXT NOT NULL, iteration INTEGER NOT NULL, connection INTEGER,
  source_qp INTEGER NOT NULL, destination_qp INTEGER NOT NULL, retries INTEGER NOT NULL, state TEXT NOT NULL);
CREATE TABLE hardware_counters(
  run INTEGER NOT NULL, port INTEGER NOT NULL, name TEXT NOT NULL, before INTEGER NOT NULL, after INTEGER NOT NULL);
CREATE TABLE port_settings(
  run INTEGER NOT NULL, port INTEGER NOT NULL, name TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL);
CREATE TABLE impairments(
  run INTEGER NOT NULL, time_ps INTEGER NOT NULL, rule INTEGER NOT NULL, action TEXT NOT NULL, port INTEGER NOT NULL,
  direction TEXT NOT NULL, connection INTEGER, source INTEGER, destination INTEGER, operation TEXT NOT NULL,
  message TEXT NOT NULL, packet INTEGER, psn INTEGER, opcode TEXT NOT NULL);
CREATE TABLE impairment_rules(
  run INTEGER NOT NULL, rule INTEGER NOT NULL, action TEXT NOT NULL, done INTEGER NOT NULL, not_done INTEGER NOT NULL,
  PRIMARY KEY(run, rule)) WITHOUT ROWID;
CREATE TABLE queue_sampling(
  run INTEGER PRIMARY KEY, interval_ps INTEGER NOT NULL, rows INTEGER NOT NULL, rows_lost INTEGER NOT NULL);
CREATE TABLE queue_samples(
  run INTEGER NOT NULL, time_ps INTEGER NOT NULL, name TEXT NOT NULL, priority INTEGER NOT NULL,
  queue_bytes INTEGER NOT NULL, paused INTEGER NOT NULL, marks INTEGER NOT NULL, drops INTEGER NOT NULL,
  xoff_rx INTEGER NOT NULL, xoff_tx INTEGER NOT NULL);
CREATE TABLE rate_sampling(
  run INTEGER PRIMARY KEY, port_interval_ps INTEGER NOT NULL, allowance_interval_ps INTEGER NOT NULL,
  rows_lost INTEGER NOT NULL);
CREATE TABLE port_rates(
  run INTEGER NOT NULL, time_ps INTEGER NOT NULL, port INTEGER NOT NULL, tx_bytes INTEGER NOT NULL,
  rx_bytes INTEGER NOT NULL);
CREATE TABLE allowances(
  run INTEGER NOT NULL, time_ps INTEGER NOT NULL, connection INTEGER NOT NULL, member INTEGER NOT NULL,
  rate_bps INTEGER NOT NULL, lowest_rate_bps INTEGER NOT NULL, window_bytes INTEGER, smallest_window_bytes INTEGER,
  source INTEGER NOT NULL, destination INTEGER NOT NULL);
CREATE TABLE devices(
  run INTEGER NOT NULL, device INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, samples INTEGER NOT NULL,
  failures INTEGER NOT NULL, samples_together INTEGER NOT NULL, rows_lost INTEGER NOT NULL, stamped INTEGER NOT NULL,
  clock_ahead_ns INTEGER, round_trip_ps INTEGER, clock_steps INTEGER NOT NULL,
  PRIMARY KEY(run, device)) WITHOUT ROWID;
CREATE TABLE device_counters(
  run INTEGER NOT NULL, counter INTEGER NOT NULL, device INTEGER NOT NULL, port TEXT NOT NULL, own_port TEXT NOT NULL,
  queue TEXT NOT NULL, name TEXT NOT NULL, metric TEXT NOT NULL, PRIMARY KEY(run, counter)) WITHOUT ROWID;
CREATE TABLE device_samples(
  run INTEGER NOT NULL, counter INTEGER NOT NULL, time_ps INTEGER NOT NULL, error_ps INTEGER, value INTEGER NOT NULL);
CREATE TABLE storms(
  run INTEGER NOT NULL, name TEXT NOT NULL, priority INTEGER NOT NULL, stuck_ps INTEGER NOT NULL,
  begin_ps INTEGER NOT NULL, end_ps INTEGER, dropped INTEGER NOT NULL, forwarded INTEGER NOT NULL);
CREATE TABLE shared_links(
  run INTEGER NOT NULL, link TEXT NOT NULL, job INTEGER NOT NULL, other INTEGER NOT NULL, time_ps INTEGER NOT NULL,
  shared_ps INTEGER NOT NULL, bytes INTEGER NOT NULL, shared_bytes INTEGER NOT NULL);
CREATE TABLE details(run INTEGER NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL);
CREATE TABLE latency(
  latency INTEGER PRIMARY KEY, run INTEGER NOT NULL, port INTEGER, kind TEXT NOT NULL, count INTEGER NOT NULL,
  min_ps INTEGER NOT NULL, mean_ps INTEGER NOT NULL, p50_ps INTEGER NOT NULL, p90_ps INTEGER NOT NULL,
  p99_ps INTEGER NOT NULL, p999_ps INTEGER NOT NULL, max_ps INTEGER NOT NULL, hardware_time INTEGER NOT NULL,
  error_ps INTEGER NOT NULL);
CREATE TABLE latency_buckets(
  latency INTEGER NOT NULL, low_ps INTEGER NOT NULL, high_ps INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY(latency, low_ps)) WITHOUT ROWID;
CREATE TABLE cores(
  run INTEGER NOT NULL, worker INTEGER NOT NULL, busy REAL NOT NULL, PRIMARY KEY(run, worker)) WITHOUT ROWID;
CREATE TABLE machines(
  run INTEGER NOT NULL, machine INTEGER NOT NULL, name TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL,
  recorded INTEGER NOT NULL, clock_offset_ps INTEGER NOT NULL, clock_drift_ppb INTEGER NOT NULL,
  clock_error_ps INTEGER NOT NULL, PRIMARY KEY(run, machine)) WITHOUT ROWID;
CREATE TABLE turns(
  run INTEGER NOT NULL, worker INTEGER NOT NULL, low_ps INTEGER NOT NULL, high_ps INTEGER NOT NULL,
  count INTEGER NOT NULL, PRIMARY KEY(run, worker, low_ps)) WITHOUT ROWID;
)sql";

}  // namespace rankwire
