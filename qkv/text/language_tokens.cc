#include "qkv/text/language_tokens.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv {
namespace {

bool is_between(std::string_view text, std::string_view begin, std::string_view end) {
  return text.size() > begin.size() + end.size() && text.starts_with(begin) && text.ends_with(end);
}

// "de" of "__de__" and of ">>de<<".
std::string_view code_of(std::string_view token) {
  return is_between(token, "__", "__") || is_between(token, ">>", "<<") ? token.substr(2, token.size() - 4) : token;
}

// "de", "deu_Latn", "en_XX", "zh-Hans": two or three letters, and what may follow them.
bool is_code(std::string_view code) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto letters = static_cast<size_t>(std::find_if_not(code.begin(), code.end(), is_letter) - code.begin());
  if (letters < 2 || letters > 3) return false;
  if (code.size() == letters) return true;
  const auto is_part = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? true : c >= '0' && c <= '9'; };
  const std::string_view rest = code.substr(letters + 1);
  return (code[letters] == '_' || code[letters] == '-') && rest.size() >= 2 && rest.size() <= 8 &&
         std::all_of(rest.begin(), rest.end(), is_part);
}

bool is_language(const Tokenizer& tokenizer, int32_t id) {
  const SpecialTokens& special = tokenizer.special();
  for (const int32_t other : {special.pad, special.bos, special.eos, special.unk, special.mask})
    if (id == other) return false;
  const std::string& token = tokenizer.token(id);
  if (is_between(token, ">>", "<<")) return true;  // a word of Marian's vocabularies
  return tokenizer.is_added(id) && is_code(code_of(token));
}

}  // namespace

std::vector<std::string> language_tokens(const Tokenizer& tokenizer) {
  std::vector<std::string> out;
  for (int32_t id = 0; id < tokenizer.size(); ++id)
    if (is_language(tokenizer, id)) out.push_back(tokenizer.token(id));
  return out;
}

int32_t language_token(const Tokenizer& tokenizer, const std::string& language, const char* option) {
  for (const std::string& name : {language, "__" + language + "__", ">>" + language + "<<"})
    if (const std::optional<int32_t> id = tokenizer.id_of(name);
        id && *id < tokenizer.size() && is_language(tokenizer, *id))
      return *id;
  const std::vector<std::string> tokens = language_tokens(tokenizer);
  require<UsageError>(!tokens.empty(), "translate",
                      "{}: this model has no language tokens, so there are no languages to choose from, got {}",
                      option, quoted_name(language));
  std::vector<std::string_view> codes;
  codes.reserve(tokens.size());
  for (const std::string& token : tokens) codes.push_back(code_of(token));
  const std::string_view begin = std::string_view(language).substr(0, language.find_first_of("_-"));
  std::string hint = did_you_mean(language, codes);
  if (hint.empty())
    for (const std::string_view code : codes)
      if (begin.size() >= 2 && (code.starts_with(begin) || begin.starts_with(code)) && hint.empty())
        hint = fmt::format("; did you mean {}?", code);
  codes.resize(std::min<size_t>(codes.size(), 8));
  fail<UsageError>("translate", "{}: {} is not one of the {} languages of this model, {}{}{}", option,
                   quoted_name(language), tokens.size(), name_list(codes),
                   tokens.size() > codes.size() ? ", ..." : "", hint);
}

}  // namespace qkv
