// The continuation of a prompt that is generated piece by piece, as Generator::stream() makes it.
//
//     TextGeneration text = generator.stream("Once upon a time");
//     while (const auto piece = text.next()) fmt::print("{}", *piece);
//     text.result().end                                                     // why it ended
//
// A piece is the text of one token or several: whole characters, and nothing of a stop string (text_stream.h). The
// pieces together are result().text.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "qkv/base/names.h"
#include "qkv/decode/generate.h"
#include "qkv/decode/prompt_cache.h"
#include "qkv/pipeline/text_stream.h"

namespace qkv {

// Why a text ended: the model ended it, or it reached the maximum of tokens, the model's position limit or a stop
// string.
constexpr auto names_of(Generated::End) {
  return std::array{Named{Generated::End::eos, "eos"}, Named{Generated::End::max_tokens, "max-tokens"},
                    Named{Generated::End::position_limit, "position-limit"},
                    Named{Generated::End::stopped, "stop"}};
}

struct GeneratedText {
  std::string text = {};                 // what follows the prompt
  std::vector<std::string> tokens = {};  // of the vocabulary; U+2581 stands for a space
  double log_probability = 0;  // of the tokens and the end, if the model ended it, in the model's own distribution
  double score = 0;            // log_probability; of beam search, divided by the length penalty
  Generated::End end = Generated::End::max_tokens;
  Speculated speculated = {};  // tokens that were proposed, and accepted
};

struct EncodedPrompt {
  std::vector<int32_t> ids;  // bos first
  bool truncated = false;    // it was too long and was cut
};

class TextGeneration {
 public:
  // options.streams has one stream or none. The row is of this prompt.
  TextGeneration(PromptRow row, Tokenizer tokenizer, const EncodedPrompt& prompt, const GenerateOptions& options,
                 const std::vector<std::string>& stop = {});

  // The next piece, which is not empty; none at the end.
  std::optional<std::string> next();
  const GeneratedText& result() const { return result_; }  // so far
  bool truncated() const { return truncated_; }            // the prompt was too long and was cut
  int64_t prompt_tokens() const { return row_.prompt_tokens(); }
  int64_t reused_tokens() const { return row_.reused(); }  // of the prompt, which were not read again

 private:
  bool step(std::string& piece);

  Tokenizer tokenizer_;
  TextStream stream_;
  PromptRow row_;
  std::unique_ptr<Generation> generation_;  // has a reference to the decoding of the row
  GeneratedText result_;
  bool truncated_;
  bool done_ = false;
};

}  // namespace qkv
