// Tokenizes texts in parallel, and reports the ones that cannot be tokenized.
//
//     encode_texts(std::ssize(texts), "sentence", [&](size_t i) { ids[i] = tokenizer.encode(texts[i]); });
//
// All texts are tried. InputErrors become one RefusedTexts with the index and the reason of each bad text, so that a
// caller may leave these out and continue. Its message is about the first, "sentence 3: invalid UTF-8 at byte 7".
//
//     input_limit(config, 0)       the number of tokens of a text that are read: the limit of the model
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

int64_t input_limit(const ModelConfig& config, int64_t max_input_tokens);

}  // namespace qkv
