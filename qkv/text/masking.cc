#include "qkv/text/masking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/base/threads.h"

namespace qkv {

TokenMasking::TokenMasking(const MaskingOptions& options) : options_(options) {
  const MaskingOptions& o = options_;
  require<UsageError>(o.rate > 0 && o.rate <= 1, "masking", "the rate must be above 0 and at most 1, got {}",
                      o.rate);
  require<UsageError>(o.mask_fraction >= 0 && o.random_fraction >= 0 && o.mask_fraction + o.random_fraction <= 1,
                      "masking", "the fractions must be at least 0 and sum to at most 1, got mask {} and random {}",
                      o.mask_fraction, o.random_fraction);
  require<UsageError>(o.mask >= 0 && o.mask < o.vocabulary, "masking",
                      "the mask token {} must be an id of the vocabulary of {}", o.mask, o.vocabulary);
  require<UsageError>(o.begins_word.empty() || static_cast<int64_t>(o.begins_word.size()) == o.vocabulary,
                      "masking", "begins_word must have a flag for each of {} ids, got {}", o.vocabulary,
                      o.begins_word.size());
  special_.resize(static_cast<size_t>(o.vocabulary));
  special_[static_cast<size_t>(o.mask)] = true;
  for (const int32_t id : o.special) {
    require<UsageError>(id >= 0 && id < o.vocabulary, "masking",
                        "the special token {} must be an id of the vocabulary of {}", id, o.vocabulary);
    special_[static_cast<size_t>(id)] = true;
  }
  for (int32_t id = 0; id < o.vocabulary; ++id)
    if (!special_[static_cast<size_t>(id)]) random_.push_back(id);
}

// The units that may be chosen: single tokens or words. Special tokens are left out, and end a word.
std::vector<TokenMasking::Span> TokenMasking::candidates(std::span<const int32_t> ids) const {
  std::vector<Span> spans;
  bool inside = false;
  for (size_t i = 0; i < ids.size(); ++i) {
    require(ids[i] >= 0 && ids[i] < options_.vocabulary, "masking",
            "id {} at position {} is outside the vocabulary of {}", ids[i], i, options_.vocabulary);
    const auto id = static_cast<size_t>(ids[i]);
    if (special_[id]) {
      inside = false;
    } else if (inside && !options_.begins_word.empty() && !options_.begins_word[id]) {
      spans.back().end = i + 1;
    } else {
      spans.push_back({i, i + 1});
      inside = true;
    }
  }
  return spans;
}

MaskedTokens TokenMasking::mask(std::span<const int32_t> ids, int64_t sentence, int64_t epoch) const {
  MaskedTokens out{{ids.begin(), ids.end()}, std::vector<int32_t>(ids.size(), options_.ignore_index)};
  std::vector<Span> spans = candidates(ids);
  size_t tokens = 0;
  for (const Span& span : spans) tokens += span.end - span.begin;
  const auto wanted = std::max<int64_t>(1, std::llround(options_.rate * static_cast<double>(tokens)));

  constexpr uint64_t purpose = 0x6d61736b;
  Random random(options_.seed, mix(mix(purpose, static_cast<uint64_t>(sentence)), static_cast<uint64_t>(epoch)));
  random.shuffle(std::span(spans));
  for (const Span& span : spans) {
    const auto chosen = out.chosen + static_cast<int64_t>(span.end - span.begin);
    if (out.chosen > 0 && chosen > wanted) continue;  // the first word is taken, however long it is
    out.chosen = chosen;
    for (size_t i = span.begin; i < span.end; ++i) {
      out.targets[i] = ids[i];
      const double replace = random.uniform();
      if (replace < options_.mask_fraction) {
        out.inputs[i] = options_.mask;
      } else if (replace < options_.mask_fraction + options_.random_fraction) {
        out.inputs[i] = random_[random.below(random_.size())];
      }
    }
  }
  return out;
}

MaskedBatch TokenMasking::mask(const Tensor& ids, std::span<const int32_t> lengths,
                               std::span<const int64_t> sentences, int64_t epoch) const {
  require(ids.rank() == 2 && ids.dtype() == DType::i32 && ids.contiguous() &&
              ids.dim(0) == static_cast<int64_t>(lengths.size()) && lengths.size() == sentences.size(),
          "masking", "ids must be contiguous i32 (B,T) with B lengths and sentences, got {} {}, {} and {}",
          name_of(ids.dtype()), ids.shape(), lengths.size(), sentences.size());
  const int64_t B = ids.dim(0), T = ids.dim(1);
  MaskedBatch out{ids.clone(), Tensor::empty({B, T}, DType::i32)};
  int32_t *inputs = out.inputs.data<int32_t>(), *targets = out.targets.data<int32_t>();
  std::vector<int64_t> chosen(lengths.size());
  parallel_for(B, [&](int64_t b) {
    const auto row = static_cast<size_t>(b);
    require(lengths[row] >= 0 && lengths[row] <= T, "masking", "the length of row {} must be 0 to T {}, got {}", b,
            T, lengths[row]);
    const auto length = static_cast<size_t>(lengths[row]);
    const MaskedTokens masked = mask({ids.data<int32_t>() + b * T, length}, sentences[row], epoch);
    std::copy(masked.inputs.begin(), masked.inputs.end(), inputs + b * T);
    std::fill_n(std::copy(masked.targets.begin(), masked.targets.end(), targets + b * T),
                T - static_cast<int64_t>(length), options_.ignore_index);
    chosen[row] = masked.chosen;
  });
  out.chosen = std::accumulate(chosen.begin(), chosen.end(), int64_t{0});
  return out;
}

std::vector<bool> begins_word(const Tokenizer& tokenizer) {
  // WordPiece marks the inner tokens of a word, the other types the first one.
  std::vector<bool> begins, within;
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string& token = tokenizer.token(id);
    begins.push_back(tokenizer.is_text(id) && token.starts_with("\u2581"));
    within.push_back(token.starts_with("##"));
  }
  const bool is_word_piece =
      std::count(within.begin(), within.end(), true) > std::count(begins.begin(), begins.end(), true);
  if (!is_word_piece) return begins;
  within.flip();
  return within;
}

}  // namespace qkv
