// The words that say what kind of attention a layer has: "window=64+softcap=30" are two of them, with a number each
// (attention_variant.h reads such texts). A word is a row of a table: what it is called, which numbers it takes, which
// weights it needs in a layer, and what it adds to the sentence of a call.
//
//     for (const AttentionMechanism& word : attention_mechanisms()) fmt::print("{}  {}\n", usage(word), word.help);
//
// A new kind of attention is a new row. Tests, the help of the command and `qkv describe` go through the table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/attention/options.h"
#include "qkv/layer/parameters.h"

namespace qkv {

class AttentionPart;

// Where the attention stands: in an encoder, which looks both ways; in a decoder, which looks back; or between
// them.
enum class AttentionUse { encoder, decoder, cross };

// What a word may want to know of its layer.
struct AttentionSize {
  AttentionUse use = AttentionUse::encoder;
  int64_t width = 0, heads = 1, kv_heads = 1;           // C, H, G
  int64_t key_width = 0, value_width = 0;               // of the sources
  bool bias = true, dropout = false;                    // of projections; of weights
  int64_t head_width() const { return width / heads; }  // D
};

// What a word may want to know of a call.
struct AttentionCallContext {
  Variable q;                            // (B,H,T,D)
  Tensor key_lengths;                    // (B) i32
  std::optional<int64_t> position = {};  // of all queries, in a step of decoding; else query i stands at i
};

struct AttentionMechanism {
  struct Number {
    std::string_view name;
    double minimum, maximum;
    std::optional<double> default_value = {};  // none: it must be given
    bool integer = true;
  };
  struct Parameter {
    std::string name;
    Shape shape;
    std::string letters;  // how many numbers that is: "width D"
    void (*start)(Variable& parameter, uint64_t seed, const std::string& name) = nullptr;  // null: zeros
  };
  using Numbers = std::vector<double>;
  enum class Role {
    full,
    score,  // a word of the sentence, like the next three
    modify,
    mask,
    normalize,
    place,        // around which a query looks
    turn,         // positions, by turning queries and keys
    distance,     // positions, by what is added to scores
    projections,  // a second set of them, for global positions
    neighbours,   // multi-token attention, a walk of its own
  };

  std::string_view name, help;
  Role role;
  std::vector<Role> excludes = {};  // other words of these roles cannot stand beside it
  bool in_self = true, in_cross = true;
  std::vector<Number> numbers = {};
  // What it does; null: nothing of that.
  std::vector<Parameter> (*parameters)(const Numbers&, const AttentionSize&) = nullptr;
  std::string (*error)(const Numbers&, const AttentionSize&) = nullptr;  // why it does not fit a layer, or ""
  void (*add_to)(AttentionOptions&, const AttentionPart&) = nullptr;     // once for a layer
  void (*add_at)(AttentionOptions&, const AttentionPart&, const AttentionCallContext&) = nullptr;  // in every call
  Variable (*turn)(const Variable& x, int64_t first_position, const Numbers&) = nullptr;  // queries and keys
};

std::span<const AttentionMechanism> attention_mechanisms();

// "window=reach", "additive[=width]": how a word is written.
std::string usage(const AttentionMechanism& word);

}  // namespace qkv
