// Four heads with different projections attend to the same sequence in different ways.
#include "example/example.h"
#include "qkv/layer/multi_head_attention.h"

using namespace qkv;

int main(int argc, char** argv) {
  MultiHeadAttention self({.d_model = 32, .heads = 4});
  self.initialise("self", 11);
  const Parameter& weight = self.projection.query.weight;
  for (float& w : weight.mutable_value().span<float>()) w *= 5.0f;  // sharper, as after training
  const Variable x = example::sequence(12).reshape({1, 12, 32});    // (B,T,C)
  AttentionLog log;
  Pass pass{.log = &log};
  const Variable y = self.forward(x, x, x, {}, pass);

  fmt::print("out {}, weights {}\n", y.shape(), log.entries[0].weights.shape());
  std::vector<Panel> panels;
  for (int64_t h = 0; h < 4; ++h)
    panels.push_back({fmt::format("head {}", h), log.entries[0].weights.select(1, h)});
  example::draw(argc, argv, panels, {.per_line = 2});
}
