// What an attention head does, in numbers and in a few words.
//
//     HeadSummary head = summarize_head({"layer 0, head 2", weights, tokens, tokens});
//     head.pattern                                       // "previous token 71%"
//
// entropy      mean over the queries of the entropy of a row, divided by that of even weights on the keys it sees: 0 if
//              every query attends to one key, 1 if evenly to all; queries that see one key alone do not count
// information  mutual information of query and key in bits, of queries that are equally frequent: how much the key that
//              is attended to tells about the query. 0 where every query attends alike, also if to a single key.
// pattern      "even" from an entropy of 0.9; otherwise the position that has most of the weight, with its share, if that is
//              40% and twice what even weights have: the same, previous or next token (of self-attention), the diagonal,
//              the first (all of these as in interpret/pattern/), the last or another token; otherwise "focused" up to an entropy of 0.4, and "mixed"
//
// Negative weights count as zero, and queries without weights do not count.
#pragma once

#include <string>

#include "qkv/picture/picture.h"

namespace qkv {

struct HeadSummary {
  double entropy = 0, information = 0;
  std::string pattern;
};

HeadSummary summarize_head(const Panel& panel);  // weights contiguous f32, labels complete

// The panel that a page opens with: that of the group with the most information; the first one of a group that has no heads.
size_t opening_panel(const PanelGroup& group);

}  // namespace qkv
