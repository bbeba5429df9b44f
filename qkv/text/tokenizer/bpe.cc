// Byte-pair encoding (Sennrich et al., 2016) by a list of merges: the adjacent pair that comes first in the list is
// merged, the leftmost of equal ones first, until no pair is in the list.
#include <queue>

#include "qkv/base/json_fields.h"
#include "qkv/text/tokenizer/subword_model.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

struct Merge {
  int32_t rank, id;  // place in the list, the token that the pair becomes
};

uint64_t key_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

// A power of two of slots, linear probing: found in every step of encoding.
class MergeTable {
 public:
  void reserve(size_t merges) {
    size_t slots = 16;
    while (slots < 2 * merges) slots *= 2;
    slots_.assign(slots, {empty, {}});
  }
  void set(uint64_t key, Merge merge) {
    Slot& slot = slots_[place(key)];
    slot = {key, merge};
  }
  const Merge* find(uint64_t key) const {
    const Slot& slot = slots_[place(key)];
    return slot.key == key ? &slot.merge : nullptr;
  }

 private:
  static constexpr uint64_t empty = ~uint64_t{0};
  struct Slot {
    uint64_t key = empty;
    Merge merge = {};
  };
  size_t place(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (key * 0x9e3779b97f4a7c15u) >> 20 & mask;
    while (slots_[at].key != key && slots_[at].key != empty) at = (at + 1) & mask;
    return at;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(16);
};

struct BpeOptions {
  std::string unknown = {}, prefix = {}, suffix = {};
  bool fuses_unknown = false, byte_fallback = false, ignores_merges = false;
};

class Bpe final : public SubwordModel {
 public:
  explicit Bpe(const JsonFields& fields) : vocabulary_(fields) {
    options_ = {.unknown = fields.text("unk_token", ""),
                .prefix = fields.text("continuing_subword_prefix", ""),
                .suffix = fields.text("end_of_word_suffix", ""),
                .fuses_unknown = fields.flag("fuse_unk", false),
                .byte_fallback = fields.flag("byte_fallback", false),
                .ignores_merges = fields.flag("ignore_merges", false)};
    if (!options_.unknown.empty()) {
      unknown_ = vocabulary_.find(options_.unknown);
      require<InputError>(unknown_.has_value(), fields.where(), "the unknown token {} is not in 'vocab'",
                          quoted_name(options_.unknown));
    }
    if (options_.byte_fallback) bytes_ = vocabulary_.byte_tokens();
    read_merges(fields);
  }

  const std::vector<std::string>& tokens() const override { return vocabulary_.tokens(); }
  std::optional<int32_t> id_of(std::string_view token) const override { return vocabulary_.find(token); }

  void cut(std::string_view piece, std::vector<Token>& tokens) const override {
    if (options_.ignores_merges)
      if (const std::optional<int32_t> whole = vocabulary_.find(piece)) {
        tokens.push_back({*whole, static_cast<uint32_t>(piece.size())});
        return;
      }
    std::vector<Token> symbols = characters(piece);
    merge(symbols);
    tokens.insert(tokens.end(), symbols.begin(), symbols.end());
  }

 private:
  // "a b", or ["a", "b"] where they may hold spaces.
  void read_merges(const JsonFields& fields) {
    const Json& list = fields.list("merges");
    merges_.reserve(list.size());
    int32_t rank = 0;
    for (const Json& item : list) {
      std::string left, right;
      if (item.is_string()) {
        const auto text = item.get<std::string>();
        const size_t space = text.find(' ');
        require<InputError>(space != std::string::npos, fields.where(), "merge {} is not a pair: {}", rank,
                            shown_json(item));
        left = text.substr(0, space), right = text.substr(space + 1);
      } else {
        require<InputError>(item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string(),
                            fields.where(), "merge {} is not a pair: {}", rank, shown_json(item));
        left = item[0].get<std::string>(), right = item[1].get<std::string>();
      }
      const bool is_continued = right.starts_with(options_.prefix);
      const std::string joined = left + (is_continued ? right.substr(options_.prefix.size()) : right);
      const auto id = [&](const std::string& token) {
        const std::optional<int32_t> found = vocabulary_.find(token);
        require<InputError>(found.has_value(), fields.where(), "merge {} needs {}, which is not in 'vocab'", rank,
                            quoted_name(token));
        return *found;
      };
      const int32_t first = id(left), second = id(right);
      merges_.set(key_of(first, second), {rank, id(joined)});
      ++rank;
    }
  }

  std::vector<Token> characters(std::string_view piece) const {
    std::vector<Token> symbols;
    std::string spelled;
    bool after_unknown = false;
    for (size_t at = 0; at < piece.size();) {
      const auto size = utf8_first(piece.substr(at)).bytes;
      std::string_view character = piece.substr(at, size);
      const auto bytes = static_cast<uint32_t>(size);
      if ((at > 0 && !options_.prefix.empty()) || (at + size == piece.size() && !options_.suffix.empty())) {
        spelled = at > 0 ? options_.prefix : "";
        spelled += character;
        if (at + size == piece.size()) spelled += options_.suffix;
        character = spelled;
      }
      at += size;
      if (const std::optional<int32_t> id = vocabulary_.find(character)) {
        symbols.push_back({*id, bytes});
        after_unknown = false;
      } else if (bytes_) {
        for (const char byte : character) symbols.push_back({(*bytes_)[static_cast<unsigned char>(byte)], 1});
        after_unknown = false;
      } else if (unknown_) {
        if (after_unknown && options_.fuses_unknown)
          symbols.back().bytes += bytes;
        else
          symbols.push_back({*unknown_, bytes});
        after_unknown = true;
      }
    }
    return symbols;
  }

  // The symbols are a list: a merged symbol replaces the left one of the two, and the right one has no bytes. An entry
  // of the queue is void if one of its two symbols has changed since.
  void merge(std::vector<Token>& symbols) const {
    struct Link {
      int32_t previous, next;
    };
    struct Waiting {
      int32_t rank, at, id;
      bool operator<(const Waiting& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
    };
    const auto count = static_cast<int32_t>(symbols.size());
    if (count < 2) return;
    std::vector<Link> links(symbols.size());
    std::vector<bool> is_gone(symbols.size());
    std::vector<Waiting> initial;
    const auto pair = [&](int32_t at, int32_t next) {
      return merges_.find(key_of(symbols[static_cast<size_t>(at)].id, symbols[static_cast<size_t>(next)].id));
    };
    for (int32_t i = 0; i < count; ++i) {
      links[static_cast<size_t>(i)] = {i - 1, i + 1 < count ? i + 1 : -1};
      if (i + 1 < count)
        if (const Merge* merge = pair(i, i + 1)) initial.push_back({merge->rank, i, merge->id});
    }
    std::priority_queue<Waiting> queue(std::less<Waiting>(), std::move(initial));
    while (!queue.empty()) {
      const Waiting top = queue.top();
      queue.pop();
      const auto at = static_cast<size_t>(top.at);
      if (is_gone[at] || links[at].next < 0) continue;
      const auto next = static_cast<size_t>(links[at].next);
      const Merge* merge = pair(top.at, links[at].next);
      if (!merge || merge->id != top.id) continue;
      symbols[at] = {top.id, symbols[at].bytes + symbols[next].bytes};
      is_gone[next] = true;
      links[at].next = links[next].next;
      if (links[at].next >= 0) links[static_cast<size_t>(links[at].next)].previous = top.at;
      if (links[at].previous >= 0)
        if (const Merge* before = pair(links[at].previous, top.at))
          queue.push({before->rank, links[at].previous, before->id});
      if (links[at].next >= 0)
        if (const Merge* after = pair(top.at, links[at].next)) queue.push({after->rank, top.at, after->id});
    }
    size_t kept = 0;
    for (size_t i = 0; i < symbols.size(); ++i)
      if (!is_gone[i]) symbols[kept++] = symbols[i];
    symbols.resize(kept);
  }

  SubwordVocabulary vocabulary_;
  BpeOptions options_;
  MergeTable merges_;
  std::optional<int32_t> unknown_;
  std::optional<std::vector<int32_t>> bytes_;
};

}  // namespace

SubwordModelPtr read_bpe(const JsonFields& fields) { return std::make_shared<Bpe>(fields); }

}  // namespace qkv
