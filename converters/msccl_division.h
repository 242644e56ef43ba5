// The messages of an MSCCL algorithm as nodes, in an order that can be run.
#pragma once

#include "converters/msccl_exchange.h"
#include "converters/msccl_flow.h"
#include "converters/msccl_layout.h"
#include "converters/msccl_steps.h"

namespace rankwire {

/// Divides messages into those of neighbouring chunks, and puts their nodes behind what they wait for. Sorts what the
/// exchange's ends wait for. Throws Error(kInput) naming a step where no order keeps what is still to be sent.
MscclFlow divide(const MscclSteps& steps, const MscclLayout& layout, MscclExchange& exchange);

}  // namespace rankwire
