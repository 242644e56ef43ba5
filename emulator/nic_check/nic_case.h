// A test of a NIC, and the families in which they stand: one file each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "emulator/nic_check/bench.h"
#include "emulator/nic_check/perftest_bench.h"

namespace rankwire {

/// Fields as of TestCase.
template <class Bench>
struct CaseOn {
  std::string id, title, stimulus, expectation, source;
  /// Returns when the NIC has passed; CaseRecord::fail, `skip` and the expectations end it otherwise.
  std::function<void(Bench& bench)> run;
};
using NicCase = CaseOn<NicBench>;
using NicCases = std::vector<NicCase>;

NicCases requester_loss_cases();
NicCases requester_retry_cases();
NicCases requester_ack_cases();
NicCases requester_data_cases();
NicCases requester_read_cases();
NicCases responder_data_cases();
NicCases responder_order_cases();
NicCases responder_refusal_cases();
NicCases responder_silence_cases();
NicCases responder_read_cases();
NicCases congestion_cases();
NicCases flow_control_cases();
NicCases robustness_cases();
NicCases slow_receiver_cases();
NicCases neighbour_cases();
NicCases scale_cases();
NicCases counter_cases();
NicCases wire_counter_cases();

/// Of a NIC that is driven by perftest.
std::vector<CaseOn<PerftestBench>> perftest_cases();

// Where the specification says what several families test. Sections are of the InfiniBand Architecture Specification,
// Vol. 1.
inline constexpr const char* kReliability = "IBTA Vol. 1, 9.7 (Reliable Connection)";
inline constexpr const char* kAcknowledgements = "IBTA Vol. 1, 9.7.5 (acknowledgements and NAKs)";
inline constexpr const char* kValidation = "IBTA Vol. 1, 9.6 (header validation), Annex A17.4";
inline constexpr const char* kSegmentation = "IBTA Vol. 1, 9.7 (Reliable Connection), 9.2.1 table 38 (opcodes)";
inline constexpr const char* kTimeOut = "IBTA Vol. 1, 9.7.6.1.3 (time-out)";
inline constexpr const char* kNotification = "IBTA Vol. 1, Annex A17.9.3 (CNP)";
inline constexpr const char* kDcqcnPaper =
    "Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015";
inline constexpr const char* kRequesterFaults = "IBTA Vol. 1, 9.9.2 (requester errors)";
inline constexpr const char* kResponderFaults = "IBTA Vol. 1, 9.9.3 (responder errors)";

}  // namespace rankwire
