// The parts of BigBird, added one by one: a window of blocks, a global block, random blocks.
#include "qkv/attention/mask/bigbird.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(32);
  const auto visible = [&](const BigBirdOptions& options) {
    return example::visible(attention_with_weights(x, x, x, {.mask = bigbird(options)}).weights);
  };
  const Tensor window = visible({.block = 2, .global_blocks = {}, .random_blocks = 0});
  const Tensor global = visible({.block = 2, .global_blocks = {0}, .random_blocks = 0});
  const Tensor whole = visible({.block = 2, .global_blocks = {0}, .random_blocks = 2, .seed = 7});

  const auto row = whole.select(0, 0).select(0, 0).select(0, 20);
  fmt::print("query 20 sees {:.0f}\n", fmt::join(row.span<float>(), ""));
  example::draw(argc, argv, {{"window", window}, {"and global", global}, {"and random", whole}});
}
