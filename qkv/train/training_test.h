// For tests: a training of a fraction of a second, from strings of digits to the same strings reversed.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/base/random.h"
#include "qkv/tensor/safetensors.h"
#include "qkv/test_support/tensors.h"
#include "qkv/train/train.h"

namespace qkv {

inline void write_small_corpus(const std::filesystem::path& path, int64_t pairs, uint64_t seed) {
  Random random(seed);
  std::string text;
  for (int64_t i = 0; i < pairs; ++i) {
    std::string word;
    for (uint64_t n = 3 + random.below(5); n > 0; --n) word += static_cast<char>('0' + random.below(10));
    text += fmt::format("{}\t{}\n", word, std::string(word.rbegin(), word.rend()));
  }
  write_file(path, text);
}

inline TrainOptions small_training(const std::filesystem::path& corpus, const std::filesystem::path& model) {
  TrainOptions o;
  o.train = corpus.string();
  o.model = model;
  o.hold_out = 20;
  o.max_length = 16;
  o.tokenizer = TokenizerType::character;
  o.vocabulary_size = 32;
  o.architecture = TransformerConfig{.d_model = 16,
                                     .heads = 2,
                                     .ffn = 32,
                                     .encoder_layers = 1,
                                     .decoder_layers = 1,
                                     .dropout = 0.1f,
                                     .max_positions = 64};
  o.schedule = ScheduleKind::inverse_sqrt;
  o.learning_rate = 5e-3;
  o.warmup = 10;
  o.clip = 1;
  o.batch_tokens = 200;
  o.max_steps = 30;
  o.patience = 0;
  o.save_every = 10;
  o.valid_every = 10;
  o.report_every = 7;
  o.keep = 3;
  o.valid_sentences = 5;
  o.quiet = true;
  return o;
}

// Of two trainings of one length: the model, and the state that they would be resumed from.
inline void expect_same_training(const std::filesystem::path& a, const std::filesystem::path& b) {
  EXPECT_TRUE(read_file(a / "model.safetensors") == read_file(b / "model.safetensors"));
  const SafetensorsFile x = SafetensorsFile::load(a / "training/state.safetensors");
  const SafetensorsFile y = SafetensorsFile::load(b / "training/state.safetensors");
  ASSERT_EQ(x.names(), y.names());
  for (const std::string& name : x.names()) EXPECT_TRUE(test::same_bits(x.get(name), y.get(name))) << name;
}

// The lines of log.jsonl without the numbers that depend on time.
inline std::vector<std::string> log_without_times(const std::filesystem::path& model) {
  std::ifstream file(model / "training" / "log.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line.substr(0, std::min(line.find("\"tokens_per_s\""), line.find("\"valid_seconds\""))));
  return lines;
}

}  // namespace qkv
