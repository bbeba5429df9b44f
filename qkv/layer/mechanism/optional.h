// What only some mechanisms do in a layer, beside what they add to the options of attention(). The class of such a
// mechanism derives from MechanismOf (mechanism_of.h) and from one of these interfaces; the layer asks for them once, when
// it is made (AttentionPart).
//
//     class RotaryMechanism final : public MechanismOf<Rotary>, public RotatesHeads { ... };
//
//     if (const auto* rotates = part.as<RotatesHeads>()) heads = rotates->rotate(heads, first_position);
//
// What a mechanism keeps of the positions so far is its state in the cache: cache.of<T>(*this), see attention_cache.h.
#pragma once

#include "qkv/layer/mechanism/mechanism.h"
#include "qkv/op/dropout.h"

namespace qkv {

class AttentionCache;
class AttentionProjection;
struct Pass;

// Positions by a rotation of queries and keys.
class RotatesHeads {
 public:
  virtual ~RotatesHeads() = default;
  // Of the heads (B,N,T,D) of queries or keys, of which the first has that position.
  virtual Variable rotate(const Variable& heads, int64_t first_position) const = 0;
};

// The operands of a mechanism that replaces attention().
struct AttentionHeads {
  Variable q, k, v;      // (B,H,T,D), (B,G,S,D), (B,G,S,D)
  MaskPtr mask;          // of the call and of the other mechanisms
  Dropout dropout = {};  // of the weights
};

// It computes the outputs itself; attention() is not called.
class ReplacesAttention {
 public:
  virtual ~ReplacesAttention() = default;
  virtual AttentionVariableResult attend(const AttentionPart&, const AttentionHeads&, bool with_weights) const = 0;
  // Decoding: q, k and v are those of the new positions, and join the cache.
  virtual Variable extend(const AttentionPart&, const AttentionHeads&, AttentionCache&) const = 0;
};

// The operands of a mechanism that projects some positions by itself.
struct SourcesAndHeads {
  Variable query_source, key_source, value_source;  // before the projections: (B,T,width), (B,S,width)
  Variable q, k, v;                                 // (B,H,T,D), (B,G,S,D): of all positions so far
  const AttentionProjection* projection = nullptr;  // of the layer: makes heads of what is projected
  int64_t first_position = 0;                       // of the sources
  AttentionCache* cache = nullptr;                  // in decoding
  bool with_weights = false;
};

// Some positions have projections of their own.
class ProjectsGlobals {
 public:
  virtual ~ProjectsGlobals() = default;
  // Whether any position of a call is one of them.
  virtual bool has_globals(int64_t first_position, const Pass&) const = 0;
  // The outputs of all queries of such a call; options: those of attention() for the others.
  virtual AttentionVariableResult attend(const AttentionPart&, const SourcesAndHeads&, AttentionOptions options,
                                         const Pass&) const = 0;
};

}  // namespace qkv
