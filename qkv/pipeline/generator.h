// Texts continued, and scored, by a causal language model with its vocabulary.
//
//     Generator generator("my-model");
//     fmt::print("{}\n", generator.generate("Once upon a time", {.sampling = {.temperature = 0.8}}).answers[0].text);
//
//     TextGeneration text = generator.stream("Once upon a time");               // piece by piece
//     while (const auto piece = text.next()) fmt::print("{}", *piece);
//
//     double p = generator.score({"It rains."})[0].perplexity();                // score_documents.h
//
//     std::vector<ChatMessage> messages = {{"user", "Why is the sky blue?"}};   // chat_template.h
//     std::string answer = generator.chat(messages).text;
//
// A prompt is tokenized like a training line and begins with bos; it may be blank. The text of an answer is what
// follows the prompt, with its leading space: prompt + text is the whole text. Of a prompt of more than
// max_input_tokens only the end is read, and the result is marked as truncated; by default, a prompt that fills all
// positions is cut to half of them. If the vocabulary has no token that ends a text, answers have max_tokens; if it has
// none that begins one, a text is scored from its second token on.
//
// Tokens are sampled (sampling.h; temperature 0: greedy search), several answers being several samples, or with beam 2
// and more searched (search.h), several answers being the best ones. Prompts are batched by length; what follows a
// prompt depends on the seed and on the number of the prompt (first_prompt + its offset), not on the other prompts, nor
// on the number of answers and threads.
//
// With lookup, or after set_draft(), several tokens are read in a step (decode/speculation.h): the same answers in fewer steps.
//
// chat() answers a conversation. Its prompt is made by the chat template of the model, in which special tokens are these
// tokens, while messages are text (chat_prompt.h); it is not cut: one that leaves no position for an answer is an
// InputError. The answer ends with a token that the model ends texts with, or, if the template has none of these, with one
// that ends a turn in it ("<|im_end|>"). What the model keeps of the tokens of the last conversation is used again for those
// that the next one begins with (decode/prompt_cache.h), without changing an answer.
//
// A model folder holds config.json, model.safetensors and tokenizer.model.
// Errors: InputError for a folder that is not a causal model and files that do not fit together; RefusedTexts, an
// InputError, for texts that cannot be tokenized ("prompt 3", counted from 1); UsageError for options out of range or
// that exclude each other. The member functions may be called by several threads at once.
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qkv/decode/generate.h"
#include "qkv/decode/score_documents.h"
#include "qkv/decode/search.h"
#include "qkv/model/causal.h"
#include "qkv/model/store_parameters.h"
#include "qkv/pipeline/text_generation.h"
#include "qkv/text/chat_template/chat_template.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct TextModel;

// Ranges and help: decode/option_table.h.
struct GenerateTextOptions {
  int64_t max_tokens = 256;  // of an answer, its end included
  int64_t min_tokens = 0;
  int64_t answers = 1;                 // to every prompt; with beam at most beam
  std::vector<std::string> stop = {};  // strings that end an answer and are not part of it
  SamplingOptions sampling = {};
  bool parse_special = false;         // "<|im_start|>" in a prompt is that token; for prompts that are trusted
  int64_t first_prompt = 0;           // the number of the first prompt in its input
  std::vector<int64_t> offsets = {};  // of the prompts from that number; none: 0, 1, 2, ...
  int64_t beam = 1;                   // from 2 on: beam search instead of sampling
  double length_penalty = 1.0;
  LengthNormalization length_normalization = LengthNormalization::wu;
  int64_t lookup = 0;        // tokens of the text before that are proposed at a step; 0: none
  int64_t draft_tokens = 4;  // that the draft model proposes at a step
  // Maximum number of beam * texts * tokens of the longest prompt with its answer in a batch. A single text always fits.
  int64_t batch_tokens = 8192;
  // Of a longer prompt only the end is read (encode_texts.h); 0: the limit of the model.
  int64_t max_input_tokens = 0;
  bool scores =
      true;  // false: log_probability and score of a sampled answer are 0, and greedy search takes less time
};
// UsageError for options that are out of range for any model.
void check_options(const GenerateTextOptions& options);

struct GeneratedTexts {
  std::vector<GeneratedText> answers = {};  // samples in no special order; of beam search, best first
  bool truncated = false;                   // the prompt was too long and was cut
};

struct ScoreTextOptions {
  // Windows of long texts (score_documents.h); 0: the limit of the model, and half of that.
  int64_t context = 0, stride = 0;
  int64_t batch_tokens = 4096;
  bool parse_special = false;  // "<|im_start|>" in a text is that token
};

struct TextScore {
  double log_probability = 0;                       // of the tokens and the end; 0 of a blank text
  std::vector<float> token_log_probabilities = {};  // of each token
  std::vector<std::string> tokens = {};             // the end last; none of a blank text
  double perplexity() const;                        // 1 without tokens
};

struct ChatOptions {
  ChatTemplateSource chat_template = {};  // instead of that of the model, unless its text is empty
  RenderOptions prompt = {};              // what the template is given besides the messages
  bool trusts_messages = false;           // "<|im_end|>" in a message is that token (chat_prompt.h)
  // Of which keys and values are kept for the next conversation, at most; 0: none are kept or used again.
  int64_t kept_tokens = 8192;
};

class Generator {
 public:
  explicit Generator(const std::filesystem::path& folder, const InferenceOptions& options = {});
  // Errors begin with `name`.
  Generator(std::shared_ptr<const CausalTransformer> model, Tokenizer tokenizer,
            const std::string& name = "Generator");
  Generator(CausalTransformer model, Tokenizer tokenizer, const std::string& name = "Generator");

  // progress(n) is called when n prompts or texts are done; it may throw to stop.
  using ProgressFunction = std::function<void(int64_t)>;
  std::vector<GeneratedTexts> generate(std::span<const std::string> prompts, const GenerateTextOptions& options,
                                       const ProgressFunction& progress = {}) const;
  GeneratedTexts generate(const std::string& prompt, const GenerateTextOptions& options) const;
  // The first answer, piece by piece; without beam search.
  TextGeneration stream(const std::string& prompt, const GenerateTextOptions& options) const;
  // With defaults().
  std::vector<GeneratedTexts> generate(std::span<const std::string> prompts) const {
    return generate(prompts, defaults_);
  }
  GeneratedTexts generate(const std::string& prompt) const { return generate(prompt, defaults_); }
  // generate({"Once", "The king"}): two texts between braces would be the ends of a std::string.
  std::vector<GeneratedTexts> generate(std::initializer_list<std::string> prompts,
                                       const GenerateTextOptions& options) const {
    return generate(std::span(prompts.begin(), prompts.size()), options);
  }
  std::vector<GeneratedTexts> generate(std::initializer_list<std::string> prompts) const {
    return generate(prompts, defaults_);
  }
  TextGeneration stream(const std::string& prompt) const { return stream(prompt, defaults_); }

  // Of messages, a vector of ChatMessage or JSON as for ChatTemplate; without beam search, one answer.
  GeneratedText chat(const Json& messages, const GenerateTextOptions& options, const ChatOptions& how = {}) const;
  GeneratedText chat(const Json& messages) const { return chat(messages, defaults_); }
  TextGeneration stream_chat(const Json& messages, const GenerateTextOptions& options,
                             const ChatOptions& how = {}) const;
  TextGeneration stream_chat(const Json& messages) const { return stream_chat(messages, defaults_); }
  int64_t chat_tokens(const Json& messages, const ChatOptions& how = {}) const;  // of the prompt
  // What chat() uses. Without one the text is empty, and the file says what was looked for.
  const ChatTemplateSource& chat_template() const { return chat_template_; }

  // Proposes tokens, where options.lookup does not. InputError unless it has the same vocabulary. Not while others use this.
  void set_draft(const Generator& draft);

  std::vector<TextScore> score(std::span<const std::string> texts, const ScoreTextOptions& options = {},
                               const ProgressFunction& progress = {}) const;

  // The options that the folder of a published model asks for (generation_config.h).
  const GenerateTextOptions& defaults() const { return defaults_; }
  const CausalTransformer& model() const { return *model_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  explicit Generator(const TextModel& from);
  std::vector<EncodedPrompt> encode_prompts(std::span<const std::string> prompts,
                                            const GenerateTextOptions& options) const;
  // Of one call.
  GenerateOptions token_options(const GenerateTextOptions& options) const;
  ChatTemplateSource template_of(const ChatOptions& how) const;
  std::vector<int32_t> chat_ids(const Json& messages, const ChatOptions& how) const;
  void sample(std::span<const EncodedPrompt> prompts, const GenerateTextOptions& options,
              const ProgressFunction& progress, std::span<GeneratedTexts> out) const;
  void search_beams(std::span<const EncodedPrompt> prompts, const GenerateTextOptions& options,
                    const ProgressFunction& progress, std::span<GeneratedTexts> out) const;
  void search_batch(std::span<const EncodedPrompt> prompts, std::span<const size_t> batch,
                    const GenerateTextOptions& options, std::span<GeneratedTexts> out) const;

  std::shared_ptr<const CausalTransformer> model_, draft_;
  Tokenizer tokenizer_;
  GenerateTextOptions defaults_ = {};
  ChatTemplateSource chat_template_ = {};
  std::shared_ptr<PromptCache> conversation_ = std::make_shared<PromptCache>();
};

}  // namespace qkv
