#include "cli/conversation.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/pipeline/encode_texts.h"

namespace qkv::cli {

Conversation::Conversation(const Generator& generator, ChatOptions how, std::string system)
    : generator_(generator), how_(std::move(how)), system_(std::move(system)) {
  const ModelConfig& config = generator.model().config();
  limit_ = std::min(input_limit(config, 0), config.position_limit() - 1);
  reset();
}

void Conversation::reset() {
  messages_.clear();
  if (!system_.empty()) messages_.push_back({"system", system_});
}

void Conversation::ask(const std::string& text) { messages_.push_back({"user", text}); }
void Conversation::answered(const std::string& text) { messages_.push_back({"assistant", text}); }
void Conversation::take_back() { messages_.pop_back(); }

bool Conversation::drop_turn() {
  const auto first = messages_.begin() + static_cast<std::ptrdiff_t>(first_turn());
  const auto second =
      std::find_if(first + 1, messages_.end(), [](const ChatMessage& m) { return m.role == "user"; });
  if (second == messages_.end()) return false;
  messages_.erase(first, second);
  return true;
}

int64_t Conversation::fit(int64_t max_tokens) {
  const int64_t room = std::min(max_tokens, limit_ / 4);
  const auto count = [&] { return generator_.chat_tokens(messages_, how_); };
  int64_t dropped = 0;
  int64_t tokens = count();
  for (; tokens > limit_ - room && drop_turn(); tokens = count()) ++dropped;
  require<InputError>(tokens <= limit_, "qkv chat",
                      "the message is too long: with it the prompt has {} tokens, the model reads at most {}",
                      tokens, limit_);
  return dropped;
}

}  // namespace qkv::cli
