// Masks combine: & visible in both, | visible in one of them, ! visible where the mask is not.
#include "example/example.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/global_positions.h"
#include "qkv/attention/mask/window.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(20);
  const auto panel = [&](const MaskPtr& mask) {
    return Panel{mask->name(), example::visible(attention_with_weights(x, x, x, {.mask = mask}).weights)};
  };
  const MaskPtr near = causal() & window(4, 0), sinks = near | (causal() & global_positions({0, 1}));

  fmt::print("{}\n{}\n", near->name(), sinks->name());
  example::draw(argc, argv, {panel(near), panel(sinks), panel(causal() & !window(4, 0)), panel(!causal())},
                {.per_line = 2});
}
