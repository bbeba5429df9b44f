// A kind of attention, in words joined by '+'; numbers of a word stand behind '=', joined by ':'.
//
//     AttentionKind kind = attention_kind("window=64+softcap=30");
//     MultiHeadAttention layer({.width = 512, .heads = 8, .kind = attention_kind("bigbird=8:3:1:2")});
//     to_string(kind)                                   // "window=64+softcap=30"
//     attention_kind("widnow=64")                       // throws: attention kind: there is no word 'widnow', ...
//
// The words are those of layer/word/word.h. "full", no words at all, is the default.
#pragma once

#include "qkv/layer/word/word.h"

namespace qkv {

class AttentionKind {
 public:
  struct Part {
    const AttentionWord* word;
    AttentionWord::Numbers numbers;  // all of them
    std::vector<AttentionWord::Parameter> parameters(const AttentionSize& size) const;
  };

  const std::vector<Part>& parts() const { return parts_; }
  bool has(AttentionWord::Role role) const;

  // With one more word. UsageError, naming `where`, when it cannot stand beside the others.
  void add(Part part, std::string_view where = "attention kind");

 private:
  std::vector<Part> parts_;
};

// `where` begins the error: "qkv train: --self-attention".
AttentionKind attention_kind(std::string_view text, std::string_view where = "attention kind");
std::string to_string(const AttentionKind& kind);

// UsageError when a kind cannot be used so, or does not fit a layer of that size.
void check_kind(const AttentionKind& kind, const AttentionSize& size, std::string_view where);

// Every word with its numbers, where it may stand, and a line of help.
std::string attention_words_help();

}  // namespace qkv
