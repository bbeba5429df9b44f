#include "qkv/text/tokenizer/pre_tokenizer.h"

#include "qkv/base/json_fields.h"
#include "qkv/text/tokenizer/byte_alphabet.h"
#include "qkv/text/tokenizer/characters.h"
#include "qkv/text/tokenizer/pattern.h"
#include "qkv/text/utf8.h"

namespace qkv {

PreTokenized::PreTokenized(AlignedText text) : text_(std::move(text)) {
  if (!text_.bytes().empty()) pieces_.push_back({0, static_cast<uint32_t>(text_.bytes().size())});
}

namespace {

struct Part {
  TextRange range;
  bool is_match;
};

// Matches and the text between them, joined and dropped as the behavior says.
void join_parts(const std::vector<Part>& parts, SplitBehavior behavior, std::vector<TextRange>& out) {
  const size_t begin = out.size();
  bool previous = false;  // was a match
  const auto extend_or_add = [&](const Part& part, bool extend) {
    if (extend && out.size() > begin)
      out.back().end = part.range.end;
    else
      out.push_back(part.range);
  };
  switch (behavior) {
    case SplitBehavior::removed:
      for (const Part& part : parts)
        if (!part.is_match) out.push_back(part.range);
      break;
    case SplitBehavior::isolated:
      for (const Part& part : parts) out.push_back(part.range);
      break;
    case SplitBehavior::merged_with_previous:
      for (const Part& part : parts) {
        extend_or_add(part, part.is_match && !previous);
        previous = part.is_match;
      }
      break;
    case SplitBehavior::merged_with_next:
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->is_match && !previous && out.size() > begin)
          out.back().begin = part->range.begin;
        else
          out.push_back(part->range);
        previous = part->is_match;
      }
      std::reverse(out.begin() + static_cast<ptrdiff_t>(begin), out.end());
      break;
    case SplitBehavior::contiguous:
      for (const Part& part : parts) {
        extend_or_add(part, part.is_match == previous);
        previous = part.is_match;
      }
      break;
  }
}

}  // namespace

void PreTokenized::split(const std::function<void(std::string_view, Matches&)>& find, SplitBehavior behavior,
                         bool inverted) {
  std::vector<TextRange> out;
  std::vector<Part> parts;
  Matches matches;
  for (const TextRange& piece : pieces_) {
    matches.clear();
    parts.clear();
    find(text_.part(piece), matches);
    uint32_t at = piece.begin;
    for (const TextRange& match : matches) {
      const TextRange range = {piece.begin + match.begin, piece.begin + match.end};
      if (range.begin > at) parts.push_back({{at, range.begin}, inverted});
      if (range.end > range.begin) parts.push_back({range, !inverted});
      at = range.end;
    }
    if (at < piece.end) parts.push_back({{at, piece.end}, inverted});
    join_parts(parts, behavior, out);
  }
  pieces_ = std::move(out);
}

void PreTokenized::rewrite(const std::function<void(AlignedText::Writer&, size_t, bool)>& change) {
  std::vector<TextRange> out;
  text_.rewrite([&](AlignedText::Writer& writer) {
    for (const TextRange& piece : pieces_) {
      writer.skip(piece.begin - writer.position());  // what was removed
      const auto begin = static_cast<uint32_t>(writer.written());
      change(writer, piece.end - piece.begin, text_.origin(piece.begin, piece.end).begin == 0);
      writer.keep(piece.end - writer.position());
      if (writer.written() > begin) out.push_back({begin, static_cast<uint32_t>(writer.written())});
    }
    writer.skip(writer.rest().size());
  });
  pieces_ = std::move(out);
}

namespace {

// Runs of characters of a class, or each of them by itself.
template <class Class>
auto characters(Class is_in) {
  return [is_in](std::string_view piece, PreTokenized::Matches& matches) {
    for (uint32_t at = 0; at < piece.size();) {
      const CodePoint c = utf8_first(piece.substr(at));
      const auto end = static_cast<uint32_t>(at + c.bytes);
      if (is_in(c.value)) matches.push_back({at, end});
      at = end;
    }
  };
}

auto matches_of(const Pattern& pattern) {
  return [pattern](std::string_view piece, PreTokenized::Matches& matches) {
    pattern.for_each_match(piece, [&](size_t begin, size_t end) {
      matches.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
    });
  };
}

// \w+|[^\w\s]+
void words_and_others(std::string_view piece, PreTokenized::Matches& matches) {
  enum class Kind { space, word, other } before = Kind::space;
  for (uint32_t at = 0; at < piece.size();) {
    const CodePoint c = utf8_first(piece.substr(at));
    const auto end = static_cast<uint32_t>(at + c.bytes);
    const Kind kind = is_word_character(c.value) ? Kind::word : is_white_space(c.value) ? Kind::space : Kind::other;
    if (kind != Kind::space && kind == before)
      matches.back().end = end;
    else if (kind != Kind::space)
      matches.push_back({at, end});
    before = kind;
    at = end;
  }
}

constexpr const char* words_of_gpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class ByteLevelPreTokenizer final : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex), words_(Regex(words_of_gpt2, "ByteLevel")) {}

  void apply(PreTokenized& text) const override {
    if (add_prefix_space_)
      text.rewrite([](AlignedText::Writer& out, size_t, bool) {
        if (!out.rest().starts_with(' ')) out.insert(" ");
      });
    if (use_regex_) text.split(matches_of(words_), SplitBehavior::isolated);
    text.rewrite([](AlignedText::Writer& out, size_t bytes, bool) {
      for (size_t i = 0; i < bytes; ++i) {
        const std::string& character = character_of_byte(static_cast<unsigned char>(out.rest()[0]));
        if (character.size() == 1)
          out.keep(1);
        else
          out.replace(1, character);
      }
    });
  }

 private:
  bool add_prefix_space_, use_regex_;
  Pattern words_;
};

class MetaspacePreTokenizer final : public PreTokenizer {
 public:
  MetaspacePreTokenizer(std::string replacement, PrependScheme prepend, bool split)
      : replacement_(std::move(replacement)), prepend_(prepend), split_(split) {}

  void apply(PreTokenized& text) const override {
    text.rewrite([&](AlignedText::Writer& out, size_t bytes, bool is_first) {
      const std::string_view piece = out.rest().substr(0, bytes);
      const bool has_mark = piece.starts_with(' ') || piece.starts_with(replacement_);
      if (!has_mark && (prepend_ == PrependScheme::always || (prepend_ == PrependScheme::first && is_first)))
        out.insert(replacement_);
      for (size_t i = 0; i < bytes; ++i) {
        if (out.rest()[0] == ' ')
          out.replace(1, replacement_);
        else
          out.keep(1);
      }
    });
    if (split_) text.split(matches_of(Pattern(replacement_)), SplitBehavior::merged_with_next);
  }

 private:
  std::string replacement_;
  PrependScheme prepend_;
  bool split_;
};

// Cuts at the ranges that a function finds.
class SplitsPreTokenizer final : public PreTokenizer {
 public:
  using Find = std::function<void(std::string_view, PreTokenized::Matches&)>;
  SplitsPreTokenizer(Find find, SplitBehavior behavior, bool inverted = false)
      : find_(std::move(find)), behavior_(behavior), inverted_(inverted) {}
  void apply(PreTokenized& text) const override { text.split(find_, behavior_, inverted_); }

 private:
  Find find_;
  SplitBehavior behavior_;
  bool inverted_;
};

class SequencePreTokenizer final : public PreTokenizer {
 public:
  explicit SequencePreTokenizer(std::vector<PreTokenizerPtr> parts) : parts_(std::move(parts)) {}
  void apply(PreTokenized& text) const override {
    for (const PreTokenizerPtr& part : parts_) part->apply(text);
  }

 private:
  std::vector<PreTokenizerPtr> parts_;
};

SplitBehavior read_behavior(const JsonFields& fields, const std::string& absent = "") {
  constexpr std::pair<std::string_view, SplitBehavior> known[] = {
      {"Removed", SplitBehavior::removed},
      {"Isolated", SplitBehavior::isolated},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous}};
  const std::string name = absent.empty() ? fields.text("behavior") : fields.text("behavior", absent);
  for (const auto& [text, behavior] : known)
    if (text == name) return behavior;
  fail<InputError>(fields.where(), "'behavior' {} is unknown", quoted_name(name));
}

}  // namespace

PrependScheme read_prepend_scheme(const JsonFields& fields) {
  if (!fields.has("prepend_scheme"))  // an older form
    return fields.flag("add_prefix_space", true) ? PrependScheme::always : PrependScheme::never;
  const std::string name = fields.text("prepend_scheme");
  if (name == "always") return PrependScheme::always;
  if (name == "first") return PrependScheme::first;
  require<InputError>(name == "never", fields.where(), "'prepend_scheme' must be always, first or never, got {}",
                      quoted_name(name));
  return PrependScheme::never;
}

std::string read_character(const JsonFields& fields, const char* key, const std::string& absent) {
  std::string value = fields.text(key, absent);
  require<InputError>(utf8_length(value) == 1, fields.where(), "'{}' must be one character, got {}", key,
                      quoted_name(value));
  return value;
}

PreTokenizerPtr read_pre_tokenizer(const JsonFields& fields) {
  const std::string type = fields.text("type");
  const auto splits = [](auto find, SplitBehavior behavior, bool inverted = false) {
    return std::make_shared<SplitsPreTokenizer>(find, behavior, inverted);
  };
  if (type == "ByteLevel")
    return std::make_shared<ByteLevelPreTokenizer>(fields.flag("add_prefix_space", true),
                                                   fields.flag("use_regex", true));
  if (type == "Metaspace")
    return std::make_shared<MetaspacePreTokenizer>(read_character(fields, "replacement", "\u2581"),
                                                   read_prepend_scheme(fields), fields.flag("split", true));
  if (type == "Split")
    return splits(matches_of(read_pattern(fields)), read_behavior(fields), fields.flag("invert", false));
  if (type == "Punctuation")
    return splits(characters(is_punctuation_or_symbol_of_ascii), read_behavior(fields, "Isolated"));
  if (type == "Digits")
    return splits(characters(is_numeric),
                  fields.flag("individual_digits", false) ? SplitBehavior::isolated : SplitBehavior::contiguous);
  if (type == "Whitespace") return splits(words_and_others, SplitBehavior::removed, true);
  if (type == "WhitespaceSplit") return splits(characters(is_white_space), SplitBehavior::removed);
  if (type == "CharDelimiterSplit")
    return splits(matches_of(Pattern(read_character(fields, "delimiter", " "))), SplitBehavior::removed);
  if (type == "BertPreTokenizer")
    return std::make_shared<SequencePreTokenizer>(std::vector<PreTokenizerPtr>{
        splits(characters(is_white_space), SplitBehavior::removed),
        splits(characters(is_punctuation_or_symbol_of_ascii), SplitBehavior::isolated)});
  if (type != "Sequence") fields.unknown_type("pre-tokenizers");
  std::vector<PreTokenizerPtr> parts;
  for (const JsonFields& part : fields.objects("pretokenizers")) parts.push_back(read_pre_tokenizer(part));
  return std::make_shared<SequencePreTokenizer>(std::move(parts));
}

}  // namespace qkv
