// tokenizer.json of Hugging Face: what is loaded encodes any text into ids of its own, with ranges within the text, and
// decodes any of its ids; or it refuses the text.
#include "qkv/text/tokenizer/tokenizer_json.h"

#include <numeric>

#include "fuzz/input.h"

namespace {

using namespace qkv;

const std::string texts[] = {
    "",
    " ",
    "\n\n \t x",
    "Hello, you don't know 1234567 words!",
    "</s><s> [MASK] <|endoftext|><mask><unk>\u2581<0x0A>",
    "a\u0301\u0316\u0301 \u1e9b\u0323 \ufb01 \u00bd \uff21",               // marks, ligatures, full width
    "\u0130\u0131\u00df\u03a3\u03c2 \u1112\u1161\u11ab \u4f60\u597d",      // changes of case, Hangul, Han
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200b\ufeff\u00ad\u2028",  // joiners, nothing to see, separators
    "\xff\xc3 a\xed\xa0\x80",                                              // not UTF-8
    std::string("\0\x01\x7f\xc2\x85", 5),
    std::string(60, 'a') + std::string(60, ' ') + "b",
};

void check_ids(const JsonTokenizer& tokenizer, std::span<const int32_t> ids) {
  for (const int32_t id : ids) fuzz::expect(id >= 0 && id < tokenizer.size(), "an id outside the vocabulary");
  tokenizer.decode(ids);
  tokenizer.decode(ids, false);
}

void check(const JsonTokenizer& tokenizer, const std::string& text, const JsonTokenizer::Options& options) {
  const JsonTokenizer::Encoding encoding = tokenizer.encode(text, options);
  fuzz::expect(encoding.ids.size() == encoding.ranges.size() && encoding.ids.size() == encoding.types.size(),
               "tokens without ranges or types");
  // Bytes that are not UTF-8 become U+FFFD, of three.
  for (const TextRange& range : encoding.ranges)
    fuzz::expect(range.begin <= range.end && range.end <= 3 * text.size(), "a range outside the text");
  check_ids(tokenizer, encoding.ids);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::accepted([&] {
    const JsonTokenizer tokenizer = JsonTokenizer::parse(fuzz::as_text(data, size), "tokenizer.json");
    for (const std::string& text : texts) {
      fuzz::accepted([&] { check(tokenizer, text, {}); });
      fuzz::accepted([&] { check(tokenizer, text, {.special_in_text = true}); });
      fuzz::accepted([&] { tokenizer.encode(text, texts[3], {}); });
    }
    check_ids(tokenizer, tokenizer.before());
    check_ids(tokenizer, tokenizer.after());
    std::vector<int32_t> all(static_cast<size_t>(std::min<int64_t>(tokenizer.size(), 1000)));
    std::iota(all.begin(), all.end(), 0);
    check_ids(tokenizer, all);
    std::string tokens;
    for (const int32_t id : all) tokens += tokenizer.token(id);
    fuzz::accepted([&] { check(tokenizer, tokens, {.special_in_text = true}); });
  });
  return 0;
}
