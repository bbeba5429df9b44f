// The mechanisms that an attention variant is made of: "window=64+softcap=30" (attention_variant.h) are two, each
// with one number. A mechanism is a row of a table: its name, its numbers, the parameters that it adds to a layer,
// and what it adds to the options of attention().
//
//     for (const AttentionMechanism& m : attention_mechanisms()) fmt::print("{}  {}\n", usage(m), m.help);
//
// A new mechanism is a new row; the command's help, `qkv describe` and the tests iterate over the table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/attention/options.h"
#include "qkv/layer/attention_use.h"
#include "qkv/layer/module.h"

namespace qkv {

class AttentionPart;

// What a mechanism may need to know of its layer.
struct AttentionSize {
  AttentionUse use = AttentionUse::encoder;
  int64_t d_model = 0, heads = 1, kv_heads = 1;  // C, H, G
  int64_t key_width = 0, value_width = 0;        // of the sources of keys and values
  bool bias = true, dropout = false;             // projections with biases; dropout of attention weights
  int64_t query_width = 0, free_head_width = 0;  // of the source of queries; of a head that is not C / H
  int64_t head_width() const { return free_head_width == 0 ? d_model / heads : free_head_width; }  // D
};

// What a mechanism may need to know of a call.
struct AttentionCallContext {
  Variable q;                            // (B,H,T,D)
  Tensor key_lengths;                    // (B) i32
  std::optional<int64_t> position = {};  // of every query, in a decoding step; else query i has position i
};

struct AttentionMechanism {
  struct Number {
    std::string_view name;
    double minimum, maximum;
    std::optional<double> default_value = {};  // none: required
    bool integer = true;
  };
  using Parameters = std::vector<std::pair<std::string, Parameter>>;  // with their names
  using Numbers = std::vector<double>;
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

  std::string_view name, help;
  Role role;
  std::vector<Role> excludes = {};  // roles of the mechanisms that it cannot be combined with
  bool in_self = true, in_cross = true;
  bool reads_queries = true, reads_keys = true;  // false: the layer has no such projection
  std::vector<Number> numbers = {};
  // Null where a mechanism needs none of it.
  Parameters (*parameters)(const Numbers&, const AttentionSize&) = nullptr;
  std::string (*error)(const Numbers&, const AttentionSize&) = nullptr;  // why it does not fit the layer, or ""
  void (*add_to)(AttentionOptions&, const AttentionPart&) = nullptr;     // once, when the layer is made
  void (*add_to_call)(AttentionOptions&, const AttentionPart&, const AttentionCallContext&) = nullptr;
  Variable (*rotate)(const Variable& x, int64_t first_position, const Numbers&) = nullptr;  // queries, keys
  // FLOPs of a visible (query, key) pair in one head, beside those of score and values.
  double (*pair_flops)(const Numbers&, const AttentionSize&) = nullptr;
};

std::span<const AttentionMechanism> attention_mechanisms();

// How a mechanism is written: "window=radius", "additive[=width]".
std::string usage(const AttentionMechanism& mechanism);

}  // namespace qkv
