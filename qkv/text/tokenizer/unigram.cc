// The unigram language model (Kudo, 2018): a piece is cut in the way that has the highest sum of scores, found by
// Viterbi.
#include <cmath>
#include <limits>

#include "qkv/base/json_fields.h"
#include "qkv/text/tokenizer/prefix_tree.h"
#include "qkv/text/tokenizer/subword_model.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

constexpr double unknown_penalty = 10;

std::vector<std::string> tokens_of(const JsonFields& fields) {
  std::vector<std::string> tokens;
  for (const Json& item : fields.list("vocab")) {
    require<InputError>(item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_number(),
                        fields.where(), "entry {} of 'vocab' must be a token and its score, got {}", tokens.size(),
                        shown_json(item));
    tokens.push_back(item[0].get<std::string>());
  }
  return tokens;
}

class Unigram final : public SubwordModel {
 public:
  explicit Unigram(const JsonFields& fields) : vocabulary_(tokens_of(fields), fields.where()) {
    double lowest = std::numeric_limits<double>::infinity();
    for (const Json& item : fields.list("vocab")) {
      scores_.push_back(item[1].get<double>());
      require<InputError>(std::isfinite(scores_.back()), fields.where(), "the score of {} is not finite",
                          shown_json(item[0]));
      lowest = std::min(lowest, scores_.back());
    }
    unknown_score_ = lowest - unknown_penalty;
    if (fields.has("unk_id")) {
      const int64_t id = fields.integer("unk_id");
      require<InputError>(id < std::ssize(scores_), fields.where(), "'unk_id' {} is not in 'vocab'", id);
      unknown_ = static_cast<int32_t>(id);
    }
    if (fields.flag("byte_fallback", false)) bytes_ = vocabulary_.byte_tokens();
    tree_ = PrefixTree(vocabulary_.tokens());
  }

  const std::vector<std::string>& tokens() const override { return vocabulary_.tokens(); }
  std::optional<int32_t> id_of(std::string_view token) const override { return vocabulary_.find(token); }

  void cut(std::string_view piece, std::vector<Token>& tokens) const override {
    std::vector<Best> best(piece.size() + 1);  // of the ways to reach each byte
    best[0].score = 0;
    const auto consider = [&](size_t from, size_t to, int32_t id, double score) {
      if (best[to].id < 0 || score > best[to].score) best[to] = {score, from, id};
    };
    for (size_t at = 0; at < piece.size();) {
      const size_t character = utf8_first(piece.substr(at)).bytes;
      const double here = best[at].score;
      bool has_character = false;
      tree_.for_each_prefix(piece.substr(at), [&](int32_t id, size_t bytes) {
        consider(at, at + bytes, id, here + scores_[static_cast<size_t>(id)]);
        has_character = has_character || bytes == character;
      });
      if (!has_character) consider(at, at + character, unknown_mark, here + unknown_score_);
      at += character;
    }
    add_path(piece, best, tokens);
  }

 private:
  static constexpr int32_t unknown_mark = INT32_MAX;
  struct Best {
    double score = 0;
    size_t from = 0;
    int32_t id = -1;
  };

  // Adjacent unknown characters are one token.
  void add_path(std::string_view piece, const std::vector<Best>& best, std::vector<Token>& tokens) const {
    std::vector<std::pair<size_t, int32_t>> path;  // the beginnings, from the last to the first
    for (size_t at = piece.size(); at > 0; at = best[at].from) {
      const int32_t id = best[at].id == unknown_ ? unknown_mark : best[at].id;
      if (id == unknown_mark && !path.empty() && path.back().second == unknown_mark)
        path.back().first = best[at].from;
      else
        path.emplace_back(best[at].from, id);
    }
    for (size_t i = path.size(); i-- > 0;) {
      const auto [begin, id] = path[i];
      const std::string_view part = piece.substr(begin, (i == 0 ? piece.size() : path[i - 1].first) - begin);
      if (id == unknown_mark)
        add_unknown(part, tokens);
      else
        tokens.push_back({id, static_cast<uint32_t>(part.size())});
    }
  }

  // Unknown text that happens to be a token, such as the text of the unknown token, becomes that token.
  void add_unknown(std::string_view part, std::vector<Token>& tokens) const {
    const auto bytes = static_cast<uint32_t>(part.size());
    if (const std::optional<int32_t> id = vocabulary_.find(part)) {
      tokens.push_back({*id, bytes});
    } else if (bytes_) {
      for (const char byte : part) tokens.push_back({(*bytes_)[static_cast<unsigned char>(byte)], 1});
    } else if (unknown_ >= 0) {
      tokens.push_back({unknown_, bytes});
    }
  }

  SubwordVocabulary vocabulary_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  int32_t unknown_ = -1;
  std::optional<std::vector<int32_t>> bytes_;
  PrefixTree tree_;
};

}  // namespace

SubwordModelPtr read_unigram(const JsonFields& fields) { return std::make_shared<Unigram>(fields); }

}  // namespace qkv
