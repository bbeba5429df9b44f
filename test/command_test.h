// The command in a shell, on a small model with random weights and three sentence pairs: for tests of the command.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/model/model_file.h"
#include "qkv/model/transformer.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct Outcome {
  int code;
  std::string out, err;
};

inline int64_t lines_in(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

class CommandTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new std::filesystem::path(std::filesystem::temp_directory_path() /
                                       fmt::format("qkv_command_test_{}", getpid()));
    std::filesystem::create_directories(*folder);
    write_file(at("pairs.tsv"), "I am cold.\tJ'ai froid.\nGo on.\tContinue.\nI am here.\tJe suis l\u00e0.\n");
    make_model(at("model"), {"I am cold.", "J'ai froid.", "Go on."}, {.type = TokenizerType::character});
  }
  static void TearDownTestSuite() {
    std::filesystem::remove_all(*folder);
    delete folder;
  }

  // A model as training leaves it, with random weights.
  static void make_model(const std::string& path, const std::vector<std::string>& sentences,
                         TokenizerOptions options) {
    options.vocabulary_size = 300;
    TransformerConfig config = recipe("transformer-tiny").transformer();
    config.d_model = 16;
    config.ffn = 16;
    config.encoder_layers = config.decoder_layers = 1;
    config.tie = Tie::none;
    const Tokenizer tokenizer = Tokenizer::train(sentences, options);
    config.source_vocabulary = config.target_vocabulary = tokenizer.size();
    Transformer model(config, 1);
    save_model(path, model);
    tokenizer.save(path + "/source.model");
    tokenizer.save(path + "/target.model");
  }

  static std::string at(const std::string& name) { return (*folder / name).string(); }

  // Standard output and standard error of a line of bash, and how it ended.
  static Outcome bash(const std::string& line) {
    write_file(at("script"),
               fmt::format("qkv() {{ {} \"$@\"; }}\ncd {}\n{}\n", QKV_COMMAND, folder->string(), line));
    const std::string command =
        fmt::format("timeout 60 bash {} >{} 2>{}", at("script"), at("stdout"), at("stderr"));
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(at("stdout")),
            read_file(at("stderr"))};
  }

  static void expect_error(const Outcome& outcome, int code, const std::vector<std::string>& fragments) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(lines_in(outcome.err), 1) << outcome.err;
    for (const std::string& fragment : fragments)
      EXPECT_NE(outcome.err.find(fragment), std::string::npos) << "'" << fragment << "' is not in: " << outcome.err;
  }

  static inline std::filesystem::path* folder = nullptr;
};
}  // namespace qkv
