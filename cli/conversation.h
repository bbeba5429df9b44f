// The messages of a conversation, of which the model reads as many as fit.
//
//     Conversation conversation(generator, {}, "You are a poet.");
//     conversation.ask("A line about rain?");
//     if (const int64_t dropped = conversation.fit(256)) say(fmt::format("{} turns were dropped", dropped));
//     conversation.answered(generator.chat(conversation.messages(), options).text);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/pipeline/generator.h"

namespace qkv::cli {

class Conversation {
 public:
  // An empty `system` is none. The generator outlives it.
  Conversation(const Generator& generator, ChatOptions how, std::string system);

  void ask(const std::string& text);
  void answered(const std::string& text);
  void take_back();  // the question without an answer
  void reset();      // all but the system message

  // Drops the oldest turns, a question with its answer each, until the prompt leaves room for an answer of `max_tokens`,
  // or of a quarter of what the model reads. Their number. InputError if the last question alone is too long.
  int64_t fit(int64_t max_tokens);

  const std::vector<ChatMessage>& messages() const { return messages_; }
  int64_t limit() const { return limit_; }  // of the prompt that the model reads

 private:
  size_t first_turn() const { return system_.empty() ? 0 : 1; }
  bool drop_turn();

  const Generator& generator_;
  ChatOptions how_;
  std::string system_;
  std::vector<ChatMessage> messages_;
  int64_t limit_;
};

}  // namespace qkv::cli
