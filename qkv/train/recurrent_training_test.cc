// Trainings of the recurrent encoder-decoders.
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/threads.h"
#include "qkv/model/encoder_decoder.h"
#include "qkv/model/make_model.h"
#include "qkv/published/load_model.h"
#include "qkv/tensor/safetensors.h"
#include "qkv/test_support/tensors.h"
#include "qkv/train/adam.h"
#include "qkv/train/defaults.h"
#include "qkv/train/training_test.h"

namespace qkv::recurrent_training_test {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;

class RecurrentTraining : public testing::TestWithParam<Architecture> {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / fmt::format("recurrent.{}.{}", name_of(GetParam()), ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_small_corpus(folder_ / "pairs.tsv", 300, 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  TrainOptions options(const std::string& model) const {
    TrainOptions o = small_training(folder_ / "pairs.tsv", folder_ / model);
    o.architecture = recipe(name_of(GetParam()));
    o.architecture.recurrent().d_model = 16;
    return o;
  }
  void expect_same_weights(const std::string& a, const std::string& b) const {
    expect_same_training(folder_ / a, folder_ / b);
  }

  fs::path folder_;
};

// Sources of six digits of ten, to be reversed; a model that does not read them has ln 10 = 2.3.
TEST_P(RecurrentTraining, LearnsToReverse) {
  const std::unique_ptr<Model> made = make_model(RecurrentConfig{
      .architecture = GetParam(), .source_vocabulary = 11, .target_vocabulary = 11, .d_model = 32, .dropout = 0});
  made->initialise("", 1);
  const auto& model = dynamic_cast<EncoderDecoder&>(*made);
  std::vector<Variable> parameters;
  made->visit([&](const std::string&, Variable& p) { parameters.push_back(p); });
  Adam adam(parameters);
  constexpr int64_t rows = 32, length = 6;
  double loss = 0;
  for (uint64_t update = 0; update < 300; ++update) {
    Random random(7, update);
    Ids source, in, out;
    for (int64_t row = 0; row < rows; ++row) {
      Ids digits(length);
      for (int32_t& digit : digits) digit = 1 + static_cast<int32_t>(random.below(10));
      source.insert(source.end(), digits.begin(), digits.end());
      out.insert(out.end(), digits.rbegin(), digits.rend());
      in.push_back(0);
      in.insert(in.end(), digits.rbegin(), digits.rend() - 1);
    }
    Pass pass{.training = true, .seed = 1, .step = update};
    const CrossEntropy e =
        model.loss(Tensor::from(source, {rows, length}), Ids(rows, length), Tensor::from(in, {rows, length}),
                   Tensor::from(out, {rows, length}), {}, pass);
    adam.zero_grad();
    e.loss.backward();
    adam.step(1e-2);
    loss = e.loss.value().at<float>({0});
  }
  EXPECT_LT(loss, 0.3);
}

TEST_P(RecurrentTraining, ResumedIsTheSameBitForBit) {
  train(options("whole"));
  TrainOptions o = options("parts");
  o.max_steps = 10;
  train(o);
  o = options("parts");
  o.resume = true;
  train(o);
  expect_same_weights("whole", "parts");
}

TEST_P(RecurrentTraining, OneThreadOrThreeIsTheSameBitForBit) {
  const int before = threads();
  for (const int count : {1, 3}) {
    TrainOptions o = options(std::to_string(count));
    o.threads = count;
    train(o);
  }
  set_threads(before);
  expect_same_weights("1", "3");
}

TEST_P(RecurrentTraining, WritesAModelThatAnotherTrainingContinues) {
  const TrainResult result = train(options("first"));
  ASSERT_TRUE(result.validation && result.validation->bleu);
  const SavedModel saved = read_model(folder_ / "first");
  EXPECT_EQ(saved.model->config().architecture(), GetParam());
  TrainOptions o = options_for({.model = folder_ / "second",
                                .train = (folder_ / "pairs.tsv").string(),
                                .init = (folder_ / "first").string()});
  EXPECT_EQ(o.architecture.architecture(), GetParam());
  EXPECT_EQ(o.clip, 1);
  o.init = (folder_ / "first").string();
  o.max_steps = 1;
  o.valid_every = 0;
  o.learning_rate = 1e-9;
  o.quiet = true;
  train(o);
  const NamedTensors a = parameters_of(*saved.model), b = parameters_of(*read_model(folder_ / "second").model);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[i].second.span<float>().size(); ++j)
      ASSERT_NEAR(a[i].second.span<float>()[j], b[i].second.span<float>()[j], 1e-6) << a[i].first;
}

TEST_P(RecurrentTraining, ARecipeChoosesTheArchitecture) {
  const std::string corpus = (folder_ / "pairs.tsv").string(), name(name_of(GetParam()));
  const TrainOptions by_recipe = options_for({.model = folder_ / "m", .train = corpus, .recipe = name});
  const TrainOptions by_flag = options_for({.model = folder_ / "m", .train = corpus, .architecture = GetParam()});
  EXPECT_EQ(to_json(by_recipe), to_json(by_flag));
  EXPECT_EQ(by_recipe.architecture.architecture(), GetParam());
  EXPECT_EQ(by_recipe.architecture.d_model(), 256);
  EXPECT_EQ(by_recipe.clip, 1);
}

TEST_P(RecurrentTraining, RecipesOfTransformersAreRefused) {
  const BaseOptions contradiction = {.model = folder_ / "m",
                                     .train = (folder_ / "pairs.tsv").string(),
                                     .recipe = "transformer-tiny",
                                     .architecture = GetParam()};
  EXPECT_THROW(options_for(contradiction), UsageError);
}

// Of a training of the other kind only the architecture is named, not the settings that one of them lacks.
TEST_P(RecurrentTraining, CannotBeResumedAsATransformerNorATransformerAsIt) {
  TrainOptions o = options("recurrent");
  o.max_steps = 1;
  train(o);
  o = small_training(folder_ / "pairs.tsv", folder_ / "transformer");
  o.max_steps = 1;
  train(o);
  const auto error = [&](const std::string& model, const std::string& recipe) -> std::string {
    try {
      train(options_for({.model = folder_ / model, .recipe = recipe, .resume = true}));
      return "";
    } catch (const UsageError& e) {
      return e.what();
    }
  };
  const std::string name(name_of(GetParam()));
  EXPECT_NE(
      error("recurrent", "transformer-tiny").find("'architecture' was \"" + name + "\" and is now \"transformer\""),
      std::string::npos)
      << error("recurrent", "transformer-tiny");
  EXPECT_NE(error("transformer", name).find("'architecture' was \"transformer\" and is now \"" + name + "\""),
            std::string::npos)
      << error("transformer", name);
}

INSTANTIATE_TEST_SUITE_P(Models, RecurrentTraining, testing::Values(Architecture::bahdanau, Architecture::luong),
                         [](const auto& of) { return std::string(name_of(of.param)); });

}  // namespace qkv::recurrent_training_test
