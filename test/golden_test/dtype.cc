// Arithmetic in bfloat16: inputs that bf16 holds exactly, results of exact arithmetic, compared with the precision
// of the type.
#include "test/golden_test/sdpa.h"

namespace qkv::golden {
namespace {

void dtype(Case& c) {
  if (c.text("dtype") != "bf16") throw NotBuilt("attention in " + c.text("dtype") + " is not built yet");
  c.knows({"dtype", "scale", "causal", "window", "softcap", "t5"},
          {"q", "k", "v", "mask", "valid_lens", "prefix_lens", "q_docs", "kv_docs", "bias", "slopes", "rel_bias",
           "sink"});
  constexpr double half_unit = 0x1p-8;
  c.in_precision(half_unit);
  compare_sdpa(c, DType::bf16);
}

const Group group("dtype", dtype);

}  // namespace
}  // namespace qkv::golden
