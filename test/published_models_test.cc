// The commands on folders of published models: every pooling, languages, models without an output matrix, vocabularies with
// more tokens than rows.

#include <map>
#include <sstream>

#include "qkv/pipeline/embedder.h"
#include "qkv/published/published_folder_test.h"
#include "test/command_test.h"

namespace qkv::published_models_test {

using test::PublishedFolder;
using Tensors = std::map<std::string, Tensor>;

class PublishedModels : public CommandTest {
 protected:
  static std::string of(const PublishedFolder& published) { return " --model " + published.path().string() + " "; }
  // What a command that must succeed prints.
  static std::string printed(const std::string& command) {
    const Outcome outcome = bash(command);
    EXPECT_EQ(outcome.code, 0) << command << ": " << outcome.err;
    return outcome.out;
  }
  static std::vector<float> numbers_of(const std::string& tsv) {
    std::vector<float> numbers;
    std::istringstream stream(tsv);
    for (std::string number; stream >> number;) numbers.push_back(std::stof(number));
    return numbers;
  }
};

const std::string two_lines = "printf 'the cat sat\\na dog\\n' | ";

// Numbers of all rows, and what the formats say of their shape.
TEST_F(PublishedModels, EmbedWritesEveryPoolingInEveryFormat) {
  const PublishedFolder published("minilm");
  const std::vector<std::string> texts = {"the cat sat", "a dog"};
  const auto check = [&](const std::string& flags, const EmbedOptions& options) {
    const Embedder embedder(published.path());
    const Tensor vectors = embedder.embed(texts, options).vectors;
    const std::vector<float> expected(vectors.span<float>().begin(), vectors.span<float>().end());
    const std::string command = two_lines + "qkv embed --quiet" + of(published) + flags + " --format ";
    const std::string tsv = printed(command + "tsv"), npy = printed(command + "npy");
    EXPECT_EQ(lines_in(tsv), 2) << flags;
    EXPECT_EQ(numbers_of(tsv), expected) << flags;
    EXPECT_NE(npy.find(fmt::format("'shape': (2, {})", vectors.dim(1))), npy.npos) << flags;
    const std::string bytes(reinterpret_cast<const char*>(expected.data()), expected.size() * sizeof(float));
    EXPECT_TRUE(npy.ends_with(bytes)) << flags;
    printed(command + "safetensors --output v.safetensors");
    const Tensor saved = SafetensorsFile::load(at("v.safetensors")).get("embeddings", vectors.shape());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), saved.span<float>().begin())) << flags;
    std::string json = printed(command + "json");
    for (char& c : json)
      if (c == '[' || c == ']' || c == ',') c = ' ';
    EXPECT_EQ(numbers_of(json), expected) << flags;
    return expected;
  };
  std::map<std::vector<float>, std::string> seen;
  for (const auto& [pooling, name] : names_of(Pooling{}))
    EXPECT_TRUE(
        seen.emplace(check(fmt::format("--normalize --pooling {}", name), {.pooling = pooling, .normalize = true}),
                     name)
            .second)
        << name;
  const std::vector<float> mean = check("", {});
  EXPECT_EQ(seen.at(mean), "mean") << "that of the folder, which normalises too";
  published.write("1_Pooling/config.json", R"({"pooling_mode": ["mean", "cls"]})");
  EXPECT_EQ(check("", {}).size(), 2 * mean.size());
  EXPECT_EQ(check("--normalize --pooling mean", {.pooling = Pooling::mean, .normalize = true}), mean)
      << "what is asked for counts more";
}

// "de" and "en" are pieces of words in this vocabulary.
TEST_F(PublishedModels, ALanguageIsOneOfTheModel) {
  const PublishedFolder published("m2m100");
  const std::string translate = two_lines + "qkv translate --scores" + of(published);
  for (const std::string flag : {"--source-language", "--target-language"})
    for (const auto& [given, hint] :
         {std::pair("de", "; did you mean deu_Latn?"), std::pair("en", "; did you mean eng_Latn?"),
          std::pair("'</s>'", ""), std::pair("xx_Latn", "")})
      expect_error(
          bash(fmt::format("{} {} {}", translate, flag, given)), 2,
          {fmt::format("qkv translate: {}: ", flag),
           fmt::format("is not one of the 3 languages of this model, eng_Latn, deu_Latn, fra_Latn{}", hint)});
  const PublishedFolder pair("t5");
  expect_error(bash(two_lines + "qkv translate --target-language de" + of(pair)), 2,
               {"--target-language: this model has no language tokens"});
}

TEST_F(PublishedModels, LanguagesAreThoseOfTheFolderUnlessTheyAreGiven) {
  const PublishedFolder published("m2m100");
  const auto translated = [&](const std::string& flags) {
    return printed(two_lines + "qkv translate --scores" + of(published) + flags);
  };
  const std::string warning =
      "this model has 3 languages, and none is chosen: --target-language eng_Latn, for example\n";
  EXPECT_EQ(bash(two_lines + "qkv translate" + of(published)).err, warning);
  EXPECT_EQ(bash(two_lines + "qkv translate --target-language fra_Latn" + of(published)).err, "");
  const std::string english = translated("");
  EXPECT_EQ(translated("--source-language eng_Latn"), english);
  EXPECT_NE(translated("--source-language fra_Latn"), english);
  const std::string german = translated("--target-language deu_Latn");
  EXPECT_NE(german, english) << "nothing asked for German";
  auto settings = PublishedFolder::Json::parse(read_file(published.path() / "generation_config.json"));
  settings["forced_bos_token_id"] = 349;
  published.write("generation_config.json", settings.dump());
  EXPECT_EQ(translated(""), german);
  EXPECT_EQ(bash(two_lines + "qkv translate" + of(published)).err, "") << "the files choose one";
  EXPECT_EQ(translated("--source-language eng_Latn --target-language deu_Latn"), german);
  EXPECT_NE(translated("--target-language fra_Latn"), german);
  const std::string first = printed("echo 'the cat sat' | qkv translate" + of(published));
  EXPECT_EQ(printed("qkv inspect --quiet --output a.json 'the cat sat'" + of(published)), first);
  write_file(at("pairs"), "the cat sat\t" + first);
  EXPECT_NE(printed("qkv evaluate --input pairs" + of(published)).find("exact match 1.0000 (1 of 1)"),
            std::string::npos);
}

// LlamaModel and T5Model instead of LlamaForCausalLM and T5ForConditionalGeneration.
TEST_F(PublishedModels, WithoutAnOutputMatrixAreForEmbeddingsAlone) {
  const PublishedFolder causal("llama"), pairs("mt5");
  for (const PublishedFolder* published : {&causal, &pairs}) {
    EXPECT_FALSE(printed("echo the cat | qkv embed" + of(*published)).empty());
    published->change_tensors([](Tensors& tensors) { ASSERT_EQ(tensors.erase("lm_head.weight"), 1u); });
    EXPECT_FALSE(printed("echo the cat | qkv embed" + of(*published)).empty());
  }
  const auto refused = [](const PublishedFolder& published, const std::vector<std::string>& commands) {
    for (const std::string& command : commands) {
      const Outcome outcome = bash("echo the cat | qkv " + command + of(published));
      expect_error(outcome, 1,
                   {published.path().string() +
                    ": this model has no head for the logits of tokens: it gives embeddings only (qkv embed)"});
      EXPECT_EQ(outcome.out, "") << command;
    }
  };
  refused(causal, {"generate", "generate --prompt a", "perplexity", "inspect a"});
  refused(pairs, {"translate", "score --input pairs.tsv", "evaluate --input pairs.tsv", "inspect a"});
  expect_error(bash("echo a | qkv translate" + of(causal)), 1,
               {"is a causal model without a head for the logits of tokens; use it with qkv embed, describe\n"});
  expect_error(
      bash("echo a | qkv generate" + of(pairs)), 1,
      {"is an encoder-decoder without a head for the logits of tokens; use it with qkv embed, describe\n"});
}

TEST_F(PublishedModels, ALineWithATokenThatHasNoRowIsAnsweredInItsPlace) {
  const PublishedFolder published("gemma3");
  auto tokenizer = PublishedFolder::Json::parse(read_file(published.path() / "tokenizer.json"));
  auto image = tokenizer["added_tokens"][0];
  image["id"] = 400, image["content"] = "<image_soft_token>";
  const std::string generate =
      "printf 'the cat\\na <image_soft_token>\\nthe\\n' | qkv generate --max-tokens 4" + of(published);
  const std::string before = printed(generate);
  tokenizer["added_tokens"].push_back(image);
  published.write("tokenizer.json", tokenizer.dump());
  EXPECT_EQ(printed(generate), before) << "special tokens are text";
  const Outcome outcome = bash(generate + "--parse-special");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(
      outcome.err,
      "stdin:2: the model has 400 rows, and none for the token '<image_soft_token>' with id 400; wrote an empty "
      "line in its place\n");
  const size_t end = before.find('\n'), last = before.rfind('\n', before.size() - 2);
  EXPECT_EQ(outcome.out, before.substr(0, end + 1) + "\n" + before.substr(last + 1));
}

TEST_F(PublishedModels, BecomeAGgufFileIfTheNameOfTheOutputSaysSo) {
  const PublishedFolder published("llama");
  const std::string convert = "qkv convert" + of(published) + " --output ";
  const Outcome file = bash(convert + "llama.gguf && head -c 4 llama.gguf");
  EXPECT_EQ(file.out, "GGUF") << file.err;
  EXPECT_TRUE(file.err.starts_with("llama.gguf: ") && file.err.ends_with(" kB\n")) << file.err;
  EXPECT_EQ(bash(convert + "folder --quiet && ls folder/model.safetensors").out, "folder/model.safetensors\n");
  EXPECT_EQ(bash(convert + "odd.gguf --format qkv --quiet && ls odd.gguf/config.json").out,
            "odd.gguf/config.json\n");
}

TEST_F(PublishedModels, AreAmongTheModelsOfTheHelp) {
  for (const char* command : {"translate", "generate", "embed", "describe", "convert"})
    EXPECT_NE(printed(fmt::format("qkv {} --help", command)).find("model folder, made by qkv train or published"),
              std::string::npos)
        << command;
}

TEST_F(PublishedModels, WhoseWeightsArePickledAreRefusedWithTheWayOut) {
  const PublishedFolder published("gpt2");
  std::filesystem::remove(published.path() / "model.safetensors");
  published.write("pytorch_model-00001-of-00002.bin", "");
  for (const std::string command : {"generate --prompt a", "embed", "convert --output converted"})
    expect_error(bash("echo a | qkv " + command + of(published)), 1,
                 {published.path().string() + ": pytorch_model-00001-of-00002.bin is not read, because",
                  "safe_serialization=True"});
}

}  // namespace qkv::published_models_test
