// A batch of three sequences of unequal lengths, the last of them empty.
#include "qkv/attention/mask/padding.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(16).expand({3, 1, 16, 32});
  const auto [out, weights, lse] = attention_with_weights(x, x, x, {.mask = padding({12, 7, 0})});

  for (int64_t b = 0; b < 3; ++b)
    fmt::print("row {}: out {:.2f}, log-sum-exp {:.2f}\n", b, out.at<float>({b, 0, 0, 0}),
               lse.at<float>({b, 0, 0}));
  example::draw(argc, argv,
                {{"length 12", weights.slice(0, 0, 1)},
                 {"length 7", weights.slice(0, 1, 2)},
                 {"length 0", weights.slice(0, 2, 3)}});
}
