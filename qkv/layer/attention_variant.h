// A variant of attention, in words joined by '+'; numbers of a word stand behind '=', joined by ':'.
//
//     AttentionVariant variant = attention_variant("window=64+softcap=30");
//     MultiHeadAttention layer({.width = 512, .heads = 8, .variant = attention_variant("bigbird=8:3:1:2")});
//     to_string(variant)                                   // "window=64+softcap=30"
//     attention_variant("widnow=64")                       // throws: attention variant: there is no word 'widnow', ...
//
// The words are those of layer/mechanism/mechanism.h. "full", no words at all, is the default.
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

class AttentionVariant {
 public:
  struct Part {
    const AttentionMechanism* word;
    AttentionMechanism::Numbers numbers;  // all of them
    std::vector<AttentionMechanism::Parameter> parameters(const AttentionSize& size) const;
  };

  const std::vector<Part>& parts() const { return parts_; }
  bool has(AttentionMechanism::Role role) const;

  // With one more word. UsageError, naming `where`, when it cannot stand beside the others.
  void add(Part part, std::string_view where = "attention variant");

 private:
  std::vector<Part> parts_;
};

// `where` begins the error: "qkv train: --self-attention".
AttentionVariant attention_variant(std::string_view text, std::string_view where = "attention variant");
std::string to_string(const AttentionVariant& variant);

// UsageError when a variant cannot be used so, or does not fit a layer of that size.
void check_variant(const AttentionVariant& variant, const AttentionSize& size, std::string_view where);

// Every word with its numbers, where it may stand, and a line of help.
std::string attention_mechanisms_help();

}  // namespace qkv
