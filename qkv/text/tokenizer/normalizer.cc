#include "qkv/text/tokenizer/normalizer.h"

#include "qkv/base/base64.h"
#include "qkv/base/json_fields.h"
#include "qkv/text/tokenizer/byte_alphabet.h"
#include "qkv/text/tokenizer/characters.h"
#include "qkv/text/tokenizer/pattern.h"
#include "qkv/text/tokenizer/precompiled_map.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

// One character after the other: function(writer, character).
template <class Function>
void for_each_character(AlignedText& text, Function function) {
  text.rewrite([&](AlignedText::Writer& out) {
    while (!out.rest().empty()) function(out, utf8_first(out.rest()));
  });
}

class UnicodeNormalizer final : public TextNormalizer {
 public:
  explicit UnicodeNormalizer(NormalizationForm form) : form_(form) {}
  // In independent parts, so that each byte keeps its origin as exactly as possible.
  void apply(AlignedText& text) const override {
    text.rewrite([&](AlignedText::Writer& out) {
      while (!out.rest().empty()) {
        const std::string_view rest = out.rest();
        const CodePoint first = utf8_first(rest);
        if (!has_normal_form(first.value)) {
          out.keep(first.bytes);
          continue;
        }
        size_t size = first.bytes;
        while (size < rest.size()) {
          const CodePoint next = utf8_first(rest.substr(size));
          if (begins_normalization(next.value, form_) || !has_normal_form(next.value)) break;
          size += next.bytes;
        }
        const std::string_view part = rest.substr(0, size);
        if (size == first.bytes && !has_decomposition(first.value)) {
          out.keep(size);
          continue;
        }
        const std::string changed = normalized(part, form_);
        if (changed == part)
          out.keep(size);
        else
          out.replace(size, changed);
      }
    });
  }

 private:
  NormalizationForm form_;
};

class LowercaseNormalizer final : public TextNormalizer {
 public:
  void apply(AlignedText& text) const override {
    for_each_character(text, [](AlignedText::Writer& out, const CodePoint& c) {
      const std::string lower = lower_case(c.value);
      if (lower == out.rest().substr(0, c.bytes))
        out.keep(c.bytes);
      else
        out.replace(c.bytes, lower);
    });
  }
};

class StripAccentsNormalizer final : public TextNormalizer {
 public:
  void apply(AlignedText& text) const override {
    for_each_character(text, [](AlignedText::Writer& out, const CodePoint& c) {
      if (is_mark(c.value))
        out.skip(c.bytes);
      else
        out.keep(c.bytes);
    });
  }
};

class StripNormalizer final : public TextNormalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  void apply(AlignedText& text) const override {
    size_t end = 0, at = 0;  // of the last character that is not white space
    for (std::string_view rest = text.bytes(); !rest.empty();) {
      const CodePoint c = utf8_first(rest);
      at += c.bytes;
      if (!is_white_space(c.value)) end = at;
      rest.remove_prefix(c.bytes);
    }
    text.rewrite([&](AlignedText::Writer& out) {
      while (left_ && !out.rest().empty() && is_white_space(utf8_first(out.rest()).value))
        out.skip(utf8_first(out.rest()).bytes);
      if (!right_) return;
      if (out.position() < end) out.keep(end - out.position());
      out.skip(out.rest().size());
    });
  }

 private:
  bool left_, right_;
};

class ReplaceNormalizer final : public TextNormalizer {
 public:
  ReplaceNormalizer(const Pattern& pattern, std::string content)
      : pattern_(pattern), content_(std::move(content)) {}
  void apply(AlignedText& text) const override {
    const std::string before = text.bytes();
    text.rewrite([&](AlignedText::Writer& out) {
      pattern_.for_each_match(before, [&](size_t begin, size_t end) {
        out.keep(begin - out.position());
        out.replace(end - begin, content_);
      });
    });
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class PrependNormalizer final : public TextNormalizer {
 public:
  explicit PrependNormalizer(std::string text) : added_(std::move(text)) {}
  void apply(AlignedText& text) const override {
    if (text.bytes().empty()) return;
    text.rewrite([&](AlignedText::Writer& out) { out.insert(added_); });
  }

 private:
  std::string added_;
};

bool is_chinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> blocks[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                                      {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                                      {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  return std::any_of(std::begin(blocks), std::end(blocks),
                     [&](const auto& block) { return c >= block.first && c <= block.second; });
}

struct BertOptions {
  bool clean = true, chinese = true, accents = true, lowercase = true;
};

class BertNormalizer final : public TextNormalizer {
 public:
  explicit BertNormalizer(const BertOptions& options) : options_(options) {}
  void apply(AlignedText& text) const override {
    if (options_.clean) for_each_character(text, clean);
    if (options_.chinese) for_each_character(text, separate_chinese);
    if (options_.accents) {
      UnicodeNormalizer(NormalizationForm::nfd).apply(text);
      for_each_character(text, [](AlignedText::Writer& out, const CodePoint& c) {
        if (is_nonspacing_mark(c.value))
          out.skip(c.bytes);
        else
          out.keep(c.bytes);
      });
    }
    if (options_.lowercase) LowercaseNormalizer().apply(text);
  }

 private:
  static void clean(AlignedText::Writer& out, const CodePoint& c) {
    const bool is_blank = c.value == '\t' || c.value == '\n' || c.value == '\r';
    if (c.value == 0 || c.value == 0xfffd || (is_control(c.value) && !is_blank))
      out.skip(c.bytes);
    else if (is_blank || is_white_space(c.value))
      out.replace(c.bytes, " ");
    else
      out.keep(c.bytes);
  }
  static void separate_chinese(AlignedText::Writer& out, const CodePoint& c) {
    const bool separate = is_chinese(c.value);
    if (separate) out.insert(" ");
    out.keep(c.bytes);
    if (separate) out.insert(" ");
  }

  BertOptions options_;
};

// By grapheme cluster of less than 6 bytes, if that is in the map; else by character.
class PrecompiledNormalizer final : public TextNormalizer {
 public:
  explicit PrecompiledNormalizer(PrecompiledMap map) : map_(std::move(map)) {}
  void apply(AlignedText& text) const override {
    text.rewrite([&](AlignedText::Writer& out) {
      while (!out.rest().empty()) {
        const size_t cluster = first_grapheme(out.rest());
        if (cluster < 6 && change(out, cluster)) continue;
        for (size_t end = out.position() + cluster; out.position() < end;) {
          const size_t size = utf8_first(out.rest()).bytes;
          if (!change(out, size)) out.keep(size);
        }
      }
    });
  }

 private:
  bool change(AlignedText::Writer& out, size_t size) const {
    const std::optional<std::string_view> changed = map_.find(out.rest().substr(0, size));
    if (changed) out.replace(size, *changed);
    return changed.has_value();
  }

  PrecompiledMap map_;
};

// SentencePiece's rules for translation, without its map.
class NmtNormalizer final : public TextNormalizer {
 public:
  void apply(AlignedText& text) const override {
    for_each_character(text, [](AlignedText::Writer& out, const CodePoint& c) {
      const char32_t x = c.value;
      const bool removed =
          (x >= 0x1 && x <= 0x8) || x == 0xb || (x >= 0xe && x <= 0x1f) || x == 0x7f || x == 0x8f || x == 0x9f;
      const bool blank = x == 0x9 || x == 0xa || x == 0xc || x == 0xd || x == 0x1680 ||
                         (x >= 0x200b && x <= 0x200f) || x == 0x2028 || x == 0x2029 || x == 0x2581 || x == 0xfeff ||
                         x == 0xfffd;
      if (removed)
        out.skip(c.bytes);
      else if (blank)
        out.replace(c.bytes, " ");
      else
        out.keep(c.bytes);
    });
  }
};

class ByteLevelNormalizer final : public TextNormalizer {
 public:
  void apply(AlignedText& text) const override {
    text.rewrite([&](AlignedText::Writer& out) {
      while (!out.rest().empty()) out.replace(1, character_of_byte(static_cast<unsigned char>(out.rest()[0])));
    });
  }
};

class SequenceNormalizer final : public TextNormalizer {
 public:
  explicit SequenceNormalizer(std::vector<TextNormalizerPtr> parts) : parts_(std::move(parts)) {}
  void apply(AlignedText& text) const override {
    for (const TextNormalizerPtr& part : parts_) part->apply(text);
  }

 private:
  std::vector<TextNormalizerPtr> parts_;
};

BertOptions bert_options(const JsonFields& fields) {
  BertOptions o = {.clean = fields.flag("clean_text", true),
                   .chinese = fields.flag("handle_chinese_chars", true),
                   .lowercase = fields.flag("lowercase", true)};
  o.accents = fields.flag("strip_accents", o.lowercase);
  return o;
}

}  // namespace

TextNormalizerPtr read_normalizer(const JsonFields& fields) {
  const std::string type = fields.text("type");
  if (type == "NFC") return std::make_shared<UnicodeNormalizer>(NormalizationForm::nfc);
  if (type == "NFD") return std::make_shared<UnicodeNormalizer>(NormalizationForm::nfd);
  if (type == "NFKC") return std::make_shared<UnicodeNormalizer>(NormalizationForm::nfkc);
  if (type == "NFKD") return std::make_shared<UnicodeNormalizer>(NormalizationForm::nfkd);
  if (type == "Lowercase") return std::make_shared<LowercaseNormalizer>();
  if (type == "StripAccents") return std::make_shared<StripAccentsNormalizer>();
  if (type == "Strip")
    return std::make_shared<StripNormalizer>(fields.flag("strip_left", true), fields.flag("strip_right", true));
  if (type == "Replace") return std::make_shared<ReplaceNormalizer>(read_pattern(fields), fields.text("content"));
  if (type == "Prepend") return std::make_shared<PrependNormalizer>(fields.text("prepend"));
  if (type == "BertNormalizer") return std::make_shared<BertNormalizer>(bert_options(fields));
  if (type == "Precompiled")
    return std::make_shared<PrecompiledNormalizer>(
        PrecompiledMap(base64_decoded(fields.text("precompiled_charsmap"), fields.where()), fields.where()));
  if (type == "Nmt") return std::make_shared<NmtNormalizer>();
  if (type == "ByteLevel") return std::make_shared<ByteLevelNormalizer>();
  if (type != "Sequence") fields.unknown_type("normalizers");
  std::vector<TextNormalizerPtr> parts;
  for (const JsonFields& part : fields.objects("normalizers")) parts.push_back(read_normalizer(part));
  return std::make_shared<SequenceNormalizer>(std::move(parts));
}

}  // namespace qkv
