#include "qkv/layer/mechanism/global_tokens.h"

#include "qkv/layer/pass.h"

namespace qkv {

Tensor global_tokens_of(const Pass& pass) {
  const auto* given = std::any_cast<GlobalTokens>(&pass.input);
  return given ? given->tokens : Tensor();
}

}  // namespace qkv
