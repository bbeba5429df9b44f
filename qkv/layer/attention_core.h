// The attention of a variant between heads, with its parameters: what multi-head attention does between its projections.
// It makes the options of attention(), or calls the mechanism that replaces it, and records weights in the log of the pass.
//
//     AttentionCore core(options);
//     Variable y = core.attend({.q = q, .k = k, .v = v}, {.mask = causal()}, pass);             // (B,H,T,D)
//     Variable z = core.extend({.q = q, .k = k, .v = v}, sources, cache, pass);                 // the next positions
//
// Parameters: those of the mechanisms, named as in attention_part.h.
#pragma once

#include "qkv/base/on_demand.h"
#include "qkv/layer/attention_cache.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/multi_head_attention_options.h"
#include "qkv/layer/pass.h"

namespace qkv {

class AttentionCore {
 public:
  struct Heads {
    Variable q, k, v;         // (B,H,T,D), (B,G,S,D), (B,G,S,D)
    Tensor key_lengths = {};  // (B) i32; none: S each
    // Of training: where it is recorded, attention reads and returns this type.
    Precision products = Precision::f32;
  };
  // What the heads were projected from. For mechanisms that project some positions by themselves.
  struct Sources {
    const AttentionProjection* projection = nullptr;
    Variable query = {}, key = {}, value = {};
  };
  struct Call {
    MaskPtr mask = {};
    int64_t first_position = 0;  // of query 0
    bool same_position = false;  // all queries have the position of query 0
    bool single_queries = false;
    const Sources* sources = nullptr;
    AttentionCache* cache = nullptr;        // of self-attention, in decoding
    const KeyValueCache* stored = nullptr;  // holds k and v of the heads, which are views of it
  };

  explicit AttentionCore(const MultiHeadAttentionOptions& completed_options);
  void share_parameters_of(const AttentionCore& earlier);

  Variable attend(const Heads& heads, const Call& call, Pass& pass) const;
  // Decoding: heads of the new positions, which join the cache.
  Variable extend(const Heads& heads, const Sources& sources, AttentionCache& cache, Pass& pass) const;

  // Whether calls need their sources.
  bool projects_globals() const { return part_with<ProjectsGlobals>() != nullptr; }

  void list(ModuleContents& contents) const;

 private:
  template <class Interface>
  const AttentionPart* part_with() const {
    for (const AttentionPart& part : parts_)
      if (part.as<Interface>()) return &part;
    return nullptr;
  }
  AttentionLog* log_of(const Pass& pass) const;
  AttentionOptions options_of(const Heads& heads, const Call& call, Pass& pass) const;
  AttentionVariableResult attend_heads(const Heads& heads, const Call& call, Pass& pass) const;
  AttentionVariableResult attend_instead(const AttentionPart& part, const Heads& heads, const Call& call,
                                         Pass& pass) const;
  // Of every call. Made for the first one, because it needs memory for the parameters of the variant.
  const AttentionOptions& call_options() const;

  AttentionLog::Source source_;
  float dropout_;
  std::vector<AttentionPart> parts_;
  std::shared_ptr<OnDemand<AttentionOptions>> call_options_ = std::make_shared<OnDemand<AttentionOptions>>();
};

}  // namespace qkv
