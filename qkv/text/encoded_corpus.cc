#include "qkv/text/encoded_corpus.h"

#include <algorithm>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/text/holdout.h"

namespace qkv {

namespace {

struct Ids {
  std::vector<int32_t> source = {}, target = {};
};

// Only a few thousand pairs at a time are in memory as text. encode_pair is called in parallel, add in their order.
void encode(FunctionRef<bool(SentencePair&)> next, FunctionRef<Ids(const SentencePair&)> encode_pair,
            FunctionRef<void(const Ids&)> add) {
  constexpr size_t chunk = 1 << 13;
  std::vector<SentencePair> pairs(chunk);
  std::vector<Ids> ids(chunk);
  for (size_t count = chunk; count == chunk;) {
    for (count = 0; count < chunk && next(pairs[count]);) ++count;
    parallel_for(static_cast<int64_t>(count), [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      ids[at] = encode_pair(pairs[at]);
    });
    for (size_t i = 0; i < count; ++i) add(ids[i]);
  }
}

void encode_pairs(FunctionRef<bool(SentencePair&)> next, const Tokenizer& source, const Tokenizer& target,
                  const EncodeOptions& options, EncodedCorpus& corpus) {
  const auto encode_pair = [&](const SentencePair& pair) {
    return Ids{source.encode(pair.source), target.encode(pair.target)};
  };
  encode(next, encode_pair, [&](const Ids& ids) {
    const auto longest = static_cast<int64_t>(std::max(ids.source.size(), ids.target.size())) + 1;
    if (ids.source.empty() || ids.target.empty()) {
      ++corpus.skipped().blank;
    } else if (options.max_length > 0 && longest > options.max_length) {
      ++corpus.skipped().too_long;
    } else {
      corpus.add(ids.source, ids.target);
    }
  });
}

void mix_into(uint64_t& hash, uint64_t x) {  // FNV-1a, 64 bits at a time, with the high bits folded down
  hash = (hash ^ (x + 1)) * 0x9e3779b97f4a7c15;
  hash ^= hash >> 29;
}

void check(const EncodedCorpus& corpus, const std::string& name, const EncodeOptions& options) {
  const auto& skipped = corpus.skipped();
  require<InputError>(corpus.size() > 0, name,
                      "no sentence pairs to train on: {} with a blank side, {} longer than {} tokens, {} held out",
                      skipped.blank, skipped.too_long, options.max_length, skipped.held_out);
}

}  // namespace

std::span<const int32_t> EncodedCorpus::source(int64_t pair) const {
  const Pair& p = pairs_[static_cast<size_t>(pair)];
  return {p.ids, static_cast<size_t>(p.source)};
}

std::span<const int32_t> EncodedCorpus::target(int64_t pair) const {
  const Pair& p = pairs_[static_cast<size_t>(pair)];
  return {p.ids + p.source, static_cast<size_t>(p.target)};
}

void EncodedCorpus::add(std::span<const int32_t> source, std::span<const int32_t> target) {
  constexpr size_t block = 1 << 18;
  const size_t size = source.size() + target.size();
  if (size > free_) {
    free_ = std::max(block, size);
    blocks_.push_back(std::make_unique_for_overwrite<int32_t[]>(free_));
    next_ = blocks_.back().get();
  }
  std::copy(target.begin(), target.end(), std::copy(source.begin(), source.end(), next_));
  pairs_.push_back({next_, static_cast<int32_t>(source.size()), static_cast<int32_t>(target.size())});
  next_ += size;
  free_ -= size;
  source_tokens_ += static_cast<int64_t>(source.size());
  target_tokens_ += static_cast<int64_t>(target.size());
  for (const auto side : {source, target}) {
    mix_into(fingerprint_, side.size());
    for (const int32_t id : side) mix_into(fingerprint_, static_cast<uint32_t>(id));
  }
}

EncodedCorpus encode_corpus(const Corpus& pairs, const Tokenizer& source, const Tokenizer& target,
                            const EncodeOptions& options) {
  CorpusReader reader(pairs, {.holdout = options.holdout});
  EncodedCorpus corpus;
  const auto next = [&](SentencePair& pair) { return reader.next(pair); };
  encode_pairs(next, source, target, options, corpus);
  corpus.skipped().blank += reader.blank();
  corpus.skipped().held_out += reader.held_out();
  check(corpus, pairs.name(), options);
  return corpus;
}

EncodedCorpus encode_corpus(std::span<const SentencePair> pairs, const Tokenizer& source, const Tokenizer& target,
                            const EncodeOptions& options) {
  EncodedCorpus corpus;
  size_t at = 0;
  const auto next = [&](SentencePair& pair) {
    for (; at < pairs.size(); ++at, ++corpus.skipped().held_out)
      if (!options.holdout || !options.holdout->contains(pairs[at].source)) break;
    if (at == pairs.size()) return false;
    pair = pairs[at++];
    return true;
  };
  encode_pairs(next, source, target, options, corpus);
  check(corpus, "corpus", options);
  return corpus;
}

namespace {

Ids encode_document(std::string_view document, const Tokenizer& tokenizer, const EncodeTextOptions& options) {
  Ids ids{.source = options.before, .target = {}};
  const std::vector<int32_t> tokens = tokenizer.encode(document);
  ids.source.insert(ids.source.end(), tokens.begin(), tokens.end());
  return ids;
}

void add_document(const Ids& ids, const EncodeTextOptions& options, EncodedCorpus& corpus) {
  if (ids.source.size() == options.before.size()) {
    ++corpus.skipped().blank;
    return;
  }
  std::span<const int32_t> tokens = ids.source;
  if (options.max_length > 0 && std::ssize(tokens) >= options.max_length) {
    tokens = tokens.first(static_cast<size_t>(options.max_length - 1));
    ++corpus.skipped().too_long;
  }
  corpus.add(tokens, {});
}

}  // namespace

void add_document(std::string_view document, const Tokenizer& tokenizer, const EncodeTextOptions& options,
                  EncodedCorpus& corpus) {
  add_document(encode_document(document, tokenizer, options), options, corpus);
}

EncodedCorpus encode_text(const Corpus& text, const Tokenizer& tokenizer, const EncodeTextOptions& options) {
  CorpusReader reader(text, {.holdout = options.holdout});
  EncodedCorpus corpus;
  encode([&](SentencePair& line) { return reader.next(line); },
         [&](const SentencePair& line) { return encode_document(line.source, tokenizer, options); },
         [&](const Ids& ids) { add_document(ids, options, corpus); });
  corpus.skipped().blank += reader.blank();
  corpus.skipped().held_out += reader.held_out();
  require<InputError>(corpus.size() > 0, text.name(), "no text to train on: {}, {} held out",
                      counted(corpus.skipped().blank, "blank line"), corpus.skipped().held_out);
  return corpus;
}

}  // namespace qkv
