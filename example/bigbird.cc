// BigBird put together: a window of blocks, then a global block, then blocks that are drawn at random.
#include "qkv/attention/mask/bigbird.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(32);
  const auto seen = [&](const BigBird& options) {
    return example::seen(attention_with_weights(x, x, x, {.mask = bigbird(options)}).weights);
  };
  const Tensor window = seen({.block = 2, .global_blocks = {}, .random_blocks = 0});
  const Tensor global = seen({.block = 2, .global_blocks = {0}, .random_blocks = 0});
  const Tensor whole = seen({.block = 2, .global_blocks = {0}, .random_blocks = 2, .seed = 7});

  const auto row = whole.select(0, 0).select(0, 0).select(0, 20);
  fmt::print("query 20 sees {:.0f}\n", fmt::join(row.span<float>(), ""));
  example::draw(argc, argv, {{"window", window}, {"and global", global}, {"and random", whole}});
}
