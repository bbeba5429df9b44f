// A custom mask, as a function and as a table: nodes of a binary tree (the parent of i is (i - 1) / 2) see their
// ancestors.
#include "qkv/attention/mask/dense.h"

#include "example/example.h"
#include "qkv/attention/mask/mask_mod.h"

using namespace qkv;

bool is_ancestor(int64_t node, int64_t ancestor) {
  while (node > ancestor) node = (node - 1) / 2;
  return node == ancestor;
}

int main(int argc, char** argv) {
  const MaskPtr rule =
      mask_mod([](int64_t, int64_t, int64_t query, int64_t key) { return is_ancestor(query, key); },
               {.name = "ancestors", .per_batch = false, .per_head = false});
  Tensor table = Tensor::empty({1, 1, 31, 31}, DType::u8);
  for (int64_t at = 0; at < 31 * 31; ++at) table.data<uint8_t>()[at] = is_ancestor(at / 31, at % 31);
  const Tensor x = example::sequence(31);
  const Tensor weights = attention_with_weights(x, x, x, {.mask = rule}).weights;
  const Tensor by_table = attention_with_weights(x, x, x, {.mask = dense(table)}).weights;

  fmt::print("weight of node 30 on its parent, 14: {:.2f} by the function, {:.2f} by the table\n",
             weights.at<float>({0, 0, 30, 14}), by_table.at<float>({0, 0, 30, 14}));
  example::draw(argc, argv, {{"ancestors", example::visible(weights)}});
}
