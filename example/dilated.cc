// Every third position around a query; and the last six positions with every sixth one before them.
#include "qkv/attention/mask/dilated.h"

#include "example/example.h"
#include "qkv/attention/mask/strided.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(24);
  const Tensor every_third = attention_with_weights(x, x, x, {.mask = dilated(3, 3)}).weights;
  const Tensor every_sixth = attention_with_weights(x, x, x, {.mask = strided(6)}).weights;

  const auto row = [](const Tensor& w) { return example::visible(w).select(0, 0).select(0, 0).select(0, 16); };
  fmt::print("query 16, dilated {:.0f}\n", fmt::join(row(every_third).span<float>(), ""));
  fmt::print("query 16, strided {:.0f}\n", fmt::join(row(every_sixth).span<float>(), ""));
  example::draw(argc, argv,
                {{"dilated(3, 3)", example::visible(every_third)}, {"strided(6)", example::visible(every_sixth)}});
}
