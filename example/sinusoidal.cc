// The table of positions, and the dot products of its rows: the nearer, the larger.
#include "example/example.h"
#include "qkv/op/position.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor table = sinusoidal(32, 32);
  Tensor products = Tensor::empty({32, 32});
  for (int64_t i = 0; i < 32; ++i)
    for (int64_t j = 0; j < 32; ++j) {
      float sum = 0;
      for (int64_t c = 0; c < 32; ++c) sum += table.at<float>({i, c}) * table.at<float>({j, c});
      products.data<float>()[32 * i + j] = sum / 16;  // 16 pairs of a sine and a cosine
    }

  fmt::print("position 0 and positions 0, 1, 8: {:.2f}, {:.2f}, {:.2f}\n", products.at<float>({0, 0}),
             products.at<float>({0, 1}), products.at<float>({0, 8}));
  example::draw(argc, argv, {{"sinusoidal(32, 32)", table}, {"rows times rows / 16", products}},
                {.caption = "rows: positions; columns: width C, then positions"});
}
