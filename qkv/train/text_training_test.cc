// Language models trained on plain text by train().
#include <cmath>
#include <fstream>
#include <set>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/published/load_model.h"
#include "qkv/train/training_test.h"

namespace qkv::text_training_test {

namespace fs = std::filesystem;

class TextTraining : public ::testing::TestWithParam<Architecture> {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / fmt::format("text-training.{}", ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_text(folder_ / "text.txt", 400, 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Words of three letters that follow one another in the alphabet.
  static void write_text(const fs::path& path, int64_t lines, uint64_t seed) {
    Random random(seed);
    std::string text;
    for (int64_t i = 0; i < lines; ++i) {
      for (uint64_t words = 2 + random.below(4); words > 0; --words) {
        const auto first = static_cast<char>('a' + random.below(22));
        text += fmt::format("{}{}{} ", first, static_cast<char>(first + 1), static_cast<char>(first + 2));
      }
      text.back() = '\n';
    }
    write_file(path, text);
  }

  TrainOptions options(const std::string& model) {
    TrainOptions o = small_training(folder_ / "text.txt", folder_ / model);
    o.architecture.transformer().architecture = GetParam();
    o.max_length = 32;
    o.batch_tokens = 320;
    o.label_smoothing = 0;
    o.valid_sentences = 0;
    o.vocabulary_size = 40;
    return o;
  }
  std::string bytes(const std::string& path) { return read_file(folder_ / path); }

  fs::path folder_;
};

TEST_P(TextTraining, LearnsMoreThanTheFrequenciesOfTokens) {
  TrainOptions o = options("m");
  const bool masked = GetParam() == Architecture::masked;
  o.max_steps = masked ? 900 : 120;  // there are fewer masked tokens
  o.valid_every = o.max_steps;
  o.learning_rate = masked ? 5e-3 : 1e-2;
  o.architecture.transformer().d_model = 32;
  o.architecture.transformer().dropout = 0;
  const TrainResult result = train(o);
  ASSERT_TRUE(result.validation);
  // The space is every fourth token, the 24 letters are about as frequent as one another.
  const double frequencies = 0.25 * std::log(4) + 0.75 * std::log(24 / 0.75);
  EXPECT_LT(result.validation->loss, 0.8 * frequencies);
  EXPECT_EQ(result.validation->accuracy.has_value(), masked);
  if (masked) {
    EXPECT_GT(*result.validation->accuracy, 0.35);
  }
}

TEST_P(TextTraining, MaskingOptionsAreForMaskedModels) {
  TrainOptions o = options("m");
  o.mask_whole_words = true;
  o.masking_rate = 0.4;
  if (GetParam() == Architecture::masked) {
    train(options("tokens"));
    train(o);
    EXPECT_NE(bytes("m/model.safetensors"), bytes("tokens/model.safetensors"));
    o.masking_rate = 0;
  }
  EXPECT_THROW(train(o), UsageError);
}

TEST_P(TextTraining, WritesAModelThatLoadsWithItsVocabulary) {
  train(options("m"));
  const Tokenizer tokenizer = Tokenizer::load(folder_ / "m/tokenizer.model");
  const SavedModel saved = read_model(folder_ / "m");
  EXPECT_EQ(saved.folder->tokenizer(TokenizerSide::source).checksum(), tokenizer.checksum());
  EXPECT_EQ(saved.model->config().architecture(), GetParam());
  const int64_t mask = GetParam() == Architecture::masked ? 1 : 0;
  EXPECT_EQ(saved.model->config().target_vocabulary(), tokenizer.size() + mask);
  for (const char* name : {"source.model", "target.model", "held-out.tsv"})
    EXPECT_FALSE(fs::exists(folder_ / "m" / name));
}

TEST_P(TextTraining, LinesThatAreHeldOutAreNotTrainedOn) {
  train(options("m"));
  std::ifstream held_out(folder_ / "m/held-out.txt"), text(folder_ / "text.txt");
  std::set<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.insert(line);
  int64_t count = 0;
  for (std::string line; std::getline(held_out, line); ++count) EXPECT_TRUE(lines.contains(line)) << line;
  EXPECT_EQ(count, 20);
}

TEST_P(TextTraining, AResumedTrainingHasTheBitsOfOneThatNeverStopped) {
  train(options("whole"));
  TrainOptions o = options("parts");
  for (const int64_t steps : {13, 20, 30}) {
    o.max_steps = steps;
    train(o);
    o.resume = true;
  }
  EXPECT_EQ(bytes("parts/model.safetensors"), bytes("whole/model.safetensors"));
  EXPECT_EQ(bytes("parts/held-out.txt"), bytes("whole/held-out.txt"));
}

TEST_P(TextTraining, DoesNotDependOnTheNumberOfThreads) {
  for (const int threads : {1, 3}) {
    TrainOptions o = options(fmt::format("m{}", threads));
    o.threads = threads;
    train(o);
  }
  EXPECT_EQ(bytes("m1/model.safetensors"), bytes("m3/model.safetensors"));
}

TEST_P(TextTraining, OtherTextIsRefusedOnResume) {
  TrainOptions o = options("m");
  train(o);
  const std::string before = bytes("m/model.safetensors");
  write_text(folder_ / "text.txt", 400, 2);
  o.resume = true;
  o.max_steps = 40;
  EXPECT_THROW(train(o), InputError);
  EXPECT_EQ(bytes("m/model.safetensors"), before);
}

TEST_P(TextTraining, ReplacesAModelOfAnotherKindWithAllItsFiles) {
  write_small_corpus(folder_ / "pairs.tsv", 300, 1);
  train(small_training(folder_ / "pairs.tsv", folder_ / "m"));
  TrainOptions o = options("m");
  o.overwrite = true;
  train(o);
  EXPECT_EQ(read_model(folder_ / "m").model->config().architecture(), GetParam());
  for (const char* name : {"source.model", "target.model", "held-out.tsv"})
    EXPECT_FALSE(fs::exists(folder_ / "m" / name));
  EXPECT_TRUE(fs::exists(folder_ / "m/tokenizer.model"));
}

TEST_P(TextTraining, ContinuesFromAModelOnOtherData) {
  train(options("first"));
  write_text(folder_ / "other.txt", 300, 3);
  TrainOptions o = options("second");
  o.init = folder_ / "first";
  o.train = folder_ / "other.txt";
  o.learning_rate = 1e-9;
  o.max_steps = 1;
  o.architecture.transformer().dropout = 0.3f;  // may differ
  train(o);
  EXPECT_EQ(bytes("second/tokenizer.model"), bytes("first/tokenizer.model"));
  const SavedModel first = read_model(folder_ / "first"), second = read_model(folder_ / "second");
  const NamedTensors a = parameters_of(*first.model), b = parameters_of(*second.model);
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[i].second.span<float>().size(); ++j)
      ASSERT_NEAR(a[i].second.span<float>()[j], b[i].second.span<float>()[j], 1e-6) << a[i].first;
  o.resume = true;
  o.max_steps = 5;
  EXPECT_EQ(train(o).steps, 5);

  TrainOptions wide = options("third");
  wide.init = folder_ / "first";
  wide.architecture.transformer().d_model = 24;
  EXPECT_THROW(train(wide), UsageError);
  wide.init = folder_ / "nowhere";
  EXPECT_THROW(train(wide), InputError);
  EXPECT_FALSE(fs::exists(folder_ / "third/model.safetensors"));
}

TEST_P(TextTraining, RefusesOptionsOfSentencePairs) {
  TrainOptions o = options("m");
  o.patience_on = Goal::bleu;
  o.valid_sentences = 5;
  EXPECT_THROW(train(o), UsageError);
  o = options("m");
  o.tokenizer = TokenizerType::bpe;
  o.bpe_dropout = 0.1;
  EXPECT_THROW(train(o), UsageError);
  EXPECT_FALSE(fs::exists(folder_ / "m/config.json"));
}

INSTANTIATE_TEST_SUITE_P(Architectures, TextTraining, ::testing::Values(Architecture::causal, Architecture::masked),
                         [](const auto& of) { return std::string(name_of(of.param)); });

}  // namespace qkv::text_training_test
