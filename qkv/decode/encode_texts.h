// What makes token ids of texts, side by side, and says which of them it cannot read.
//
//     encode_texts(std::ssize(texts), "sentence", [&](size_t i) { ids[i] = tokenizer.encode(texts[i]); });
//
// All texts are tried. An InputError of any becomes a RefusedTexts, which has the index and the reason of each of them:
// a caller may leave these out and go on. Its message is that of the first, "sentence 3: invalid UTF-8 at byte 7".
//
//     input_limit(config, 0)       how much of a text is read, in tokens: as much as the model is made for
//     input_limit(config, 300)     or 300; UsageError for more than its positions
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/model/config.h"

namespace qkv {

class RefusedTexts : public InputError {
 public:
  struct Text {
    size_t index;
    std::string reason;
  };
  RefusedTexts(std::string_view name, std::vector<Text> texts);  // one or more, in their order
  const std::vector<Text>& texts() const { return texts_; }

 private:
  std::vector<Text> texts_;
};

void encode_texts(int64_t count, std::string_view name, FunctionRef<void(size_t)> encode);

int64_t input_limit(const TransformerConfig& config, int64_t max_input_tokens);

}  // namespace qkv
