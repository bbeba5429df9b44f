// The cost of hostile input: in an address space of 2 GB every command ends within seconds, with its own exit code and,
// if it rejects the input, a message. No signal ends it.

#include <fstream>
#include <string>

#include "qkv/base/checksum.h"
#include "qkv/text/gzip_test.h"
#include "test/command_test.h"

namespace qkv::bounds_test {

class Bounds : public CommandTest {
 protected:
  void SetUp() override {
    if (QKV_SANITIZED) GTEST_SKIP() << "sanitizers take more address space than there is";
    if (QKV_EMULATED) GTEST_SKIP() << "an emulator takes more address space than there is";
  }

  static Outcome bounded(const std::string& line, int64_t kilobytes = 2'000'000) {
    return bash(fmt::format("ulimit -v {}\n{}", kilobytes, line));
  }

  static void expect_answered(const std::string& line, int64_t lines) {
    const Outcome outcome = bounded(line);
    EXPECT_EQ(outcome.code, 0) << line << ": " << outcome.err;
    EXPECT_EQ(lines_in(outcome.out), lines) << line;
  }

  static void expect_refused(const std::string& line, int code, const std::string& message) {
    const Outcome outcome = bounded(line);
    EXPECT_EQ(outcome.code, code) << line << ": " << outcome.err;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << line << ": " << outcome.err;
  }

  static std::string train_on(const std::string& corpus) {
    return "qkv train --model new --overwrite --recipe transformer-tiny --max-steps 1 --quiet --vocabulary-size 60 "
           "--train " +
           corpus;
  }
};

const std::string translate = "qkv translate --model model --beam 1 --max-length 2 --input ",
                  score = "qkv score --model model --input ",
                  evaluate = "qkv evaluate --model model --beam 1 --max-length 2 --input ";

TEST_F(Bounds, HoldForAGzipFileOfAMegabyteThatIsALineOfTwoGigabytes) {
  const std::string member = gzip(std::string(size_t{1} << 24, 'x'));
  std::string bomb;
  for (int i = 0; i < 128; ++i) bomb += member;
  write_file(at("bomb.gz"), bomb);
  const std::string too_long = "bomb.gz:1: a line of 1000000 bytes or more";
  expect_refused(translate + "bomb.gz", 1, "bomb.gz:1: no line feed within 1073741824 bytes");
  expect_refused(translate + "bomb.gz --strict", 1, too_long);
  expect_refused(score + "bomb.gz --strict", 1, too_long);
  expect_refused(evaluate + "bomb.gz", 1, too_long);
  expect_refused("qkv evaluate --hypotheses bomb.gz --references bomb.gz", 1, too_long);
  expect_refused(train_on("bomb.gz"), 1, too_long);
}

TEST_F(Bounds, HoldForALineOf900Kilobytes) {
  const std::string known(900'000, 'I'), unknown(900'000, '#');
  write_file(at("long.txt"), known + "\n" + unknown + "\nGo on.\n");
  write_file(at("long.tsv"), known.substr(450'000) + "\t" + known.substr(450'000) + "\n" + unknown.substr(450'000) +
                                 "\t" + unknown.substr(450'000) + "\nGo on.\tContinue.\n");
  expect_answered(translate + "long.txt", 3);
  expect_answered(score + "long.tsv", 3);
  expect_answered(evaluate + "long.tsv", 4);
  for (const char* type : {"unigram", "bpe"}) expect_answered(train_on("long.tsv") + " --tokenizer " + type, 0);
}

TEST_F(Bounds, HoldForVeryManyShortLines) {
  std::string lines, pairs;
  for (int i = 0; i < 5000; ++i) lines += "I am\n", pairs += "I am\tJe suis\n";
  write_file(at("many.txt"), lines);
  write_file(at("many.tsv"), pairs);
  expect_answered(translate + "many.txt", 5000);
  expect_answered(score + "many.tsv", 5000);
  expect_answered(translate + "<(yes '' | head -n 1000000)", 1'000'000);
  expect_answered(train_on("<(yes $'I am\\tJe suis' | head -n 300000)"), 0);
}

TEST_F(Bounds, HoldForVeryManyHypotheses) {
  expect_refused("qkv translate --model model --beam 64 --batch-tokens 1000000000 </dev/null", 2,
                 "batch-tokens must be 1 to 1000000");
  expect_refused("qkv translate --model model --beam 1000 </dev/null", 2, "beam must be 1 to 256");
  expect_answered(
      "yes 'I am' | head -n 60 | qkv translate --model model --beam 256 --batch-tokens 1000000 --max-length 4", 60);
}

TEST_F(Bounds, HoldForAModelThatAllowsForMillionsOfPositions) {
  make_model(at("positions"), {"I am cold.", "Go on."}, {.type = TokenizerType::character});
  std::string config = without_checksum(read_file(at("positions/config.json")), "config.json");
  const std::string given = "\"max_positions\": 1024";
  ASSERT_NE(config.find(given), std::string::npos);
  config.replace(config.find(given), given.size(), "\"max_positions\": 16777216");
  write_file(at("positions/config.json"), config);
  const std::string line = "echo Go on. | qkv translate --max-length 5 --model ";
  const Outcome outcome = bounded(line + "positions", 500'000), reference = bounded(line + "model", 500'000);
  EXPECT_EQ(reference.code, 0) << reference.err;
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(lines_in(outcome.out), 1);
}

// 3.2 GB of zeros, which take no room on the disk.
TEST_F(Bounds, OfMemoryNameTheModelThatExceedsThem) {
  constexpr int64_t rows = 12'500'000, width = 64, bytes = rows * width * 4;
  std::filesystem::create_directory(at("big"));
  write_file(at("big/config.json"), fmt::format(R"({{"model_type": "gpt2", "vocab_size": {}, "n_embd": {},
             "n_head": 4, "n_layer": 1, "n_positions": 8}})",
                                                rows, width));
  std::string header =
      fmt::format(R"({{"transformer.wte.weight": {{"dtype": "F32", "shape": [{}, {}], "data_offsets": [0, {}]}}}})",
                  rows, width, bytes);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string begin(8, '\0');
  for (size_t i = 0; i < 8; ++i) begin[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  write_file(at("big/model.safetensors"), begin + header);
  std::filesystem::resize_file(at("big/model.safetensors"),
                               begin.size() + header.size() + static_cast<size_t>(bytes));
  expect_refused("qkv generate --model big --prompt a", 1,
                 "qkv generate: --model big: out of memory while reading it");
}

TEST_F(Bounds, HoldForMoreThreadsThanTheSystemGives) {
  const Outcome outcome =
      bounded("printf 'Go on.\\nI am cold.\\n' | qkv translate --model model --threads 64", 300'000);
  EXPECT_TRUE(outcome.code == 0 || (outcome.code == 1 && lines_in(outcome.err) == 1))
      << outcome.code << outcome.err;
}

// Where positions have no limit the attention of a whole line of 900 KB would take hours.
TEST_F(Bounds, HoldForALineOfPublishedModelsWithoutALimitOfPositions) {
  const std::string checkpoints = std::string(QKV_SOURCE_DIR) + "/test/checkpoints/";
  const std::string half(450'000, 'a');
  std::ofstream(at("long.txt")) << half << half << "\n";
  std::ofstream(at("long.tsv")) << half << "\t" << half << "\n";
  const auto answered = [&](const std::string& command, const std::string& input = "--input long.txt") {
    const Outcome outcome = bounded(fmt::format("qkv {} {}", command, input));
    EXPECT_EQ(outcome.code, 0) << command << ": " << outcome.err;
    EXPECT_EQ(lines_in(outcome.out), 1) << command;
    return outcome.err;
  };
  for (const std::string model : {"t5", "mt5"}) {
    EXPECT_NE(answered("translate --beam 1 --max-length 2 --model " + checkpoints + model)
                  .find("long.txt:1: longer than"),
              std::string::npos);
    EXPECT_NE(answered("score --model " + checkpoints + model, "--input long.tsv").find("long.tsv:1: longer than"),
              std::string::npos);
  }
  // In windows, so nothing is cut.
  EXPECT_EQ(answered("perplexity --model " + checkpoints + "qwen2").find("longer than"), std::string::npos);
  const std::string sentence = " \"$(head -c 100000 long.txt)\"";
  EXPECT_NE(answered("inspect --output o.json --model " + checkpoints + "qwen2", sentence).find("longer than"),
            std::string::npos);
  for (const std::string model : {"llama", "qwen2", "gpt_neox", "bloom"})
    for (const std::string command : {"generate --max-tokens 2", "embed"})
      EXPECT_NE(answered(command + " --model " + checkpoints + model).find("long.txt:1: longer than"),
                std::string::npos)
          << command;
}

}  // namespace qkv::bounds_test
