#include "qkv/text/tokenizer/token_decoder.h"

#include <optional>

#include "qkv/base/json_fields.h"
#include "qkv/text/tokenizer/byte_alphabet.h"
#include "qkv/text/tokenizer/pattern.h"
#include "qkv/text/tokenizer/pre_tokenizer.h"
#include "qkv/text/utf8.h"

namespace qkv {

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (const size_t size = utf8_first(text).bytes; size > 0) {
      out += text.substr(0, size);
      text.remove_prefix(size);
      continue;
    }
    // As many bytes as may begin a character.
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const unsigned first = byte(0), second = byte(1);
    const size_t wanted = first >= 0xf0 && first <= 0xf4  ? 4
                          : first >= 0xe0 && first < 0xf0 ? 3
                          : first >= 0xc2 && first < 0xe0 ? 2
                                                          : 1;
    const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    size_t size = 1;
    if (wanted > 1 && second >= low && second <= high) {
      size = 2;
      while (size < wanted && byte(size) >= 0x80 && byte(size) <= 0xbf) ++size;
    }
    out += "\xef\xbf\xbd";
    text.remove_prefix(std::min(size, text.size()));
  }
  return out;
}

namespace {

// An empty `from` is never found.
void replace_all(std::string& text, std::string_view from, std::string_view to) {
  size_t at = from.empty() ? std::string::npos : text.find(from);
  if (at == std::string::npos) return;
  std::string out;
  size_t begin = 0;
  for (; at != std::string::npos; begin = at + from.size(), at = text.find(from, begin))
    out.append(text, begin, at - begin) += to;
  text = out.append(text, begin);
}

class ByteLevelDecoder final : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += bytes_of_byte_level(token);
    tokens = {valid_utf8(all)};
  }
};

class WordPieceDecoder final : public TokenDecoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0 && token.starts_with(prefix_))
        token.erase(0, prefix_.size());
      else if (i > 0)
        token.insert(0, 1, ' ');
      if (!cleanup_) continue;
      for (const auto& [from, to] :
           {std::pair(" .", "."), std::pair(" ?", "?"), std::pair(" !", "!"), std::pair(" ,", ","),
            std::pair(" ' ", "'"), std::pair(" n't", "n't"), std::pair(" 'm", "'m"), std::pair(" do not", " don't"),
            std::pair(" 's", "'s"), std::pair(" 've", "'ve"), std::pair(" 're", "'re")})
        replace_all(token, from, to);
    }
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class MetaspaceDecoder final : public TokenDecoder {
 public:
  MetaspaceDecoder(std::string replacement, PrependScheme prepend)
      : replacement_(std::move(replacement)), prepend_(prepend) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], replacement_, i == 0 && prepend_ != PrependScheme::never ? "" : " ");
  }

 private:
  std::string replacement_;
  PrependScheme prepend_;
};

class BpeSuffixDecoder final : public TokenDecoder {
 public:
  explicit BpeSuffixDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
  }

 private:
  std::string suffix_;
};

// "<0x0A>" becomes that byte. If the bytes together are not UTF-8, each becomes U+FFFD.
class ByteFallbackDecoder final : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string bytes;
    const auto finish = [&] {
      if (bytes.empty()) return;
      if (!utf8_error(bytes))
        out.push_back(bytes);
      else
        out.insert(out.end(), bytes.size(), "\xef\xbf\xbd");
      bytes.clear();
    };
    for (const std::string& token : tokens) {
      if (const std::optional<char> byte = byte_of(token)) {
        bytes += *byte;
        continue;
      }
      finish();
      out.push_back(token);
    }
    finish();
    tokens = std::move(out);
  }

 private:
  static std::optional<char> byte_of(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return {};
    int value = 0;
    for (const char c : token.substr(3, 2)) {
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                               : -1;
      if (digit < 0) return {};
      value = 16 * value + digit;
    }
    return static_cast<char>(value);
  }
};

class FuseDecoder final : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens = {all};
  }
};

class StripDecoder final : public TokenDecoder {
 public:
  StripDecoder(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (int64_t i = 0; i < start_ && rest.starts_with(content_); ++i) rest.remove_prefix(content_.size());
      for (int64_t i = 0; i < stop_ && rest.ends_with(content_); ++i) rest.remove_suffix(content_.size());
      if (rest.size() < token.size()) token = std::string(rest);
    }
  }

 private:
  std::string content_;
  int64_t start_, stop_;
};

class ReplaceDecoder final : public TokenDecoder {
 public:
  ReplaceDecoder(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string out;
      size_t at = 0;
      pattern_.for_each_match(token, [&](size_t begin, size_t end) {
        out.append(token, at, begin - at);
        out += content_;
        at = end;
      });
      token = out.append(token, at);
    }
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class SequenceDecoder final : public TokenDecoder {
 public:
  explicit SequenceDecoder(std::vector<TokenDecoderPtr> parts) : parts_(std::move(parts)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (const TokenDecoderPtr& part : parts_) part->apply(tokens);
  }

 private:
  std::vector<TokenDecoderPtr> parts_;
};

}  // namespace

TokenDecoderPtr read_token_decoder(const JsonFields& fields) {
  const std::string type = fields.text("type");
  if (type == "ByteLevel") return std::make_shared<ByteLevelDecoder>();
  if (type == "WordPiece")
    return std::make_shared<WordPieceDecoder>(fields.text("prefix", "##"), fields.flag("cleanup", true));
  if (type == "Metaspace")
    return std::make_shared<MetaspaceDecoder>(read_character(fields, "replacement", "\u2581"),
                                              read_prepend_scheme(fields));
  if (type == "BPEDecoder") return std::make_shared<BpeSuffixDecoder>(fields.text("suffix", "</w>"));
  if (type == "ByteFallback") return std::make_shared<ByteFallbackDecoder>();
  if (type == "Fuse") return std::make_shared<FuseDecoder>();
  if (type == "Strip")
    return std::make_shared<StripDecoder>(read_character(fields, "content", " "), fields.integer("start"),
                                          fields.integer("stop"));
  if (type == "Replace") return std::make_shared<ReplaceDecoder>(read_pattern(fields), fields.text("content"));
  if (type != "Sequence") fields.unknown_type("decoders");
  std::vector<TokenDecoderPtr> parts;
  for (const JsonFields& part : fields.objects("decoders")) parts.push_back(read_token_decoder(part));
  return std::make_shared<SequenceDecoder>(std::move(parts));
}

}  // namespace qkv
