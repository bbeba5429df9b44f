// Score modification: a function of the score and its position, applied before the mask and the softmax
// (FlexAttention's score_mod). Modifiers are applied in the order given.
//
//     Tensor y = attention(q, k, v, {.modify = {softcap(50), alibi(slopes)}});
//
// A modifier changes a tile s (keys x width) in place, and propagates its gradient.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "qkv/attention/tile.h"
#include "qkv/autograd/variable.h"

namespace qkv {

class Modifier {
 public:
  virtual ~Modifier() = default;
  virtual void check(const AttentionShape&) const {}
  virtual void forward(const Tile& tile, float* s) const = 0;
  // Changes ds from the gradient of the modified scores to that of the raw scores. `saved` holds the scores before
  // or after forward(), as saves() specifies, or is null. The gradients of parameters() are added to `parameters`.
  virtual void backward(const Tile& tile, const float* saved, float* ds, float* parameters) const = 0;
  enum class Saves { nothing, raw, modified };
  virtual Saves saves() const { return Saves::nothing; }
  virtual std::vector<Variable> parameters() const { return {}; }
  virtual std::string name() const = 0;
};

using ModifierPtr = std::shared_ptr<const Modifier>;

}  // namespace qkv
