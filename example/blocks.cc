// Four blocks of six positions; a 4 x 4 table specifies which block sees which.
#include "qkv/attention/mask/blocks.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const std::vector<uint8_t> table = {1, 0, 0, 0,  //
                                      1, 1, 0, 0,  //
                                      0, 1, 1, 0,  //
                                      1, 0, 1, 1};
  const MaskPtr mask = blocks(Tensor::from<uint8_t>(table, {1, 1, 4, 4}), 6);
  const Tensor x = example::sequence(24);
  const Tensor weights = attention_with_weights(x, x, x, {.mask = mask}).weights;

  fmt::print("weight of query 20 on key 0: {:.3f}, on key 6: {:.3f}\n", weights.at<float>({0, 0, 20, 0}),
             weights.at<float>({0, 0, 20, 6}));
  example::draw(argc, argv, {{"visible", example::visible(weights)}, {"weights", weights}});
}
