// The mechanisms of an attention variant (layer/attention_variant.h). A mechanism is an aggregate with typed arguments:
// SlidingWindow{64}, Rotary{.base = 1e4}. This is the interface through which the layer, the text form of variants, the
// help, `qkv describe` and the tests see every mechanism.
//
//     const AttentionMechanismPtr cap = mechanism_of(Softcap{30});
//     cap->facts().name, cap->arguments()[0].name, cap->argument(0)          // "softcap", "cap", 30
//     for (const AttentionMechanismPtr& m : attention_mechanisms()) fmt::print("{}  {}\n", usage(*m), m->facts().help);
//
// A new mechanism is a file with its aggregate and a class of MechanismOf (mechanism_of.h), which overrides what
// differs from the defaults here, and a line in table.cc. What only a few mechanisms do, such as rotating queries and keys,
// is in interfaces of its own: optional.h.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qkv/attention/attention.h"
#include "qkv/layer/attention_use.h"
#include "qkv/layer/mechanism/argument.h"
#include "qkv/layer/module.h"

namespace qkv {

class AttentionPart;
struct Pass;

// The facts about its layer that a mechanism may need.
struct AttentionSize {
  AttentionUse use = AttentionUse::encoder;
  int64_t d_model = 0, heads = 1, kv_heads = 1, head_width = 0;  // C, H, G, D
  int64_t query_width = 0, key_width = 0, value_width = 0;       // of the sources
  bool bias = true;                                              // projections with biases
};

// The facts about a call that a mechanism may need.
struct AttentionCallContext {
  Variable q;                            // (B,H,T,D)
  Tensor key_lengths;                    // (B) i32
  std::optional<int64_t> position = {};  // of every query, in a decoding step; else query i has position i
  const Pass& pass;
};

class AttentionMechanism;
using AttentionMechanismPtr = std::shared_ptr<const AttentionMechanism>;

class AttentionMechanism {
 public:
  enum class Role {
    full,
    score,
    modify,
    mask,
    prefix,  // a mask joined to the others with |
    normalize,
    local_window,        // a window around a position in the keys: Luong's local attention
    rotation,            // positions by rotating queries and keys
    position_bias,       // positions by a term added to the scores
    global_projections,  // separate query, key and value projections for global positions
    multi_token,         // attention() is replaced by multi_token_attention()
  };
  class Roles {  // a set
   public:
    constexpr Roles(std::initializer_list<Role> roles) {
      for (const Role role : roles) bits_ |= 1u << static_cast<unsigned>(role);
    }
    constexpr bool contains(Role role) const { return (bits_ >> static_cast<unsigned>(role) & 1u) != 0; }

   private:
    unsigned bits_ = 0;
  };

  // The same for all arguments.
  struct Facts {
    std::string_view name, help;
    Role role;
    Roles excludes = {};  // roles of the mechanisms that it cannot be combined with
    bool in_self = true, in_cross = true;
    bool reads_queries = true, reads_keys = true;  // false: the layer has no such projection
  };
  using Argument = MechanismArgument;
  using Parameters = std::vector<std::pair<std::string, Parameter>>;  // with their names

  virtual ~AttentionMechanism() = default;

  virtual Facts facts() const = 0;
  // In the order of the text; the value of arguments()[i]; the same mechanism with other values, one for each.
  virtual std::vector<Argument> arguments() const = 0;
  virtual Argument::Value argument(size_t i) const = 0;
  virtual AttentionMechanismPtr with(std::span<const Argument::Value> values) const = 0;
  virtual bool equals(const AttentionMechanism& other) const = 0;

  // ---- In a layer ----

  // Why it does not fit the layer, or "".
  virtual std::string error(const AttentionSize&) const { return ""; }
  virtual Parameters parameters(const AttentionSize&) const { return {}; }
  // The self-attentions of a stack with an equal mechanism share the parameters of the first one.
  virtual bool shares_parameters() const { return false; }
  // To the options of attention(): once, when the layer is made, and in every call.
  virtual void add_to(AttentionOptions&, const AttentionPart&) const {}
  virtual void add_to_call(AttentionOptions&, const AttentionPart&, const AttentionCallContext&) const {}
  // Whether padding after a row changes its result, because that depends on the longest row of the batch.
  virtual bool depends_on_length() const { return false; }
  // The longest sequence for which cached keys stay valid: a longer one has other keys at all of its positions. None: any.
  virtual std::optional<int64_t> cache_valid_until() const { return {}; }
  // FLOPs of a visible (query, key) pair in one head, beside those of score and values.
  virtual double pair_flops(const AttentionSize&) const { return 0; }
};

// Every mechanism, with its default arguments, in the order of the help.
std::span<const AttentionMechanismPtr> attention_mechanisms();

// How a mechanism is written: "window=radius", "additive[=width]", "rotary[=base:width:name=value...]". With its
// arguments: "window=64"; defaults are left out, those by place at the end only.
std::string usage(const AttentionMechanism& mechanism);
std::string to_string(const AttentionMechanism& mechanism);

}  // namespace qkv
