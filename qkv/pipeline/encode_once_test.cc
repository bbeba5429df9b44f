// A source is encoded once, whatever is computed from it.
#include <gtest/gtest.h>

#include "qkv/decode/model_test.h"
#include "qkv/pipeline/inspect.h"
#include "qkv/pipeline/translator.h"

namespace qkv::encode_once_test {

// A model that counts the sources that it encodes.
class CountingModel final : public EncoderDecoder {
 public:
  explicit CountingModel(Transformer model) : EncoderDecoder(model.config()), model_(std::move(model)) {}

  Encoded encode(const Tensor& source, std::vector<int32_t> lengths, Pass& pass) const override {
    encoded += source.dim(0);
    return model_.encode(source, std::move(lengths), pass);
  }
  Variable decode(const Tensor& target_in, const Encoded& of, Pass& pass) const override {
    return model_.decode(target_in, of, pass);
  }
  Variable logits(const Variable& hidden) const override { return model_.logits(hidden); }
  CrossEntropy loss(const Variable& hidden, const Tensor& target_out,
                    const CrossEntropyOptions& options) const override {
    return model_.loss(hidden, target_out, options);
  }
  std::unique_ptr<Decoding> start(const Encoded& of) const override { return model_.start(of); }
  int64_t cross_attention_layers() const override { return model_.cross_attention_layers(); }
  void list(ModuleContents& contents) const override { model_.list(contents); }

  mutable int64_t encoded = 0;

 private:
  Transformer model_;
};

class EncodeOnce : public ::testing::Test {
 protected:
  EncodeOnce()
      : tokenizer_(Tokenizer::train(
            lines_, {.type = TokenizerType::character, .vocabulary_size = 60, .character_coverage = 1})),
        model_(std::make_shared<CountingModel>(random_model(4,
                                                            [&](TransformerConfig& c) {
                                                              c.source_vocabulary = tokenizer_.size();
                                                              c.target_vocabulary = tokenizer_.size();
                                                              c.max_positions = 60;
                                                            }))),
        translator_(model_, tokenizer_, tokenizer_) {}

  int64_t encoded(const TranslateOptions& options) {
    model_->encoded = 0;
    translator_.translate(lines_, options);
    return model_->encoded;
  }

  const std::vector<std::string> lines_ = {"abc", "a bcd", "hello you", "I am cold", "we are", "b"};
  const Tokenizer tokenizer_;
  const std::shared_ptr<CountingModel> model_;
  const Translator translator_;
};

TEST_F(EncodeOnce, TranslationsAlignmentsAndAlternativesEncodeASourceOnce) {
  const int64_t sources = std::ssize(lines_);
  EXPECT_EQ(encoded({.search = {.beam = 1}}), sources);
  EXPECT_EQ(encoded({.search = {.beam = 4, .n_best = 4, .max_length = 10, .alignment = true}}), sources);
  EXPECT_EQ(
      encoded({.search = {.beam = 2, .n_best = 3, .alternatives = true, .max_length = 10, .alignment = true}}),
      sources);
  // Hypotheses that do not fit into a batch are searched later.
  EXPECT_EQ(encoded({.search = {.beam = 4, .n_best = 4, .max_length = 20, .alignment = true}, .batch_tokens = 60}),
            sources);
}

TEST_F(EncodeOnce, AnInspectionEncodesItsSourceOnce) {
  model_->encoded = 0;
  inspect(translator_, "I am cold", {.translate = TranslateOptions{.search = {.beam = 3, .max_length = 10}}});
  EXPECT_EQ(model_->encoded, 1);
}

}  // namespace qkv::encode_once_test
