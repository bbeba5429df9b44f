#include "qkv/text/tokenizer/regex.h"

#include <mutex>
#include <oniguruma.h>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv {
namespace {

const OnigUChar* bytes(const char* text) { return reinterpret_cast<const OnigUChar*>(text); }

std::string message_of(int code, OnigErrorInfo* info = nullptr) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int length = info ? onig_error_code_to_str(text, code, info) : onig_error_code_to_str(text, code);
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(length)};
}

constexpr unsigned long step_limit = 10'000'000;  // of one match

}  // namespace

struct Regex::Compiled {
  regex_t* expression = nullptr;
  std::string where;

  Compiled(const std::string& text, const std::string& file) : where(file) {
    static std::once_flag once;
    std::call_once(once, [] {
      OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
      onig_initialize(encodings, 1);
      onig_set_retry_limit_in_match(step_limit);
    });
    OnigErrorInfo info;
    const int code = onig_new(&expression, bytes(text.data()), bytes(text.data() + text.size()), ONIG_OPTION_NONE,
                              ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info);
    require<InputError>(code == ONIG_NORMAL, where, "{} is not a regular expression: {}", quoted_name(text),
                        message_of(code, &info));
  }
  ~Compiled() { onig_free(expression); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
};

Regex::Regex(const std::string& expression, const std::string& where)
    : compiled_(std::make_shared<const Compiled>(expression, where)) {}

void Regex::for_each_match(std::string_view text, FunctionRef<void(size_t, size_t)> function) const {
  const std::unique_ptr<OnigRegion, void (*)(OnigRegion*)> region(onig_region_new(),
                                                                  [](OnigRegion* r) { onig_region_free(r, 1); });
  const OnigUChar *begin = bytes(text.data()), *end = begin + text.size();
  for (const OnigUChar* at = begin; at < end;) {
    const int found = onig_search(compiled_->expression, begin, end, at, end, region.get(), ONIG_OPTION_NONE);
    if (found == ONIG_MISMATCH) return;
    require<InputError>(found >= 0, compiled_->where, "a regular expression failed on a text of {} bytes: {}",
                        text.size(), message_of(found));
    const auto first = static_cast<size_t>(region->beg[0]), last = static_cast<size_t>(region->end[0]);
    if (last > first) function(first, last);
    at = begin + (last > first ? last : last + 1);
    while (at < end && (*at & 0xc0) == 0x80) ++at;
  }
}

}  // namespace qkv
