#include "emulator/report/metric_texts.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "emulator/report/device_texts.h"
#include "emulator/report/format.h"
#include "emulator/report/gap_texts.h"
#include "emulator/report/interference_texts.h"
#include "emulator/report/trace_texts.h"

namespace rankwire {
namespace {

constexpr MetricText kTexts[] = {
    {"result", "Verdict", "that of the emulated side unless it is ok, then the reference's"},
    {"result", "Emulated", "job completion time: end of the last operation of the slowest rank, from 0"},
    {"result", "Emulated (twin)",
     "job completion time in virtual time: end of the last operation of the slowest rank, from 0"},
    {"result", "Reference", "job completion time in the model: end of the last operation of the slowest rank, from 0"},
    {"result", "Emulated / reference", "emulated / reference completion time; 1 is a network as good as the model's"},
    {"result", "Fidelity", "whether the generator or the device under test set the pace"},
    {"result", "Planned traffic", "payload of all messages of the plan that cross a port, each counted once"},
    {"result", "Retransmitted", "data packets sent again, all ports together"},
    {"result", "Congestion", "frames received with ECN CE, all ports together"},
    {"result", "Messages delivered", "messages delivered at their destination, of those of the plan"},

    {"any", "Rank", "number of the rank, within its job where there are several"},
    {"any", "Worst rank", "the rank whose execution this is: of all ranks and iterations the worst"},
    {"any", "From rank", "the rank that sends"},
    {"any", "To rank", "the rank that receives"},
    {"any", "Iteration", "iteration of the workload, from 0"},
    {"any", "Operation", "name of the node in the trace; # stands for any number"},
    {"any", "Kind", "compute, host, memory, send, receive, or the collective"},
    {"any", "Group", "name of the process group"},
    {"any", "Node", "the trace's own id of the node"},
    {"any", "Size", "the rank's input (the root's, for broadcast and scatter), bytes"},
    {"any", "Path", "whether the data went over the wire, within a server (local), or both"},
    {"any", "Port", "name of the port, as in ports.csv"},
    {"any", "Priority", "priority of the queue, 0 to 7"},
    {"any", "Channel", "channel of the connection, from 0"},
    {"any", "Ratio", "emulated / reference duration"},
    {"any", "Extra time", "emulated - reference"},
    {"any", "busbw Gbit/s",
     "S / t x factor(n) of nccl-tests, t from start to end of the operation at the rank, 10^9 bit/s"},
    {"any", "Retransmitted", "data packets sent again"},
    {"any", "NAKs", "sequence-error NAKs that the source received"},
    {"any", "RNR NAKs", "receiver-not-ready NAKs that the source received"},
    {"any", "Time-outs", "expirations of the retransmission timer"},
    {"any", "CE marks", "data packets that arrived with ECN CE"},
    {"any", "CNPs sent", "congestion notification packets that answered marked data packets"},
    {"any", "CNPs handled", "congestion notification packets received of which congestion control made something"},
    {"any", "Where the time went", "shares of the time from a post until everything posted is acknowledged, by cause"},
    {"any", "Of the completion", "time / completion time of the run"},
    {"any", "Run", "which run of the record: emulated, twin, reference, or the model"},
    {"any", "P50", "half of the messages took so long at most, from post to delivery"},
    {"any", "P99", "99 % of the messages took so long at most, from post to delivery"},

    {"critical path", "Part of the gap", "a cause of emulated - reference completion time; all of them add up to it"},
    {"critical path", "On the path", "operations on the chain that the completion time consists of"},
    {"critical path", "Computes on the path", "the rank whose computing is on the chain"},
    {"critical path", "Whose",
     "the group that communicates on the chain, the port behind which it does, the connection held up longest in a "
     "step"},
    {"critical path", "Steps", "executions on the chain"},
    {"critical path", "Time", "sum over the steps, each from when the last of what it waited for had begun to its end"},
    {"critical path", "Reference", "what the same executions took in the reference"},
    {"critical path", "Without it",
     "completion time in a replay of all recorded executions in which none takes longer for this part"},
    {"slack", "Operation", "executions whose names differ in numbers only"},
    {"slack", "Rank", "all executions of the rank"},
    {"slack", "Executions", "how many of them the run had"},
    {"slack", "Least", "how much later the most critical of them could have ended without making the run longer"},
    {"slack", "Median", "the same of half of them, at most"},

    {"repetitions", "Repetition",
     "number of the repetition, from 1; the rest of the page is about the one that is shown"},
    {"repetitions", "Completion", "job completion time of this repetition"},
    {"repetitions", "Emulated / reference", "completion time of this repetition / that of the reference"},
    {"repetitions", "Verdict", "verdict of this repetition alone"},
    {"repetitions", "Fidelity", "whether the generator or the device under test set the pace of this repetition"},
    {"repetitions", "Reason", "first line of why this repetition has its verdict"},
    {"blame", "Job", "whose time it is, of several jobs; first the one that ended last"},
    {"blame", "To blame", "what time was lost to, the most first"},
    {"blame", "Culprit",
     "whose it is: rank, host, cable, switch, port, job or the generator; empty: all alike, or not known"},
    {"blame", "Lost", "time of the completion time that it accounts for"},
    {"blame", "Of what was lost",
     "its part of the gap to the reference and of what the reference loses in the same manner"},
    {"blame", "Confidence", "high, medium or low: how large the part is, and whether it was counted at the culprit"},
    {"blame", "Evidence", "the figures of the record that speak for it"},
    {"what if", "If this took no time", "what is free in a further run of the model flow, all else being as it is"},
    {"what if", "the reference would take", "completion time of that run"},
    {"what if", "Saved", "completion time of the model flow - that of the run with one thing free"},

    {"losses", "From port", "port of the sources"},
    {"losses", "To port", "port of the destinations"},
    {"losses", "Data packets", "data packets sent, repeated ones included, of queue pairs both of whose ends count"},
    {"losses", "Lost", "those that neither arrived intact nor were under way at the end"},
    {"losses", "Of its packets", "lost / data packets between these ports"},
    {"losses", "Of all lost", "lost between these ports / lost in all"},

    {"failures", "Message", "identity of the first message that failed on the connection"},
    {"failures", "Reason", "why it failed; the same words for every transport"},
    {"failures", "State of the connection at the end",
     "both ends of the connection when the run ended, in the transport's words"},

    {"collective", "Size B",
     "bytes of a call as nccl-tests counts them: what a rank has, or the whole where ranks have parts of it"},
    {"collective", "Elements", "elements of the call, of each part where there are parts"},
    {"collective", "Type", "data type, whose size counts; nothing is calculated with it"},
    {"collective", "Redop", "reduction that the call is of, or none"},
    {"collective", "Root", "rank that the data comes from or goes to; -1: there is none"},
    {"collective", "Time us",
     "mean over iterations and ranks, or of the ranks that `average` names, of the time that a call takes, emulated, "
     "microseconds; of the reference where nothing was emulated"},
    {"collective", "algbw GB/s", "size / time, 10^9 byte/s; of a hypercube (n - 1) / n of it"},
    {"collective", "busbw GB/s", "algbw x factor(n) of nccl-tests"},
    {"collective", "#wrong",
     "messages of this size whose payload was wrong; N/A where it was not compared, or that is not known"},
    {"collective", "Reference us", "the same mean of the time in the reference model, microseconds"},
    {"collective", "Ratio", "emulated / reference mean time"},
    {"collective", "Band low us", "5 % of the mean times in the members of the reference's ensemble, microseconds"},
    {"collective", "Band high us", "95 % of the mean times in the members of the reference's ensemble, microseconds"},
    {"collective", "P50 us", "median over iterations and ranks of the time that a call takes, microseconds"},
    {"collective", "P95 us", "95 of 100 calls take so long or less, microseconds"},
    {"collective", "P99 us", "99 of 100 calls take so long or less, microseconds"},

    {"cluster", "Size B", "bytes of a call, which both measured"},
    {"cluster", "Emulated us", "emulated mean time of a call, microseconds"},
    {"cluster", "Reference us", "mean time of a call in the reference model, microseconds"},
    {"cluster", "Cluster us", "mean time of a call that nccl-tests printed, microseconds"},
    {"cluster", "Emulated busbw GB/s", "bus bandwidth of the emulated mean time"},
    {"cluster", "Reference busbw GB/s", "bus bandwidth of the reference's mean time"},
    {"cluster", "Cluster busbw GB/s", "bus bandwidth of the cluster's mean time"},
    {"cluster", "Emulated / cluster", "emulated / cluster mean time; *: more than 10 % off 1"},
    {"cluster", "Reference / cluster", "reference / cluster mean time; *: more than 10 % off 1"},
    {"cluster", "Off by more than 10 %", "the sides of which the ratio has a *"},

    {"jobs", "Job", "name of the job"},
    {"jobs", "Ranks", "ranks of the job"},
    {"jobs", "Iterations", "iterations of the job"},
    {"jobs", "Begins", "when its ranks might start"},
    {"jobs", "Alone", "completion time in the model without the other jobs, at the same places"},
    {"jobs", "Emulated", "completion time of the job: end - begin"},
    {"jobs", "Reference", "completion time of the job in the model: end - begin"},
    {"jobs", "Times alone", "completion time / completion time alone"},

    {"shared ports", "Port", "port of the generator behind which both jobs have ranks"},
    {"shared ports", "Direction", "out: what ranks behind the port sent over the wire; in: what they received"},
    {"shared ports", "Job", "the job that has messages there"},
    {"shared ports", "Shares it with", "the other job that had messages there at the same time"},
    {"shared ports", "For", "time in which both had messages there, from post to delivery"},
    {"shared ports", "Predicted", "the same on the port's cable in the model flow"},
    {"shared ports", "Of the time it has messages there",
     "time in which the job had messages there, from post to delivery"},
    {"shared ports", "Predicted time",
     "time in which the job has messages on the way over the port's cable in the model flow"},
    {"shared ports", "Payload of all its messages there",
     "payload of the job's messages through the port in this direction"},
    {"shared ports", "Of the other's", "payload of the other job's messages there"},

    {"shared links", "Link", "one direction of a cable, as in ports.csv"},
    {"shared links", "Job", "the job that sends there"},
    {"shared links", "Shares it with", "the other job that had messages on their way there at the same time"},
    {"shared links", "For", "time in which both had messages on their way there"},
    {"shared links", "Of the time it sends there", "time in which the job had messages on their way there"},
    {"shared links", "Sends then", "bytes of the line that the job sent while the other did, headers included"},
    {"shared links", "Of all it sends there", "bytes of the line that the job sent there, headers included"},

    {"background", "Entry", "name of the entry of the configuration"},
    {"background", "Pattern", "who sends to whom"},
    {"background", "Flows", "queue pairs of the entry"},
    {"background", "Each flow", "mean size of a message, and rate or messages under way of each flow"},
    {"background", "When", "from when to when messages are posted"},
    {"background", "Messages offered", "messages that were due"},
    {"background", "Not posted", "messages that were due and not given to the transport"},
    {"background", "Delivered", "messages delivered at their destination"},
    {"background", "Failed", "messages given up"},
    {"background", "Bytes delivered", "payload of the messages delivered"},
    {"background", "Gbit/s", "payload delivered / time from start to stop or the end of the run, 10^9 bit/s"},
    {"background", "P50", "half of the messages took so long at most, from post to acknowledgement"},
    {"background", "P99", "99 % of the messages took so long at most, from post to acknowledgement"},
    {"background", "Slowest", "the longest time from post to acknowledgement"},

    {"storms", "Stuck since", "when the queue last sent something, in time of the run"},
    {"storms", "Begin", "when the PFC watchdog took the queue"},
    {"storms", "End", "when it gave it back; -: the run ended before"},
    {"storms", "Dropped", "frames of the queue that the watchdog dropped"},
    {"storms", "Sent against the pause", "frames of the queue that were sent although the other end forbade it"},

    {"deviations", "Extra time", "emulated - reference duration of the execution"},
    {"deviations", "Emulated", "duration of the execution, from start to end at the rank"},
    {"deviations", "Reference", "duration of the same execution in the reference"},
    {"operation gaps", "Parts of it",
     "causes of the extra time; all of them add up to it, the largest four are named; -: the record does not say"},
    {"longest", "Duration", "duration of the execution, from start to end at the rank"},
    {"slow operations", "Time", "time of the connection's messages in this operation, from post to acknowledgement"},

    {"models", "Verdict", "how the run of this model ended"},
    {"models", "Completion", "completion time of the run of this model"},
    {"models", "Emulated / model", "emulated completion time / that of this model"},
    {"models", "kind", "mean duration of an operation of this kind at a rank, waiting for others included"},

    {"ranks", "Emulated", "completion time of the rank: end of its last operation, from 0"},
    {"ranks", "Reference", "completion time of the rank in the reference"},
    {"ranks", "Extra time", "emulated - reference completion time of the rank"},
    {"ranks", "Band", "5 % .. 95 % of the rank's completion times in the ensemble of the reference"},
    {"ranks", "Beyond the band",
     "emulated completion time behind the end of the band, or before its beginning (negative)"},
    {"ranks", "Compute", "time with at least one compute, host or memory node at work"},
    {"ranks", "Compute, emulated", "time with at least one compute, host or memory node at work"},
    {"ranks", "Compute, reference", "the same in the reference"},
    {"ranks", "Exposed communication",
     "time with a communication node and none that computes at work, waiting included"},
    {"ranks", "Exposed communication, emulated",
     "time with a communication node and none that computes at work, waiting included"},
    {"ranks", "Exposed communication, reference", "the same in the reference"},

    {"compute", "Side", "which run of the record"},
    {"compute", "Model", "what gives nodes their times"},
    {"compute", "Nodes", "nodes that the model gave their times"},
    {"compute", "Time", "their times together, before anything varied them"},
    {"compute", "Jitter", "what jitter added to nodes that began; it may take away"},
    {"compute", "Noise", "what noise added to nodes that began"},
    {"compute", "Stragglers", "what stragglers added to nodes that began"},
    {"compute", "Straggler", "the rank, by how much it was slowed, and when"},
    {"compute", "The rank computed longer by", "what the straggler added to the nodes of its rank"},

    {"latency", "Latency",
     "round trip: from a data packet to the acknowledgement of just it; one way: from a message's last packet to its "
     "arrival"},
    {"latency", "Packets", "packets that were measured"},
    {"latency", "Min us", "shortest, microseconds"},
    {"latency", "Mean us", "sum / count, microseconds"},
    {"latency", "P50 us", "half of the packets took so long at most, microseconds, at most 1/32 too high"},
    {"latency", "P90 us", "90 % of the packets took so long at most, microseconds, at most 1/32 too high"},
    {"latency", "P99 us", "99 % of the packets took so long at most, microseconds, at most 1/32 too high"},
    {"latency", "P99.9 us", "99.9 % of the packets took so long at most, microseconds, at most 1/32 too high"},
    {"latency", "Max us", "longest, microseconds"},
    {"latency", "Clock", "what arrivals are read from, and how wrong it can be"},

    {"operations", "Executions", "how often nodes of the pattern were executed, over ranks and iterations"},
    {"operations", "Size", "smallest and largest input of a rank, bytes"},
    {"operations", "Emulated mean", "mean duration over all executions"},
    {"operations", "Reference mean", "mean duration over all executions in the reference"},
    {"operations", "Ratio", "emulated / reference mean"},
    {"operations", "Ratio to the band",
     "emulated mean / median of the means in the ensemble of the reference, and over their 95 % and 5 % quantile"},
    {"operations", "Longest", "longest emulated, else reference duration"},
    {"operations", "In the trace", "mean duration that the trace itself holds, unscaled"},
    {"operations", "busbw Gbit/s", "S x factor(n) of all executions / all their time, 10^9 bit/s"},

    {"requests", "Run", "emulated, reference, or a twin beside them"},
    {"requests", "Requests", "requests of which nodes of the trace tell, in each iteration"},
    {"requests", "Complete", "requests all of whose tokens are known"},
    {"requests", "Output tokens", "tokens that became known, of all requests"},
    {"requests", "Requests/s", "complete requests / time from the first arrival to the last token"},
    {"requests", "Tokens/s", "output tokens / time from the first arrival to the last token"},
    {"requests", "Kept objectives", "complete requests that keep every objective of slo / requests"},
    {"requests", "Goodput/s",
     "complete requests that keep every objective of slo / time from the first arrival to the last token"},
    {"requests", "Quantity",
     "from arrival to first token; from first to last token, for each behind the first; from arrival to last token"},
    {"requests", "Objective", "what slo says of it; - where it says nothing"},
    {"requests", "Mean", "mean over the requests that have it"},
    {"requests", "P50", "half of the requests took so long at most"},
    {"requests", "P90", "90 % of the requests took so long at most"},
    {"requests", "P95", "95 % of the requests took so long at most"},
    {"requests", "P99", "99 % of the requests took so long at most"},
    {"requests", "Longest", "the longest of any request"},
    {"message times", "Messages", "data messages that arrived"},
    {"message times", "Shortest", "the shortest time from post to delivery; - where only a histogram is known"},
    {"message times", "P99.9", "99.9 % of the messages took so long at most, from post to delivery"},
    {"message times", "Longest", "the longest time from post to delivery"},
    {"message times", "Known from", "whether the record has every message, or a histogram of them"},

    {"traffic", "From", "who sends: a rank, or ranks put together"},
    {"traffic", "To", "who receives"},
    {"traffic", "Payload", "bytes of data messages, those sent again counted once"},
    {"traffic", "Local", "of it, what the modelled interconnect carried"},
    {"traffic", "Of all", "payload / payload of all pairs"},

    {"messages", "Completion", "from post at the source to delivery at the destination"},
    {"messages", "Step", "step of the collective's schedule, from 0"},
    {"messages", "Slice", "slice of the step's data, from 0"},
    {"messages", "Bytes", "payload of the message"},
    {"messages", "Posted", "when the source posted it, in time of the run"},
    {"messages", "Delivered", "when it was delivered at its destination, in time of the run"},
    {"messages", "Retransmissions", "packets of the message that were sent again"},
    {"messages", "CE marks", "packets of the message that arrived with ECN CE"},

    {"transport", "Counter", "its name in summary.json"},
    {"transport", "Value", "exact count, all ports together"},

    {"rank traffic", "Address", "IP address of the rank's NIC"},
    {"rank traffic", "Messages sent",
     "messages of queue pairs on the wire that the rank is the source of; a split one counts at each"},
    {"rank traffic", "Bytes sent", "payload of these messages"},
    {"rank traffic", "Packets sent", "data packets that the rank sent, repeated ones included"},
    {"rank traffic", "Messages received",
     "messages of queue pairs on the wire that the rank is the destination of; a split one counts at each"},
    {"rank traffic", "Bytes received", "payload of these messages"},

    {"queue pairs", "Member", "which queue pair of the connection, from 0"},
    {"queue pairs", "Source QP", "queue pair number at the source; 0 where there are none"},
    {"queue pairs", "Destination QP", "queue pair number at the destination; 0 where there are none"},
    {"queue pairs", "Messages", "messages that the queue pair carried; a split one counts at each"},
    {"queue pairs", "Bytes", "payload that the queue pair carried"},
    {"queue pairs", "Packets", "data packets sent by the source, repeated ones included"},
    {"queue pairs", "Max", "the longest time of a message of the connection, from post to delivery"},

    {"ports", "Frames sent", "frames that the port sent"},
    {"ports", "Bytes sent", "their bytes, without FCS"},
    {"ports", "Mean Gb/s sent", "bytes sent / completion time, 10^9 bit/s"},
    {"ports", "Frames received", "frames that the port received"},
    {"ports", "Bytes received", "their bytes, without FCS"},
    {"ports", "Mean Gb/s received", "bytes received / completion time, 10^9 bit/s"},
    {"ports", "Refused", "frames that the port did not take at once; they were offered again"},
    {"ports", "Missed", "received frames lost for want of a buffer"},
    {"ports", "Dropped", "frames that a port of the embedded switch lost"},
    {"ports", "Marked CE", "frames that a port of the embedded switch changed to ECN CE"},

    {"queues", "Longest", "most bytes that waited at the end of an interval, without FCS"},
    {"queues", "Mean", "mean of the bytes that waited over the run's time, every sample holding until the next"},
    {"queues", "Marked CE", "frames of the queue changed to ECN CE"},
    {"queues", "Dropped", "frames of the queue that were dropped"},
    {"queues", "XOFF received", "times that the other end began to pause the queue"},
    {"queues", "XOFF sent", "times that the port began to ask the other end not to send this priority"},
    {"queues", "Samples", "intervals in which something happened to the queue"},
    {"rates", "Sent", "bytes that the port sent, without FCS"},
    {"rates", "Received", "bytes that the port received, without FCS"},
    {"rates", "Sent Gbit/s", "bytes sent / completion time, 10^9 bit/s"},
    {"rates", "Highest sent Gbit/s", "most bytes sent in an interval / its length, 10^9 bit/s"},
    {"rates", "Highest received Gbit/s", "most bytes received in an interval / its length, 10^9 bit/s"},
    {"allowances", "Queue pair", "which of the connection's queue pairs, from 0"},
    {"allowances", "Mean rate Gbit/s",
     "mean of the allowed rate from the first sample on, every sample holding until the next"},
    {"allowances", "Lowest rate Gbit/s", "lowest rate that was allowed, of all that frames take on the line"},
    {"allowances", "Mean window",
     "mean of the allowed window from the first sample on, every sample holding until the next"},
    {"allowances", "Smallest window", "fewest bytes that might be sent and not acknowledged"},
    {"allowances", "Samples", "intervals in which the allowance changed"},

    {"impairments", "Rule", "place of the rule in the configuration, from 0"},
    {"impairments", "Action", "what the rule does to packets"},
    {"impairments", "Done", "packets that were impaired"},
    {"impairments", "Not possible", "packets that were chosen and could not be impaired"},
    {"impairments", "Time us", "when the packet passed its port, microseconds of the run"},
    {"impairments", "Direction", "whether it was on its way out (transmit) or in (receive)"},
    {"impairments", "Message", "identity of the packet's message"},
    {"impairments", "Packet", "which packet of the message, from 0"},
    {"impairments", "PSN", "the packet's own packet sequence number"},
    {"impairments", "Opcode", "the packet's own opcode"},

    {"hardware", "Setting", "firmware, driver, MTU, ... of the device"},
    {"hardware", "Counter", "the device's name of the counter"},
    {"hardware", "Before the run", "before the first queue pair was made"},
    {"hardware", "After it", "when the last queue pair was gone"},
    {"hardware", "Change", "after - before, in the device's units; other traffic of the device counts as well"},

    {"device", "Property", "what the configuration says of the device under test"},
    {"device", "Value", "as the configuration has it"},
};

}  // namespace

std::span<const MetricText> metric_texts() {
  static const std::vector<MetricText> kAll = [] {
    std::vector<MetricText> all(std::begin(kTexts), std::end(kTexts));
    all.insert(all.end(), kTraceTexts.begin(), kTraceTexts.end());
    all.insert(all.end(), kDeviceTexts.begin(), kDeviceTexts.end());
    all.insert(all.end(), kGapTexts.begin(), kGapTexts.end());
    all.insert(all.end(), kInterferenceTexts.begin(), kInterferenceTexts.end());
    return all;
  }();
  return kAll;
}

std::string_view metric_text(std::string_view where, std::string_view heading) {
  std::string_view general;
  for (const MetricText& entry : metric_texts()) {
    if (heading != entry.heading) continue;
    if (where == entry.where) return entry.text;
    if (entry.where == std::string_view("any")) general = entry.text;
  }
  return general;
}

std::string html_title(std::string_view where, std::string_view heading) {
  const std::string_view text = metric_text(where, heading);
  return text.empty() ? std::string() : fmt::format(" title=\"{}\"", html_escaped(text));
}

}  // namespace rankwire
