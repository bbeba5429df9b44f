// An attention variant: mechanisms joined by '+', the numbers of a mechanism behind '=' and joined by ':'.
//
//     AttentionVariant variant = attention_variant("window=64+softcap=30");
//     MultiHeadAttention layer({.d_model = 512, .heads = 8, .variant = attention_variant("bigbird=8:3:1:2")});
//     to_string(variant)                                   // "window=64+softcap=30"
//     attention_variant("widnow=64")                       // throws: attention variant: unknown mechanism 'widnow', ...
//
// The mechanisms are those of layer/mechanism/mechanism.h. The default, "full", has none.
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

class AttentionVariant {
 public:
  struct Part {
    const AttentionMechanism* mechanism;
    AttentionMechanism::Numbers numbers;  // all of them, defaults included
    AttentionMechanism::Parameters parameters(const AttentionSize& size) const;
  };

  const std::vector<Part>& parts() const { return parts_; }
  bool has(AttentionMechanism::Role role) const;
  // Whether a layer needs projections of queries and of keys.
  bool reads_queries() const;
  bool reads_keys() const;

  // UsageError, beginning with `where`, when the mechanism cannot be combined with the others.
  void add(Part part, std::string_view where = "attention variant");

 private:
  std::vector<Part> parts_;
};

// `where` begins the error: "qkv train: --cross-attention".
AttentionVariant attention_variant(std::string_view text, std::string_view where = "attention variant");
std::string to_string(const AttentionVariant& variant);

// UsageError when a layer of that use and size cannot have the variant.
void check_variant(const AttentionVariant& variant, const AttentionSize& size, std::string_view where);

// A table of the mechanisms for the command's help, at most 100 columns wide.
std::string attention_mechanisms_help();

}  // namespace qkv
