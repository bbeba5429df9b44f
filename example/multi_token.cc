// Plain attention matches single letters; a diagonal convolution matches three letters in a row.
#include "qkv/attention/multi_token.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const std::string text = "the cat saw the rat nap";
  const auto n = static_cast<int64_t>(text.size());
  Tensor x = Tensor::zeros({1, 1, n, 128});
  for (int64_t i = 0; i < n; ++i) x.data<float>()[128 * i + text[static_cast<size_t>(i)]] = 1;
  const Tensor taps = Tensor::from({1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 1, 3, 3});
  const Tensor letters = multi_token_attention_with_weights(x, x, x, {.scale = 2}).weights;
  const Tensor triples =
      multi_token_attention_with_weights(x, x, x, {.pre_conv = taps, .pad_key = PadKey::left, .scale = 2}).weights;

  fmt::print("weight of the second \"the\" on the first: {:.2f}; letter by letter: {:.2f}\n",
             triples.at<float>({0, 0, 14, 2}), letters.at<float>({0, 0, 14, 2}));
  std::vector<std::string> labels;
  for (const char letter : text) labels.push_back(letter == ' ' ? "_" : std::string(1, letter));
  example::draw(argc, argv, {{"letters", letters, labels, labels}, {"three in a row", triples, labels, labels}});
}
