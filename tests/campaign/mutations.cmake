# Mistakes that implementations make.
fault_mutation(message_ends_a_packet_early MACHINE requester
  REPLACE "psn_distance(psn_add(oldest.first_psn, oldest.packets), psn) < 0) break"
  BY "psn_distance(psn_add(oldest.first_psn, oldest.packets), psn) < -1) break")
fault_mutation(timeout_sends_nothing_again MACHINE requester
  REPLACE "increment(timeouts_);\n  rewind(pool);"
  BY "increment(timeouts_);")
fault_mutation(old_acknowledgement_is_taken MACHINE requester
  REPLACE "if (ahead < 0) return {AckOutcome::kStale};"
  BY "")
fault_mutation(late_acknowledgement_is_overtaken MACHINE requester
  REPLACE "if (overtakes) seek(pool, psn);"
  BY "")
fault_mutation(finished_read_stays_outstanding MACHINE requester
  REPLACE "if (message.verb == Verb::kRead) --reads_;"
  BY "")
fault_mutation(receiver_is_waited_for_without_end MACHINE requester
  REPLACE "deadline_ = now + not_ready_wait(code);"
  BY "deadline_ = Time::never();")
fault_mutation(restart_begins_the_message_again MACHINE requester
  REPLACE "return load_cursor(pool, slot, position);"
  BY "return load_cursor(pool, slot, 0);")
fault_mutation(gap_is_accepted MACHINE responder
  REPLACE "const int32_t ahead = psn_distance(expected_, packet.psn); ahead != 0)"
  BY "const int32_t ahead = psn_distance(expected_, packet.psn); ahead < 0)")
fault_mutation(duplicate_is_executed MACHINE responder
  REPLACE "const int32_t ahead = psn_distance(expected_, packet.psn); ahead != 0)"
  BY "const int32_t ahead = psn_distance(expected_, packet.psn); ahead > 0)")
fault_mutation(duplicate_is_not_acknowledged MACHINE responder
  REPLACE "  } else if (!owes_nak()) {\n    owe_ack();\n  }"
  BY "  }")
fault_mutation(repeated_read_is_not_answered MACHINE responder
  REPLACE "    read.pending = 1;\n    return activate_oldest_read();"
  BY "    return;")
