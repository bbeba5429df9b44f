// Words that tell a layer where queries and keys stand, by their distance.

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
             : fmt::format("it turns pairs of numbers, so a head must have an even width, not {} / {} = {}",
                           size.width, size.heads, size.head_width());
}

void add_alibi(AttentionOptions& options, const AttentionPart& part) {
  options.modify.push_back(alibi(alibi_slopes(part.size().heads)));
}

RelativeBuckets buckets_of(const Numbers& n, AttentionUse use) {
  return {.bidirectional = use != AttentionUse::decoder, .num_buckets = whole(n, 0), .max_distance = whole(n, 1)};
}

// Of N buckets in a direction half are for one distance each, and the others reach further.
std::string error_of_t5(const Numbers& n, const AttentionSize&) {
  if (whole(n, 0) % 4 != 0) return fmt::format("buckets must be a multiple of 4, got {}", whole(n, 0));
  if (whole(n, 1) <= whole(n, 0) / 2)
    return fmt::format("distance must be more than half the {} buckets, got {}", whole(n, 0), whole(n, 1));
  return "";
}

void add_t5(AttentionOptions& options, const AttentionPart& part) {
  options.modify.push_back(relative_bias(part.parameter(0), buckets_of(part.numbers(), part.size().use)));
}

}  // namespace

AttentionMechanisms position_mechanisms() {
  return {
      {.name = "rotary",
       .help = "queries and keys are turned by their positions (Su et al., 2021)",
       .role = Role::turn,
       .excludes = {Role::turn, Role::distance},
       .in_cross = false,
       .numbers = {{"base", 1, 1e9, 10000, false}},
       .error = error_of_rotary,
       .turn = [](const Variable& x, int64_t first,
                  const Numbers& n) { return rotary(x, {.base = n[0], .offset = first}); }},
      {.name = "alibi",
       .help = "scores fall with the distance, slower in some heads than in others (Press et al., 2022)",
       .role = Role::distance,
       .excludes = {Role::turn, Role::distance},
       .in_cross = false,
       .add_to = add_alibi},
      {.name = "t5",
       .help = "a learnt number for every head and bucket of distances (Raffel et al., 2020)",
       .role = Role::distance,
       .excludes = {Role::turn, Role::distance},
       .in_cross = false,
       .numbers = {{"buckets", 4, 1024, 32}, {"distance", 3, max_positions, 128}},
       .parameters =
           [](const Numbers& n, const AttentionSize& size) {
             return std::vector<AttentionMechanism::Parameter>{{"table", {whole(n, 0), size.heads}, "buckets H"}};
           },
       .error = error_of_t5,
       .add_to = add_t5}};
}

}  // namespace qkv
