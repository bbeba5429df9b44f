// Four query heads share two key/value heads; in each of these one key gets most of the weight.
#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  Tensor q = example::normal({1, 4, 16, 8}, 1), k = example::normal({1, 2, 16, 8}, 2), v = k;
  for (int64_t row = 0; row < 64; ++row) q.data<float>()[8 * row] = 2;
  k.data<float>()[8 * 4] = 5;          // key 4 of key/value head 0
  k.data<float>()[8 * (16 + 11)] = 5;  // key 11 of key/value head 1
  const auto [out, weights, lse] = attention_with_weights(q, k, v);

  fmt::print("q {}, k and v {}, weights {}\n", q.shape(), k.shape(), weights.shape());
  std::vector<Panel> panels;
  for (int64_t h = 0; h < 4; ++h)
    panels.push_back({fmt::format("query head {}: keys of head {}", h, h / 2), weights.select(1, h)});
  example::draw(argc, argv, panels, {.per_line = 2});
}
