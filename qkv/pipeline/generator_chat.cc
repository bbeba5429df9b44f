#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/pipeline/chat_prompt.h"
#include "qkv/pipeline/encode_texts.h"
#include "qkv/pipeline/generator.h"

namespace qkv {
namespace {

// Tokens that end a turn in the templates of published models.
constexpr std::string_view turn_ends[] = {"<|im_end|>", "<|eot_id|>",      "<end_of_turn>", "<|end|>",
                                          "<|eot|>",    "<|end_of_turn|>", "</s>",          "<|endoftext|>"};

bool mentions(const std::string& text, std::string_view token) {
  return !token.empty() && text.find(token) != std::string::npos;
}

// The tokens that end an answer: those of the model, and if the template mentions none of them, the ends of turns that it
// does mention.
std::vector<int32_t> ends_of_answers(const Tokenizer& tokenizer, const std::string& chat_template) {
  std::vector<int32_t> ends = tokenizer.special().ends;
  const bool mentioned =
      mentions(chat_template, "eos_token") || std::any_of(ends.begin(), ends.end(), [&](int32_t id) {
        return id < tokenizer.token_count() && mentions(chat_template, tokenizer.token(id));
      });
  if (mentioned) return ends;
  for (const std::string_view token : turn_ends) {
    const std::optional<int32_t> id = tokenizer.id_of(token);
    if (id && tokenizer.is_added(*id) && mentions(chat_template, token)) ends.push_back(*id);
  }
  return ends;
}

}  // namespace

ChatTemplateSource Generator::template_of(const ChatOptions& how) const {
  ChatTemplateSource source = how.chat_template.text.empty() ? chat_template_ : how.chat_template;
  require<InputError>(!source.text.empty(), "chat",
                      "the model has no chat template ({}): give one, or continue a text as it is by generate()",
                      source.file);
  const SpecialTokens& special = tokenizer_.special();
  if (source.special_tokens.empty()) source.special_tokens = chat_template_.special_tokens;
  if (source.special_tokens.empty())
    for (const auto& [name, id] : {std::pair("bos_token", special.bos), std::pair("eos_token", special.eos)})
      if (id >= 0) source.special_tokens.emplace_back(name, tokenizer_.token(id));
  return source;
}

// Without the tokens that begin a text: the template writes its own.
std::vector<int32_t> Generator::chat_ids(const Json& messages, const ChatOptions& how) const {
  return chat_prompt(tokenizer_, template_of(how), messages, how.prompt, how.trusts_messages);
}

int64_t Generator::chat_tokens(const Json& messages, const ChatOptions& how) const {
  return std::ssize(chat_ids(messages, how));
}

TextGeneration Generator::stream_chat(const Json& messages, const GenerateTextOptions& options,
                                      const ChatOptions& how) const {
  check_options(options);
  require<UsageError>(
      options.beam == 1 && options.answers == 1, "Generator::chat",
      "a conversation has one answer, which is not searched for: beam and answers must be 1, got {} and {}",
      options.beam, options.answers);
  std::vector<int32_t> ids = chat_ids(messages, how);
  const int64_t limit =
      std::min(input_limit(model_->config(), options.max_input_tokens), model_->config().position_limit() - 1);
  require<InputError>(std::ssize(ids) <= limit, "chat",
                      "the conversation has {} tokens, the model reads at most {} before an answer", ids.size(),
                      limit);
  GenerateOptions tokens = token_options(options);
  tokens.eos = ends_of_answers(tokenizer_, template_of(how).text);
  tokens.streams = {mix(static_cast<uint64_t>(options.first_prompt), 0)};
  PromptRowOptions keeping = {.kept_tokens = how.kept_tokens};
  // Without one the prompt is read in the same pieces, so that the answer is the same.
  keeping.cache = how.kept_tokens > 0 ? conversation_ : std::make_shared<PromptCache>();
  PromptRow row(model_, ids, keeping);
  return {std::move(row), tokenizer_, {.ids = std::move(ids)}, tokens, options.stop};
}

GeneratedText Generator::chat(const Json& messages, const GenerateTextOptions& options,
                              const ChatOptions& how) const {
  TextGeneration text = stream_chat(messages, options, how);
  while (text.next()) {
  }
  return text.result();
}

}  // namespace qkv
