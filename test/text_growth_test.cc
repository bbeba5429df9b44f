// The processor time of tokenizers, normalisers and readers of vocabularies grows linearly with the length of any
// input, not with its square.
#include <ctime>
#include <filesystem>
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/json_fields.h"
#include "qkv/published/huggingface/huggingface_folder.h"
#include "qkv/published/llama2c/llama2c.h"
#include "qkv/published/load_model.h"
#include "qkv/published/published_tensors.h"
#include "qkv/test_support/scratch_folder.h"
#include "qkv/text/tokenizer/normalizer.h"
#include "qkv/text/tokenizer/pre_tokenizer.h"
#include "qkv/text/tokenizer/tokenizer_json.h"
#include "qkv/text/utf8.h"

namespace qkv::text_growth_test {

namespace fs = std::filesystem;
using Json = Json;

double seconds_of(const std::function<void()>& work) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double begin = now();
  work();
  return now() - begin;
}

// work(n) with n, 4n: what takes little time is not looked at; the square would take 16 times as long.
void expect_no_square(const std::string& name, size_t n, const std::function<void(size_t)>& work) {
  constexpr double too_short = 0.05, too_much = 9;
  double ratio = 0;
  for (int round = 0; round < 3; ++round) {  // the machine may be busy
    const double more = seconds_of([&] { work(4 * n); });
    if (more < too_short) return;
    ratio = more / seconds_of([&] { work(n); });
    if (ratio <= too_much) return;
  }
  ADD_FAILURE() << name << ": 4 times as much takes " << ratio << " times as long";
}

std::string repeated(const std::string& part, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += part;
  return out;
}

struct Kind {
  std::string name;
  std::function<std::string(size_t bytes)> text;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> out = {{"marks that are ordered", [](size_t n) {
                                return fmt::format("a{}{}", repeated("\u0301", n / 2), repeated("\u0316", n / 2));
                              }}};
    for (const std::string part : {"\u0301\u0316",
                                   " ",
                                   "\n",
                                   "\t ",
                                   "\u3000",
                                   "a",
                                   "A",
                                   "aB",
                                   "7",
                                   ".",
                                   "'",
                                   "a b ",
                                   "cat. ",
                                   "\u2581",
                                   "<",
                                   "<|",
                                   "\u4e2d",
                                   "\u4e2d\u6587",
                                   "\U00020000",
                                   "\u3042\uff9e",
                                   "\uac00",
                                   "\u1100\u1161",
                                   "\u3147\u3155",
                                   "\u0e01\u0e33",
                                   "\U0001f600",
                                   "\U0001f468\u200d",
                                   "\U0001f1e9",
                                   "\ufdfa",
                                   "\u00e9",
                                   "\u0130",
                                   "\ufb01",
                                   "\u200b",
                                   "\ufffd",
                                   "\xff",
                                   "\xe4\xb8",
                                   "\u00ad",
                                   "##",
                                   "__de__"})
      out.push_back({fmt::format("'{}'", escape_controls(part)), [part](size_t n) { return repeated(part, n); }});
    return out;
  }();
  return all;
}

constexpr size_t length = 12'000;  // bytes

// Those of test/checkpoints, each once.
std::vector<fs::path> folders() {
  std::vector<fs::path> out;
  std::set<std::string> seen;
  std::set<fs::path> sorted;
  for (const auto& entry : fs::directory_iterator(fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints"))
    sorted.insert(entry.path());
  for (const fs::path& folder : sorted)
    for (const char* name : {"tokenizer.json", "source.spm", "tokenizer.model", "spiece.model"})
      if (fs::exists(folder / name)) {
        if (seen.insert(read_file(folder / name)).second) out.push_back(folder);
        break;
      }
  return out;
}

TEST(TextGrowth, IsLinearForEveryTokenizer) {
  const std::vector<fs::path> all = folders();
  ASSERT_GT(all.size(), 15u);
  for (const fs::path& folder : all) {
    const Tokenizer tokenizer = open_model_folder(folder)->tokenizer(TokenizerSide::source);
    std::vector<Kind> texts = kinds();
    std::string added;
    for (int32_t id = 0; id < tokenizer.size(); ++id)
      if (tokenizer.is_added(id)) added += tokenizer.token(id) + " ";
    if (!added.empty()) texts.push_back({"added tokens", [&](size_t n) { return repeated(added, n); }});
    for (const Kind& kind : texts)
      expect_no_square(folder.filename().string() + ": " + kind.name, length, [&](size_t n) {
        const std::vector<int32_t> ids = tokenizer.encode(kind.text(n), {.parse_special = n % 2 == 0});
        tokenizer.decode(ids);
      });
  }
}

// SentencePiece makes one piece of a run of unknown characters and copies it for each of them: 768 KB take 13 seconds. So the
// runs are short here, with a known word between them.
TEST(TextGrowth, IsLinearForTrainedTokenizers) {
  std::vector<std::string> sentences;
  for (int i = 0; i < 50; ++i)
    sentences.push_back(fmt::format("the cat sat on the mat, and the cat was number {}", i));
  for (const auto& [type, name] : names_of(TokenizerType())) {
    const Tokenizer tokenizer = Tokenizer::train(sentences, {.type = type, .vocabulary_size = 300});
    for (const Kind& kind : kinds())
      expect_no_square(std::string(name) + ": " + kind.name, length, [&](size_t n) {
        constexpr size_t run = 1'000;
        tokenizer.decode(tokenizer.encode(repeated(kind.text(run) + " cat ", n)));
      });
  }
}

TEST(TextGrowth, IsLinearForEveryNormalizerAndPreTokenizer) {
  const Json normalizers[] = {{{"type", "NFC"}},
                              {{"type", "NFD"}},
                              {{"type", "NFKC"}},
                              {{"type", "NFKD"}},
                              {{"type", "Lowercase"}},
                              {{"type", "StripAccents"}},
                              {{"type", "Strip"}},
                              {{"type", "Nmt"}},
                              {{"type", "ByteLevel"}},
                              {{"type", "BertNormalizer"}},
                              {{"type", "Replace"}, {"pattern", {{"Regex", "\\s{2,}"}}}, {"content", " "}},
                              {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}}};
  const Json pre_tokenizers[] = {
      {{"type", "Whitespace"}},
      {{"type", "WhitespaceSplit"}},
      {{"type", "Punctuation"}},
      {{"type", "Digits"}},
      {{"type", "BertPreTokenizer"}},
      {{"type", "Metaspace"}},
      {{"type", "ByteLevel"}},
      {{"type", "Split"}, {"pattern", {{"Regex", "\\s+(?!\\S)|\\w+"}}}, {"behavior", "MergedWithPrevious"}},
      {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithNext"}}};
  for (const Kind& kind : kinds()) {
    if (utf8_error(kind.text(10))) continue;  // only valid text gets there
    for (const Json& json : normalizers) {
      const TextNormalizerPtr normalizer = read_normalizer(JsonFields(json, "test"));
      expect_no_square(json.dump() + ": " + kind.name, length, [&](size_t n) {
        AlignedText text(kind.text(n), 0);
        normalizer->apply(text);
      });
    }
    for (const Json& json : pre_tokenizers) {
      const PreTokenizerPtr pre_tokenizer = read_pre_tokenizer(JsonFields(json, "test"));
      expect_no_square(json.dump() + ": " + kind.name, length, [&](size_t n) {
        PreTokenized text(AlignedText(kind.text(n), 0));
        pre_tokenizer->apply(text);
      });
    }
  }
}

Json bpe(const Json& vocabulary, const Json& merges) {
  return {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}};
}

// Added tokens that are many, that are long, and that take the white space around them.
TEST(TextGrowth, IsLinearForAddedTokens) {
  const auto expect = [](const std::string& name, const Json& added,
                         const std::function<std::string(size_t)>& text) {
    const Json json = {{"added_tokens", added},
                       {"normalizer", {{"type", "Lowercase"}}},
                       {"model", bpe({{"a", 0}, {" ", 1}, {"\n", 2}}, Json::array())}};
    const auto tokenizer = JsonTokenizer::parse(json.dump(), "test");
    expect_no_square(name, length, [&](size_t n) { tokenizer.encode(text(n)); });
  };
  const auto a = [](size_t n) { return repeated("a", n); };
  const Json one = {{"id", 3}, {"content", std::string(200'000, 'a')}, {"normalized", false}};
  expect("a long one", Json::array({one}), a);
  expect("a long one that ends otherwise",
         Json::array({{{"id", 3}, {"content", std::string(200'000, 'a') + "b"}, {"normalized", false}},
                      {{"id", 4}, {"content", "a"}, {"normalized", false}}}),
         a);
  expect("normalised ones", Json::array({{{"id", 3}, {"content", "X"}, {"normalized", true}}}),
         [](size_t n) { return repeated("aX", n); });
  const Json strips = {{"id", 3}, {"content", "\n"}, {"lstrip", true}, {"rstrip", true}, {"normalized", false}};
  expect("white space", Json::array({strips}), [](size_t n) { return repeated("\n ", n); });
}

TEST(TextGrowth, IsLinearForDecoders) {
  const Json decoders[] = {{{"type", "ByteLevel"}},
                           {{"type", "WordPiece"}},
                           {{"type", "Metaspace"}},
                           {{"type", "BPEDecoder"}, {"suffix", "a"}},
                           {{"type", "Strip"}, {"content", "a"}, {"start", 2'000'000'000}, {"stop", 2'000'000'000}},
                           {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "bcd"}}};
  for (const Json& decoder : decoders) {
    const Json json = {
        {"decoder", {{"type", "Sequence"}, {"decoders", Json::array({{{"type", "Fuse"}}, decoder})}}},
        {"model", bpe({{"a", 0}, {" ", 1}, {" .", 2}, {"\u2581", 3}}, Json::array())}};
    const auto tokenizer = JsonTokenizer::parse(json.dump(), "test");
    for (int32_t id = 0; id < 4; ++id)
      expect_no_square(decoder.dump(), 20'000, [&](size_t n) { tokenizer.decode(std::vector<int32_t>(n, id)); });
  }
}

// Files of vocabularies of n bytes, or about as many.
class Reading : public testing::Test {
 public:
  void expect(const std::string& name, size_t n, const std::function<void(size_t)>& write) {
    const auto read = [&](size_t bytes) {
      try {
        huggingface_tokenizer(folder.path(), TokenizerSide::source, 1 << 24);
      } catch (const InputError&) {
        refused = bytes;  // in time
      }
    };
    double ratio = 0;
    for (int round = 0; round < 3; ++round) {
      write(4 * n);
      const double more = seconds_of([&] { read(4 * n); });
      if (more < 0.05) return;
      write(n);
      ratio = more / seconds_of([&] { read(n); });
      if (ratio <= 9) return;
    }
    ADD_FAILURE() << name << ": 4 times as much takes " << ratio << " times as long";
  }
  void write(const char* name, const std::string& text) const { write_file(folder.path() / name, text); }
  // n / 8 words, by id.
  static std::vector<std::string> words(size_t n) {
    std::vector<std::string> out;
    for (size_t i = 0; i < n / 8; ++i) out.push_back(fmt::format("w{}", i));
    return out;
  }
  static Json ids(size_t n) {
    Json out = Json::object();
    for (const std::string& word : words(n)) out.append(word, out.size());
    return out;
  }

  test::ScratchFolder folder;
  size_t refused = 0;
};

TEST_F(Reading, OfTokenizerJsonIsLinear) {
  const auto write_json = [&](const Json& json) { write("tokenizer.json", json.dump()); };
  expect("BPE", 30'000, [&](size_t n) {
    Json vocabulary = ids(n), merges = Json::array();
    vocabulary.append("w", vocabulary.size());
    for (const std::string& word : words(n / 4)) {
      vocabulary.append(fmt::format("w{}", word), vocabulary.size());
      merges.push_back({"w", word});
    }
    write_json({{"model", bpe(vocabulary, merges)}});
  });
  expect("Unigram", 30'000, [&](size_t n) {
    Json vocabulary = Json::array();
    for (const std::string& word : words(n)) vocabulary.push_back(Json::array({word, -1.0}));
    write_json({{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocabulary}}}});
  });
  expect("long tokens", 30'000, [&](size_t n) {
    Json vocabulary = Json::array();
    for (size_t size = 1; size * size < 2 * n; ++size)
      vocabulary.push_back(Json::array({std::string(size, 'a'), -1.0}));
    write_json({{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocabulary}}}});
  });
  expect("added tokens", 30'000, [&](size_t n) {
    Json added = Json::array();
    for (const std::string& word : words(n))
      added.push_back({{"id", added.size() + 1}, {"content", fmt::format("<{}>", word)}, {"special", true}});
    write_json({{"added_tokens", added}, {"model", bpe({{"a", 0}}, Json::array())}});
  });
  expect("a long added token", 30'000, [&](size_t n) {
    write_json({{"added_tokens", Json::array({{{"id", 1}, {"content", std::string(n, 'a')}}})},
                {"model", bpe({{"a", 0}}, Json::array())}});
  });
}

TEST_F(Reading, OfOlderFilesIsLinear) {
  write("config.json", R"({"model_type": "gpt2"})");
  expect("vocab.json, merges.txt and added_tokens.json", 30'000, [&](size_t n) {
    Json vocabulary = ids(n), added = Json::object();
    vocabulary.append("w", vocabulary.size());
    std::string merges;
    for (const std::string& word : words(n / 4)) {
      vocabulary.append(fmt::format("w{}", word), vocabulary.size());
      merges += fmt::format("w {}\n", word);
    }
    for (const std::string& word : words(n / 4))
      added.append(fmt::format("<{}>", word), vocabulary.size() + added.size());
    write("vocab.json", vocabulary.dump());
    write("merges.txt", merges);
    write("added_tokens.json", added.dump());
  });
  fs::remove(folder.path() / "merges.txt");
  expect("vocab.txt", 30'000, [&](size_t n) {
    std::string lines = "[CLS]\n[SEP]\n[UNK]\n";
    for (const std::string& word : words(n)) lines += fmt::format("{}\n", word);
    write("vocab.txt", lines);
  });
}

TEST_F(Reading, OfLlama2cIsLinear) {
  const auto entry = [](const std::string& token) {
    const auto size = static_cast<uint32_t>(token.size());
    std::string out(8, '\0');
    std::memcpy(out.data() + 4, &size, 4);
    return out + token;
  };
  const auto read = [&](const char* name, const std::function<std::string(size_t)>& tokens) {
    write("model.bin", "");
    expect_no_square(name, 15'000, [&](size_t n) {
      write("tok.bin",
            std::string(4, '\0') + entry("<unk>") + entry("<s>") + entry("</s>") + entry("a") + tokens(n));
      try {
        llama2c_tokenizer(folder.path() / "tok.bin", 1 << 20);
      } catch (const InputError&) {
        ++refused;
      }
    });
  };
  read("a long token", [&](size_t n) { return entry(std::string(n, 'a')); });
  read("many tokens", [&](size_t n) {
    std::string out;
    for (const std::string& word : words(n)) out += entry(word);
    return out;
  });
  read("long tokens", [&](size_t n) {
    std::string out;
    for (size_t size = 2; out.size() < n; ++size) out += entry(std::string(size, 'a'));
    return out;
  });
}

TEST_F(Reading, OfMarianAndCTranslate2IsLinear) {
  const fs::path checkpoints = fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints";
  fs::copy_file(checkpoints / "ctranslate2-float32" / "model.bin", folder.path() / "model.bin");
  write("config.json", "{}");
  expect("shared_vocabulary.json", 30'000, [&](size_t n) {
    Json list = Json(words(n));
    list.push_back("</s>");
    write("shared_vocabulary.json", list.dump());
  });
  fs::remove(folder.path() / "model.bin");
  fs::copy_file(checkpoints / "marian-npz" / "model.npz", folder.path() / "model.npz");
  write("decoder.yml", "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - v.yml\n  - v.yml\n");
  expect("v.yml", 10'000, [&](size_t n) {
    std::string yaml = "</s>: 0\n<unk>: 1\n";
    for (const std::string& word : words(n)) yaml += fmt::format("{}: {}\n", word, 2 + std::stoi(word.substr(1)));
    write("v.yml", yaml);
  });
}

// As many shards as tensors, none of which is there.
TEST_F(Reading, OfAnIndexOfShardsIsLinear) {
  expect_no_square("model.safetensors.index.json", 150'000, [&](size_t n) {
    Json files = Json::object();
    for (const std::string& word : words(n / 4)) files.append(word, word + ".safetensors");
    const Json json = {{"weight_map", files}};
    write("model.safetensors.index.json", json.dump());
    EXPECT_THROW(PublishedTensors::open(folder.path()), FileError);
  });
}

TEST(TextGrowth, IsLinearForReadingSentencePieceModels) {
  std::vector<std::string> sentences;
  const Tokenizer tokenizer = Tokenizer::train({"a b c d e f"}, {.vocabulary_size = 12});
  expect_no_square("pieces", 3'000, [&](size_t n) {
    std::string bytes = tokenizer.serialized();
    for (size_t i = 0; i < n; ++i) {
      const std::string piece = fmt::format("piece{}", i);
      const std::string message = fmt::format("\n{}{}", static_cast<char>(piece.size()), piece);
      bytes += fmt::format("\n{}{}", static_cast<char>(message.size()), message);  // field 1 of the model
    }
    try {
      Tokenizer::from_serialized(bytes).encode("a b");
    } catch (const InputError&) {
    }
  });
}

}  // namespace qkv::text_growth_test
