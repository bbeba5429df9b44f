// Cross-attention: queries from one sentence, keys and values from another, of different length.
#include "example/example.h"
#include "qkv/op/embedding.h"

using namespace qkv;

int main(int argc, char** argv) {
  const std::vector<std::string> french = {"le", "chat", "noir", "dort", "sur", "le", "lit"};
  const std::vector<std::string> english = {"the", "black", "cat", "is", "sleeping", "on", "the", "bed"};
  const Tensor embeddings = example::normal({7, 32}, 1, 1.3);
  const auto rows = [&](const std::vector<int32_t>& ids) {
    const auto n = static_cast<int64_t>(ids.size());
    return embedding(Tensor::from(ids, {1, n}), embeddings).value().reshape({1, 1, n, 32});
  };
  const Tensor q = rows({0, 1, 2, 3, 4, 0, 5}), k = rows({0, 2, 1, 6, 3, 4, 0, 5});
  const auto [out, weights, lse] = attention_with_weights(q, k, k);

  fmt::print("\"noir\" attends to \"black\" with weight {:.2f}\n", weights.at<float>({0, 0, 2, 1}));
  example::draw(argc, argv, {{"cross-attention", weights, french, english}});
}
