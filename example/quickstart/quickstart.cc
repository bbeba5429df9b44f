// The first hour with qkv, in C++: train a translator, translate, draw where it looked, and call attention with a mask
// and a score modification of your own, with gradients.
//
//     quickstart FOLDER          # writes the pairs, the model and the pictures there
#include <fstream>

#include "qkv/qkv.h"

using namespace qkv;

int main(int argc, char** argv) {
  const std::filesystem::path folder = argc > 1 ? argv[1] : "quickstart";
  std::filesystem::create_directories(folder);

  // Sentence pairs, one on a line: source, tab, target.
  const char* words[] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
  std::ofstream pairs(folder / "pairs.tsv");
  for (int n = 0; n < 1000; ++n)
    pairs << fmt::format("{} {} {}\t{:03}\n", words[n / 100], words[n / 10 % 10], words[n % 10], n);
  pairs.close();

  // Train.
  TrainOptions options = {.train = folder / "pairs.tsv", .hold_out = 100, .model = folder / "model"};
  options.architecture = TransformerConfig{.d_model = 64,
                                           .heads = 4,
                                           .ffn = 128,
                                           .encoder_layers = 2,
                                           .decoder_layers = 2,
                                           .dropout = 0,
                                           .tie = Tie::none};
  options.tokenizer = TokenizerType::character;
  options.schedule = ScheduleKind::inverse_sqrt;
  options.learning_rate = 3e-3;
  options.warmup = 50;
  options.batch_tokens = 600;
  options.max_steps = 250;
  options.quiet = options.overwrite = true;
  const TrainResult result = train(options);
  fmt::print("perplexity {:.2f} on {} held-out pairs\n", result.validation->perplexity(), options.hold_out);

  // Translate, and draw the cross-attention of the last layer.
  const Translator translator(folder / "model");
  fmt::print("seven two five: {}\n", translator.translate("seven two five").text);
  const AttentionMaps cross = inspect(translator, "seven two five").attention[2];
  heatmap(cross.layers.back(), {.rows = cross.rows, .columns = cross.columns, .title = "seven two five"})
      .save(folder / "cross-attention.svg");

  // Attention with a mask and a score modification of your own; gradients flow through both.
  const MaskPtr every_third = mask_mod([](int64_t, int64_t, int64_t i, int64_t j) { return (i - j) % 3 == 0; });
  const ModifierPtr recency = score_mod([](auto score, int64_t, int64_t, int64_t i, int64_t j) {
    return score - 0.1 * static_cast<double>(std::abs(i - j));
  });
  Random random(1);
  Tensor x = Tensor::empty({1, 2, 24, 8});  // (B, H, T, D)
  for (float& value : x.span<float>()) value = static_cast<float>(random.normal());
  const Variable q(x, {.requires_grad = true});
  const auto [out, weights, lse] =
      attention_with_weights(q, x, x, {.modify = {recency}, .mask = causal() & every_third});
  out.backward(Tensor::full(out.shape(), 1));
  fmt::print("query 6 sees keys 0, 3, 6 with weights {:.2f} {:.2f} {:.2f}; the gradient of q is {}\n",
             weights.at<float>({0, 0, 6, 0}), weights.at<float>({0, 0, 6, 3}), weights.at<float>({0, 0, 6, 6}),
             describe("BHTD", q.grad().shape()));
  heatmap(weights, {.title = "every third key, the nearer the heavier"}).save(folder / "weights.svg");
}
