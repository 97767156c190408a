// Finds attention written as it is defined, softmax(q k^T x scale + mask) v, and writes it as a
// call of "attention" with its description (ir/attention.h), as a library's fused kernel runs it.
//
// Found are two products with an exponential between them, whose scores nothing else reads and
// whose queries are of 16 bits or fewer; and the backward pass of a program that is nothing else:
// five products, the exponential of the scores recomputed. Heads may share keys (grouped
// queries). Masks of comparisons of positions are read as causal or windows; of others all
// scores count (Attention::unread_mask).
#pragma once

#include "ir/fusion/fusion.h"

namespace tilecast::ir {

// Returns how many attentions became calls. `module`: calls inlined (with_calls_inlined). kAlone:
// changes only a module whose entry computes one attention of its parameters, forward or backward,
// and returns it.
int call_attention(Module& module, AttentionCalls which);

}  // namespace tilecast::ir
