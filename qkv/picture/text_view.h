// Attention weights as text, for a terminal: shades of Unicode blocks, a line for each query.
//
//     fmt::print("{}", text_view(picture, {.layer = 1, .head = 0, .columns = 100}));
//
// One head, or the mean of those that are left open. A key has two columns, or one where the line is short; where that is
// not enough, several keys share a column, which shows the largest weight.
#pragma once

#include <string>

#include "qkv/picture/picture.h"

namespace qkv {

struct TextViewOptions {
  int64_t group = -1;  // -1: the group that the page opens with
  int64_t layer = -1;  // from 0; -1: the mean over the layers
  int64_t head = -1;   // from 0; -1: the mean over the heads
  int64_t columns = 80;
};
std::string text_view(const Picture& picture, const TextViewOptions& options = {});

}  // namespace qkv
