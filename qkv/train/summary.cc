#include "qkv/train/summary.h"

#include <algorithm>

#include <fmt/format.h>

#include "qkv/base/counted.h"

namespace qkv {
namespace {

std::string layers_of(const TransformerConfig& c) {
  if (!c.has_encoder()) return fmt::format("decoder-layers {}", c.decoder_layers);
  if (!c.has_decoder()) return fmt::format("encoder-layers {}", c.encoder_layers);
  return fmt::format("encoder-layers {}, decoder-layers {}", c.encoder_layers, c.decoder_layers);
}

std::string model_line(const RecurrentConfig& c) {
  return fmt::format("architecture {}, d-model {}, encoder-layers {}, decoder-layers {}, dropout {}",
                     name_of(c.architecture), c.d_model, c.encoder_layers, c.decoder_layers, c.dropout);
}
std::string model_line(const TransformerConfig& c) {
  std::string text = fmt::format("d-model {}, ffn {}, heads {}, {}, norm {}, dropout {}", c.d_model, c.ffn, c.heads,
                                 layers_of(c), name_of(c.norm_order), c.dropout);
  const TransformerConfig usual;
  if (c.architecture != usual.architecture)
    text = fmt::format("architecture {}, {}", name_of(c.architecture), text);
  if (c.kv_heads != 0 && c.kv_heads != c.heads) text += fmt::format(", kv-heads {}", c.kv_heads);
  if (c.head_width != 0) text += fmt::format(", head-width {}", c.head_width);
  if (c.norm_kind != usual.norm_kind) text += fmt::format(", norm-kind {}", name_of(c.norm_kind));
  if (c.gated_ffn) text += ", gated-ffn";
  if (c.activation != usual.activation) text += fmt::format(", activation {}", name_of(c.activation));
  const std::string self = !c.has_encoder()   ? to_string(c.self_attention.decoder)
                           : !c.has_decoder() ? to_string(c.self_attention.encoder)
                                              : to_string(c.self_attention);
  const std::string cross = to_string(c.cross_attention);
  // Positions by a mechanism, as rotary, are none here.
  if (c.positions != usual.positions && (c.positions != Positions::none || self == "full"))
    text += fmt::format(", positions {}", name_of(c.positions));
  if (self != "full") text += ", self-attention " + self;
  if (cross != "full") text += ", cross-attention " + cross;
  return text;
}

std::string update_line(const TrainOptions& o, const TrainingSize& size) {
  std::string text = o.batch_sentences > 0 ? fmt::format("batch-sentences {}", o.batch_sentences)
                                           : fmt::format("batch-tokens {}", o.batch_tokens);
  if (o.accumulate > 1) text += fmt::format(", accumulate {}", o.accumulate);
  if (size.last_update > 0) {
    const double epochs = static_cast<double>(size.last_update * o.accumulate) /
                          static_cast<double>(std::max<int64_t>(1, size.batches_in_epoch));
    text = fmt::format("{}, {:.1f} epochs: {}", counted(size.last_update, "update"), epochs, text);
  }
  if (o.max_time.count() > 0) text = fmt::format("max-time {}, {}", duration_text(o.max_time), text);
  if (o.precision != TrainingPrecision::f32) text += fmt::format(", precision {}", name_of(o.precision));
  if (o.recompute) text += ", recompute";
  if (o.weights != WeightFormat::f32) text += fmt::format(", weights {}", name_of(o.weights));
  return fmt::format("{}, {}, label-smoothing {}{}{}", text, name_of(o.optimizer), o.label_smoothing,
                     o.r_drop > 0 ? fmt::format(", r-drop {}", o.r_drop) : "",
                     o.clip > 0 ? fmt::format(", clip {}", o.clip) : "");
}

std::string rate_line(const TrainOptions& o, const TrainingSize& size) {
  const bool by_time = o.max_time.count() > 0 && o.warmup == 0;
  return fmt::format("schedule {}, learning-rate {:.3g}, warmup {}", name_of(o.schedule), o.rate(),
                     by_time ? "a twelfth of the updates" : fmt::format("{}", o.warmup_updates(size.last_update)));
}

// With init, the tokenizer options have no effect.
std::string vocabulary_line(const TrainOptions& o) {
  if (!o.init.empty()) return "from " + o.init;
  return fmt::format("{}, vocabulary-size {}", name_of(o.tokenizer), o.vocabulary_size);
}

std::string validation_line(const TrainOptions& o, const TrainingSize& size) {
  if (!size.validates) return "off; valid or hold-out turns it on";
  std::string text = o.valid_every > 0 ? fmt::format("valid-every {}", o.valid_every) : "at the end";
  if (o.valid_sentences > 0) text += fmt::format(", BLEU of valid-sentences {}", o.valid_sentences);
  if (o.patience > 0 && o.valid_every > 0)
    text += fmt::format(", patience {} on {}", o.patience, name_of(o.patience_on));
  return text;
}

std::string checkpoint_line(const TrainOptions& o) {
  std::string text = o.save_every > 0 ? fmt::format("save-every {}", o.save_every) : "at the end";
  return o.average > 1 ? fmt::format("{}, average {}", text, o.average) : text;
}

// A line of more than 100 characters becomes several, broken after commas.
void add_wrapped(std::vector<std::string>& lines, std::string line) {
  constexpr size_t width = 98, indent = 13;  // without the two spaces before
  while (line.size() > width) {
    const size_t comma = line.rfind(", ", width - 1);
    if (comma == line.npos || comma <= indent) break;
    lines.push_back(line.substr(0, comma + 1));
    line = std::string(indent, ' ') + line.substr(comma + 2);
  }
  lines.push_back(std::move(line));
}

}  // namespace

std::vector<std::string> settings_summary(const TrainOptions& o, const TrainingSize& size) {
  const std::vector<std::string> settings = {
      "model        " + o.architecture.visit([](const auto& c) { return model_line(c); }) +
          (o.init.empty() ? "" : ", init " + o.init),
      fmt::format("vocabulary   {}, tie {}{}", vocabulary_line(o), name_of(o.architecture.tie()),
                  o.bpe_dropout > 0 ? fmt::format(", bpe-dropout {}", o.bpe_dropout) : ""),
      "updates      " + update_line(o, size),
      "rate         " + rate_line(o, size),
      "validation   " + validation_line(o, size),
      "checkpoints  " + checkpoint_line(o),
  };
  std::vector<std::string> lines;
  for (const std::string& setting : settings) add_wrapped(lines, setting);
  return lines;
}

}  // namespace qkv
