// Three documents packed into one row of 24 positions; none sees another.
#include "qkv/attention/mask/documents.h"

#include "example/example.h"
#include "qkv/attention/mask/causal.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(24);
  std::vector<int32_t> ids(24, 2);
  std::fill_n(ids.begin(), 9, 0), std::fill_n(ids.begin() + 9, 5, 1);
  const MaskPtr mask = documents(Tensor::from(ids, {1, 24}));
  const Tensor both = attention_with_weights(x, x, x, {.mask = mask}).weights;
  const Tensor past = attention_with_weights(x, x, x, {.mask = causal() & mask}).weights;

  fmt::print("weight of the first token of document 1 on itself: {:.2f}\n", past.at<float>({0, 0, 9, 9}));
  example::draw(argc, argv, {{"documents(ids)", both}, {"causal() & documents(ids)", past}});
}
