// Position encodings that act inside attention instead of on the embeddings.

#include <fmt/format.h>

#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/relative_bias.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/table.h"
#include "qkv/op/rotary.h"

namespace qkv {
namespace {

using Numbers = AttentionMechanism::Numbers;
using Role = AttentionMechanism::Role;

std::string error_of_rotary(const Numbers&, const AttentionSize& size) {
  return size.head_width() % 2 == 0
             ? ""
             : fmt::format("the width of a head must be even, got d-model {} / heads {} = {}", size.d_model,
                           size.heads, size.head_width());
}

void add_alibi(AttentionOptions& options, const AttentionPart& part) {
  options.modify.push_back(alibi(alibi_slopes(part.size().heads)));
}

RelativeBuckets buckets_of(const Numbers& n, AttentionUse use) {
  return {
      .bidirectional = use != AttentionUse::decoder, .num_buckets = integer(n, 0), .max_distance = integer(n, 1)};
}

// Half of the buckets of a direction hold one distance each, the others logarithmically more.
std::string error_of_relative_bias(const Numbers& n, const AttentionSize&) {
  if (integer(n, 0) % 4 != 0) return fmt::format("buckets must be a multiple of 4, got {}", integer(n, 0));
  if (integer(n, 1) <= integer(n, 0) / 2)
    return fmt::format("max-distance must be more than half of the {} buckets, got {}", integer(n, 0),
                       integer(n, 1));
  return "";
}

void add_relative_bias(AttentionOptions& options, const AttentionPart& part) {
  options.modify.push_back(relative_bias(part.parameter(0), buckets_of(part.numbers(), part.size().use)));
}

}  // namespace

AttentionMechanisms position_mechanisms() {
  return {
      {.name = "rotary",
       .help = "rotary position embedding, RoPE: queries and keys are rotated by their positions (Su et al., 2021)",
       .role = Role::rotation,
       .excludes = {Role::rotation, Role::position_bias},
       .in_cross = false,
       .numbers = {{"base", 1, 1e9, 10000, false}},
       .error = error_of_rotary,
       .rotate = [](const Variable& x, int64_t first,
                    const Numbers& n) { return rotary(x, {.base = n[0], .offset = first}); }},
      {.name = "alibi",
       .help = "ALiBi: scores decrease linearly with the distance, with a slope per head (Press et al., 2022)",
       .role = Role::position_bias,
       .excludes = {Role::rotation, Role::position_bias},
       .in_cross = false,
       .add_to = add_alibi},
      {.name = "relative-bias",
       .help =
           "relative position bias of T5: a learned bias per head and bucket of distances (Raffel et al., 2020)",
       .role = Role::position_bias,
       .excludes = {Role::rotation, Role::position_bias},
       .in_cross = false,
       .numbers = {{"buckets", 4, 1024, 32}, {"max-distance", 3, max_distance, 128}},
       .parameters =
           [](const Numbers& n, const AttentionSize& size) {
             return AttentionMechanism::Parameters{
                 {"table", Parameter({Axis(integer(n, 0), "buckets"), Axis(size.heads, "H")})}};
           },
       .error = error_of_relative_bias,
       .add_to = add_relative_bias}};
}

}  // namespace qkv
