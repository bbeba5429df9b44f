// Samples of a validation: what the model makes of two sentences.
#include "qkv/metric/bleu.h"
#include "qkv/train/training_folder_test.h"

namespace qkv::samples_test {

class Samples : public TrainingFolderTest {
 protected:
  TrainOptions text_training(const std::string& model, Architecture architecture) {
    std::string text;
    for (int i = 0; i < 300; ++i) text += fmt::format("{} {} {} {}\n", i % 7, i % 5, i % 3, i % 7);
    write_file(folder_ / "text.txt", text);
    TrainOptions o = small_training(folder_ / "text.txt", folder_ / model);
    o.architecture.transformer().architecture = architecture;
    o.max_length = 32;
    o.hold_out = 5;
    o.valid_sentences = 0;
    return o;
  }
  static std::string text(const Json& sample, const char* name) { return sample[name].get<std::string>(); }
};

TEST_F(Samples, AreTheSameTwoHeldOutPairsInEveryValidation) {
  train(options("m"));
  const std::vector<Json> validations = log("m", "samples");
  ASSERT_EQ(validations.size(), 3u);
  const std::string held_out = bytes("m/held-out.tsv");
  for (const Json& v : validations) {
    ASSERT_EQ(v["samples"].size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      const Json& sample = v["samples"][i];
      EXPECT_NE(held_out.find(text(sample, "source") + "\t" + text(sample, "reference") + "\n"), std::string::npos);
      EXPECT_EQ(text(sample, "source"), text(validations[0]["samples"][i], "source"));
    }
  }
}

// All held-out sentences as samples: their translations are those whose BLEU is logged.
TEST_F(Samples, AreTheTranslationsOfTheModel) {
  TrainOptions o = options("m");
  o.samples = o.valid_sentences = o.hold_out;
  train(o);
  const Json validation = log("m", "samples").back();
  std::vector<std::string> hypotheses, references;
  for (const Json& s : validation["samples"]) {
    hypotheses.push_back(text(s, "hypothesis"));
    references.push_back(text(s, "reference"));
  }
  ASSERT_EQ(std::ssize(hypotheses), o.hold_out);
  EXPECT_EQ(bleu(hypotheses, references).score, validation["valid_bleu"].get<double>());
}

TEST_F(Samples, AreOffOnRequestAndChangeNothing) {
  train(options("with"));
  TrainOptions o = options("without");
  o.samples = 0;
  train(o);
  EXPECT_TRUE(log("without", "samples").empty());
  EXPECT_EQ(bytes("with/model.safetensors"), bytes("without/model.safetensors"));
}

TEST_F(Samples, OfACausalModelContinueTheFirstHalfOfALine) {
  train(text_training("m", Architecture::causal));
  const std::vector<Json> validations = log("m", "samples");
  ASSERT_FALSE(validations.empty());
  for (const Json& s : validations.back()["samples"]) {
    EXPECT_TRUE(text(s, "reference").starts_with(text(s, "source"))) << s;
    EXPECT_TRUE(text(s, "hypothesis").starts_with(text(s, "source"))) << s;
    EXPECT_LT(text(s, "source").size(), text(s, "reference").size()) << s;
  }
}

TEST_F(Samples, OfAMaskedModelFillTheMasksOfALine) {
  train(text_training("m", Architecture::masked));
  const std::vector<Json> validations = log("m", "samples");
  ASSERT_FALSE(validations.empty());
  for (const Json& s : validations.back()["samples"]) {
    const std::string source = text(s, "source"), reference = text(s, "reference");
    const size_t mark = source.find("[MASK]");
    ASSERT_NE(mark, std::string::npos) << s;
    EXPECT_EQ(source.substr(0, mark), reference.substr(0, mark)) << s;
    EXPECT_EQ(text(s, "hypothesis").find("[MASK]"), std::string::npos) << s;
    EXPECT_FALSE(text(s, "hypothesis").empty()) << s;
  }
}

}  // namespace qkv::samples_test
