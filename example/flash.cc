// Tiles of 64 queries by 128 keys, as a mask classifies them: fully visible, partially masked or masked.
#include "example/example.h"
#include "qkv/attention/explain.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/window.h"

using namespace qkv;

Panel tiles_of(const MaskPtr& mask) {
  const AttentionShape shape = {.B = 1, .H = 1, .G = 1, .T = 1024, .S = 1024, .D = 64, .E = 64};
  Tensor shade = Tensor::zeros({16, 8});
  for (int64_t block = 0; block < 16; ++block)
    for (int64_t key = 0; key < 8; ++key) {
      const Tile tile{{&shape, 0, 0, block * 64, 64, 64}, key * 128, 128};
      const Visibility visibility = mask->classify(tile);
      shade.data<float>()[block * 8 + key] = visibility == Visibility::visible   ? 1
                                             : visibility == Visibility::partial ? 0.5f
                                                                                 : 0;
    }
  const Tensor x = Tensor::zeros({1, 1, 1024, 64});
  const AttentionPlan plan = attention_plan(x, x, x, {.mask = mask});
  fmt::print("{}: {} of {} tiles computed, {:.0f} % of their pairs are visible\n", mask->name(), plan.visited_tiles,
             plan.tiles, 100 * plan.flops / plan.tile_flops);
  return {mask->name(), shade};
}

int main(int argc, char** argv) {
  example::draw(
      argc, argv, {tiles_of(causal()), tiles_of(causal() & window(256, 0))},
      {.caption =
           "rows: 64 queries each, columns: 128 keys each; 1: fully visible, 0.5: partially masked, 0: masked"});
}
