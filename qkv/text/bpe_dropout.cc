#include "qkv/text/bpe_dropout.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

constexpr std::string_view space = "\u2581";

uint64_t key_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

}  // namespace

struct BpeDropout::Merges {
  struct Token {
    std::vector<int32_t> characters;  // their ids; empty: the token is never divided
    bool begins_word = false;
    float score = 0;  // the higher, the earlier it is merged
  };

  std::vector<Token> tokens;                  // by id
  std::unordered_map<uint64_t, int32_t> ids;  // of the concatenation of two tokens
};

BpeDropout::BpeDropout(const Tokenizer& tokenizer, double rate) : rate_(rate) {
  require<UsageError>(rate >= 0 && rate <= 1, "BpeDropout", "the rate must be in [0, 1], got {}", rate);
  std::unordered_map<std::string_view, int32_t> ids;
  const auto size = static_cast<int32_t>(tokenizer.size());
  for (int32_t id = 0; id < size; ++id)
    if (tokenizer.is_text(id)) ids.emplace(tokenizer.token(id), id);
  const auto id_of = [&](std::string_view text) {
    const auto found = ids.find(text);
    return found == ids.end() ? -1 : found->second;
  };
  auto merges = std::make_shared<Merges>();
  merges->tokens.resize(static_cast<size_t>(size));
  for (const auto& [text, id] : ids) {
    Merges::Token& token = merges->tokens[static_cast<size_t>(id)];
    token.score = tokenizer.score(id);
    token.begins_word = text.starts_with(space);
    for (size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
      bytes = utf8_first(text.substr(at)).bytes;
      token.characters.push_back(id_of(text.substr(at, bytes)));
      if (at == 0) continue;
      const int32_t left = id_of(text.substr(0, at)), right = id_of(text.substr(at));
      if (left >= 0 && right >= 0) merges->ids.emplace(key_of(left, right), id);
    }
    // A character that is not a token cannot stand alone.
    if (std::ranges::count(token.characters, -1) > 0) token.characters.clear();
  }
  merges_ = std::move(merges);
}

std::vector<int32_t> BpeDropout::sample(std::span<const int32_t> ids, Random& random) const {
  // Text without spaces is cut between tokens, for a time that is linear in its length.
  constexpr size_t max_symbols = 128;
  std::vector<int32_t> out;
  size_t word = 0;
  const auto end_word = [&] {
    merge(out, word, random);
    word = out.size();
  };
  for (const int32_t id : ids) {
    const Merges::Token& token = merges_->tokens[static_cast<size_t>(id)];
    if (token.begins_word || token.characters.empty() || out.size() - word >= max_symbols) end_word();
    if (token.characters.empty()) {
      out.push_back(id);
      word = out.size();
    } else {
      out.insert(out.end(), token.characters.begin(), token.characters.end());
    }
  }
  end_word();
  return out;
}

// One merge at a time: that of the highest score among those that are not left out, the first of equal ones.
void BpeDropout::merge(std::vector<int32_t>& symbols, size_t begin, Random& random) const {
  while (true) {
    size_t best = 0;
    int32_t merged = -1;
    float best_score = -std::numeric_limits<float>::infinity();
    for (size_t i = begin; i + 1 < symbols.size(); ++i) {
      const auto found = merges_->ids.find(key_of(symbols[i], symbols[i + 1]));
      if (found == merges_->ids.end() || (rate_ > 0 && random.uniform() < rate_)) continue;
      const float score = merges_->tokens[static_cast<size_t>(found->second)].score;
      if (score <= best_score) continue;
      best = i;
      merged = found->second;
      best_score = score;
    }
    if (merged < 0) return;
    symbols[best] = merged;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

}  // namespace qkv
