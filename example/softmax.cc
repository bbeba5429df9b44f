// Queries of increasing norm: with a sink, those of small scores give little weight to any key.
#include "qkv/attention/normalize/softmax.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor k = example::sequence(24);
  Tensor q = k.clone();
  for (int64_t at = 0; at < q.numel(); ++at) q.data<float>()[at] *= static_cast<float>(at / 32) / 12;
  const Tensor sink = Tensor::full({1}, 7);  // a score that belongs to no key, one for each head
  const Tensor plain = attention_with_weights(q, k, k).weights;
  const Tensor with_sink = attention_with_weights(q, k, k, {.normalize = softmax_with_sink(sink)}).weights;

  for (const int64_t i : {0, 12, 23}) {
    const auto row = with_sink.select(0, 0).select(0, 0).select(0, i);
    float sum = 0;
    for (const float weight : row.span<float>()) sum += weight;
    fmt::print("weights of query {}: sum {:.2f}\n", i, sum);
  }
  example::draw(argc, argv, {{"softmax()", plain}, {"softmax_with_sink(7)", with_sink}});
}
