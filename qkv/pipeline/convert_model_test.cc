#include "qkv/pipeline/convert_model.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/model/model_file.h"
#include "qkv/model/transformer.h"
#include "qkv/pipeline/embedder.h"
#include "qkv/pipeline/generation_config.h"
#include "qkv/pipeline/generator.h"
#include "qkv/pipeline/mask_filler.h"
#include "qkv/pipeline/translator.h"
#include "qkv/published/model_folder.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::convert_model_test {

namespace fs = std::filesystem;

class ConvertModel : public ::testing::Test {
 protected:
  fs::path published(const std::string& name) const {
    return fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints" / name;
  }
  fs::path converted(const std::string& name) {
    convert_model(published(name), scratch_.path() / name);
    return scratch_.path() / name;
  }
  // A model with random parameters, as a training would leave it.
  fs::path ours(const TransformerConfig& sizes) {
    const Tokenizer tokenizer = Tokenizer::train(
        std::vector<std::string>{"the cat sat on the mat", "a dog ran to the cat", "die Katze sieht den Hund"},
        {.vocabulary_size = 60});
    TransformerConfig config = sizes;
    config.source_vocabulary = config.target_vocabulary = tokenizer.size();
    const Transformer model(config, 3);
    const fs::path folder = scratch_.path() / "ours";
    save_model(folder, model, {{"source.model", tokenizer.checksum()}, {"target.model", tokenizer.checksum()}});
    tokenizer.save(folder / "source.model");
    tokenizer.save(folder / "target.model");
    return folder;
  }
  static TransformerConfig sizes() {
    return {.d_model = 16,
            .heads = 2,
            .ffn = 24,
            .encoder_layers = 2,
            .decoder_layers = 1,
            .norm_order = NormOrder::post,
            .max_positions = 40};
  }

  test::ScratchFolder scratch_;
};

const std::vector<std::pair<std::string, std::string>> pairs = {
    {"the cat", "die Katze"}, {"a dog ran", "den Hund"}, {"the mat sat", "the"}};

TEST_F(ConvertModel, PublishedEncoderDecodersAreTheSameAsOurs) {
  for (const char* name : {"marian", "t5", "bart", "m2m100", "ctranslate2-int8", "marian-npz"}) {
    const Translator before(published(name)), after(converted(name));
    for (const auto& [source, target] : pairs) {
      const Translation a = before.translate(source), b = after.translate(source);
      EXPECT_EQ(a.text, b.text) << name;
      EXPECT_EQ(a.log_probability, b.log_probability) << name;
    }
  }
}

TEST_F(ConvertModel, WeightsAreStoredInTheFormatAskedForOrThatOfTheModel) {
  const auto size = [](const fs::path& folder) {
    return static_cast<double>(fs::file_size(folder / "model.safetensors"));
  };
  const fs::path wide = converted("marian"), half = scratch_.path() / "half", same = scratch_.path() / "same",
                 again = scratch_.path() / "again";
  EXPECT_EQ(open_model_folder(wide)->stored_weights(), WeightFormat::f32);
  convert_model(wide, half, ModelFormat::qkv, {.weights = WeightFormat::bf16});
  EXPECT_EQ(open_model_folder(half)->stored_weights(), WeightFormat::bf16);
  EXPECT_LT(size(half), 0.7 * size(wide)) << "a small model: its header and positions are f32";
  convert_model(half, same);
  EXPECT_EQ(read_file(half / "model.safetensors"), read_file(same / "model.safetensors"));
  convert_model(half, again, ModelFormat::qkv, {.weights = WeightFormat::f32});
  EXPECT_EQ(size(again), size(wide));
  const Translator rounded(wide, {.weights = WeightFormat::bf16}), stored(half), widened(again);
  for (const auto& [source, target] : pairs) {
    const Translation expected = rounded.translate(source);
    for (const Translator* other : {&stored, &widened}) {
      EXPECT_EQ(other->translate(source).text, expected.text);
      EXPECT_EQ(other->translate(source).log_probability, expected.log_probability);
    }
  }
}

TEST_F(ConvertModel, QuantisedFoldersTranslateAsTheModelThatIsQuantisedWhileItIsRead) {
  const fs::path wide = converted("marian");
  for (const WeightFormat format : {WeightFormat::int8, WeightFormat::q8_0, WeightFormat::q4_k}) {
    const fs::path small = scratch_.path() / name_of(format),
                   again = scratch_.path() / fmt::format("{} again", name_of(format));
    convert_model(wide, small, ModelFormat::qkv, {.weights = format});
    convert_model(small, again);
    EXPECT_EQ(read_file(small / "model.safetensors"), read_file(again / "model.safetensors"));
    EXPECT_LT(fs::file_size(small / "model.safetensors"), fs::file_size(wide / "model.safetensors") / 2);
    const Translator quantised(wide, {.weights = format}), stored(small);
    for (const auto& [source, target] : pairs) {
      EXPECT_EQ(stored.translate(source).text, quantised.translate(source).text);
      EXPECT_EQ(stored.translate(source).log_probability, quantised.translate(source).log_probability);
    }
  }
}

TEST_F(ConvertModel, WeightsForHuggingFaceAreF32) {
  const fs::path to = scratch_.path() / "marian";
  try {
    convert_model(ours(sizes()), to, ModelFormat::huggingface, {.weights = WeightFormat::bf16});
    FAIL() << "expected an error";
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "convert: weights bf16 can be written in the formats qkv and gguf only: those of huggingface are f32");
  }
  EXPECT_FALSE(fs::exists(to));
}

TEST_F(ConvertModel, PublishedModelsOfOneStackAreTheSameAsOurs) {
  for (const char* name : {"gpt2", "bloom", "llama"}) {
    const Generator before(published(name)), after(converted(name));
    const GenerateTextOptions greedy = {.max_tokens = 6, .sampling = {.temperature = 0}};
    EXPECT_EQ(before.generate("the cat", greedy).answers[0].tokens,
              after.generate("the cat", greedy).answers[0].tokens);
  }
  const MaskFiller before(published("bert")), after(converted("bert"));
  EXPECT_EQ(before.fill("the [MASK] sat").texts[0].text, after.fill("the [MASK] sat").texts[0].text);
  const Embedder pooled(published("minilm")), again(converted("minilm"));
  const std::vector<std::string> texts = {"the cat sat"};
  const Tensor a = pooled.embed(texts).vectors, b = again.embed(texts).vectors;
  EXPECT_TRUE(std::equal(a.span<float>().begin(), a.span<float>().end(), b.span<float>().begin()));
}

// The tables of positions and the rows of tokens differ, but the model computes the same.
TEST_F(ConvertModel, OursAsMarianGivesTheSameScoresAndTranslations) {
  for (const Activation activation : {Activation::relu, Activation::silu}) {
    TransformerConfig config = sizes();
    config.activation = activation;
    const fs::path from = ours(config), to = scratch_.path() / fmt::format("marian-{}", name_of(activation));
    convert_model(from, to, ModelFormat::huggingface);
    const Translator before(from), after(to);
    std::vector<std::string> sources, targets;
    for (const auto& [source, target] : pairs) sources.push_back(source), targets.push_back(target);
    const std::vector<PairScore> a = before.score(sources, targets), b = after.score(sources, targets);
    for (size_t i = 0; i < sources.size(); ++i) {
      EXPECT_NEAR(a[i].log_probability, b[i].log_probability, 1e-4);
      const TranslateOptions options;
      EXPECT_EQ(before.translate(sources[i], options).text, after.translate(sources[i], options).text);
    }
    fs::remove_all(from);
  }
}

TEST_F(ConvertModel, NamesWhatMarianDoesNotHave) {
  TransformerConfig config = sizes();
  config.norm_order = NormOrder::pre;
  config.gated_ffn = true;
  const fs::path from = ours(config);
  try {
    convert_model(from, scratch_.path() / "marian", ModelFormat::huggingface);
    FAIL();
  } catch (const UsageError& error) {
    const std::string why = error.what();
    EXPECT_NE(why.find("norm_order is \"pre\", must be \"post\""), std::string::npos) << why;
    EXPECT_NE(why.find("gated_ffn is true, must be false"), std::string::npos) << why;
  }
  EXPECT_FALSE(fs::exists(scratch_.path() / "marian"));
  EXPECT_THROW(convert_model(published("gpt2"), scratch_.path() / "marian", ModelFormat::huggingface), UsageError);
}

TEST_F(ConvertModel, KeepsHowAPublishedModelSearchesAndSamples) {
  for (const char* name : {"bart", "marian", "m2m100", "t5", "ctranslate2-int8", "marian-npz"}) {
    const TranslateOptions before = translate_defaults(published(name)),
                           after = translate_defaults(converted(name));
    EXPECT_EQ(before.search.beam, after.search.beam) << name;
    EXPECT_EQ(before.search.length_normalization, after.search.length_normalization) << name;
    EXPECT_EQ(before.search.max_length, after.search.max_length) << name;
  }
  EXPECT_EQ(generate_defaults(converted("gpt2")).sampling.temperature,
            generate_defaults(published("gpt2")).sampling.temperature);
}

TEST_F(ConvertModel, KeepsTheChatTemplate) {
  const fs::path from = scratch_.path() / "from", to = scratch_.path() / "to";
  fs::copy(published("gpt2"), from);
  write_file(from / "chat_template.jinja", "{{ bos_token }}{{ messages[0].content }}\n");
  convert_model(from, to);
  const ChatTemplateSource source = open_model_folder(to)->chat_template();
  EXPECT_EQ(source.text, "{{ bos_token }}{{ messages[0].content }}\n");
  EXPECT_TRUE(source.file.ends_with("tokenizer_config.json")) << source.file;
}

// Older folders have these settings in config.json.
TEST_F(ConvertModel, KeepsTheSettingsOfSearchInAConfigJson) {
  const fs::path folder = scratch_.path() / "old";
  fs::copy(published("bart"), folder, fs::copy_options::recursive);
  fs::remove(folder / "generation_config.json");
  std::string config = read_file(folder / "config.json");
  config.insert(config.find('{') + 1, "\"num_beams\": 7, \"no_repeat_ngram_size\": 2,");
  write_file(folder / "config.json", config);
  convert_model(folder, scratch_.path() / "new");
  EXPECT_EQ(translate_defaults(scratch_.path() / "new").search.beam, 7);
  EXPECT_EQ(translate_defaults(scratch_.path() / "new").search.no_repeat_ngram, 2);
}

// In a process of its own, whose files are limited to 1000 bytes.
TEST_F(ConvertModel, ErrorsNameTheTarget) {
  const fs::path to = scratch_.path() / "out";
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      convert_model(published("gpt2"), to);
    } catch (const FileError& error) {
      const std::string text = error.what();
      ::_exit(text.starts_with("write: " + to.string() + "/") && text.find(".tmp") == text.npos ? 0 : 2);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(fs::is_empty(scratch_.path())) << "nothing is left";
}

TEST_F(ConvertModel, ATargetMayEndInASlashAndLieInNewFolders) {
  const fs::path to = scratch_.path() / "a" / "b" / "";
  convert_model(published("gpt2"), to);
  EXPECT_TRUE(fs::exists(scratch_.path() / "a" / "b" / "config.json"));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch_.path() / "a"), {}), 1);
}

// Earlier versions wrote to a folder with such a name, even if it existed.
TEST_F(ConvertModel, KeepsAFolderThatLooksTemporary) {
  const fs::path folder = scratch_.path() / fmt::format("out.{}.tmp", ::getpid());
  fs::create_directory(folder);
  write_file(folder / "notes.txt", "mine");
  convert_model(published("gpt2"), scratch_.path() / "out");
  EXPECT_EQ(read_file(folder / "notes.txt"), "mine");
  EXPECT_FALSE(fs::exists(scratch_.path() / "out" / "notes.txt"));
}

TEST_F(ConvertModel, KeepsTheFilesThatWereThere) {
  const fs::path to = scratch_.path() / "used";
  fs::create_directory(to);
  write_file(to / "notes.txt", "mine");
  EXPECT_THROW(convert_model(published("gpt2"), to), UsageError);
  EXPECT_EQ(read_file(to / "notes.txt"), "mine");
  EXPECT_THROW(convert_model(scratch_.path() / "nowhere", scratch_.path() / "out"), InputError);
  EXPECT_THROW(convert_model(published("gpt2"), ""), UsageError);
  EXPECT_FALSE(fs::exists(scratch_.path() / "out"));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch_.path()), {}), 1) << "nothing is left beside it";
}

}  // namespace qkv::convert_model_test
