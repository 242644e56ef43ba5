# Mistakes that implementations make.
fault_mutation(message_ends_a_packet_early FILE dataplane/requester.cc
  REPLACE "psn_distance(psn_add(oldest.first_psn, oldest.packets), psn) < 0) break"
  BY "psn_distance(psn_add(oldest.first_psn, oldest.packets), psn) < -1) break")
fault_mutation(timeout_sends_nothing_again FILE dataplane/requester.cc
  REPLACE "increment(timeouts_);\n  rewind(pool);"
  BY "increment(timeouts_);")
fault_mutation(old_acknowledgement_is_taken FILE dataplane/requester.cc
  REPLACE "if (ahead < 0) return {AckOutcome::kStale};"
  BY "")
fault_mutation(late_acknowledgement_is_overtaken FILE dataplane/requester.cc
  REPLACE "if (overtakes) seek(pool, psn);"
  BY "")
fault_mutation(finished_read_stays_outstanding FILE dataplane/requester.cc
  REPLACE "if (message.verb == Verb::kRead) --reads_;"
  BY "")
fault_mutation(receiver_is_waited_for_without_end FILE dataplane/requester.cc
  REPLACE "deadline_ = now + not_ready_wait(code);"
  BY "deadline_ = Time::never();")
fault_mutation(restart_begins_the_message_again FILE dataplane/requester.cc
  REPLACE "return load_cursor(pool, slot, position);"
  BY "return load_cursor(pool, slot, 0);")
fault_mutation(gap_is_accepted FILE dataplane/responder.cc
  REPLACE "const int32_t ahead = psn_distance(expected_, packet.psn); ahead != 0)"
  BY "const int32_t ahead = psn_distance(expected_, packet.psn); ahead < 0)")
fault_mutation(duplicate_is_executed FILE dataplane/responder.cc
  REPLACE "const int32_t ahead = psn_distance(expected_, packet.psn); ahead != 0)"
  BY "const int32_t ahead = psn_distance(expected_, packet.psn); ahead > 0)")
fault_mutation(duplicate_is_not_acknowledged FILE dataplane/responder.cc
  REPLACE "  } else if (!owes_nak()) {\n    owe_ack();\n  }"
  BY "  }")
fault_mutation(repeated_read_is_not_answered FILE dataplane/responder.cc
  REPLACE "    read.pending = 1;\n    return activate_oldest_read();"
  BY "    return;")
