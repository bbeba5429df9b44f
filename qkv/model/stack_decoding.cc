#include "qkv/model/stack_decoding.h"

#include <utility>

#include "qkv/base/error.h"

namespace qkv {

StackDecoding::StackDecoding(const Stack& stack, StackRows rows, Logits logits)
    : stack_(stack), rows_(std::move(rows)), logits_(std::move(logits)) {}

Tensor StackDecoding::extend(std::span<const std::vector<int32_t>> tokens, Pass& pass) {
  return logits_(stack_.extend(rows_, tokens, pass));
}

void StackDecoding::join(Decoding& other) {
  auto* same = dynamic_cast<StackDecoding*>(&other);
  require(same && &same->stack_ == &stack_, "Decoding::join", "the rows must be of the same model");
  rows_.join(std::exchange(same->rows_, {}));
}

}  // namespace qkv
