#include "qkv/text/tokenizer/regex.h"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <new>
#include <oniguruma.h>

#include "qkv/base/names.h"
#include "qkv/text/text_error.h"

namespace qkv {
namespace {

const OnigUChar* bytes(const char* text) { return reinterpret_cast<const OnigUChar*>(text); }

std::string message_of(int code, OnigErrorInfo* info = nullptr) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int length = info ? onig_error_code_to_str(text, code, info) : onig_error_code_to_str(text, code);
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(length)};
}

// Steps of a search: it gets few at first, and more as long as the budget of the text lasts. A search that finds nothing
// may still read all of it.
constexpr unsigned long first_steps = 250, min_budget = 2'000'000, steps_of_a_byte = 200;

// A step, which is a return to another choice, may read all of the text: (?:a+)+b does. So time is bounded too. Expressions
// of real tokenizers take 0.03 to 0.4 microseconds a byte.
constexpr double min_seconds = 1, seconds_of_a_byte = 10e-6;
constexpr int searches_between_looks = 16;  // at the clock

double processor_seconds() {
  std::timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// With groups that call groups, (?<a>\g<b>\g<b>), an expression of a few bytes takes forever to compile.
bool calls_groups(std::string_view expression) {
  for (size_t at = 0; at + 2 < expression.size(); ++at) {
    if (expression[at] != '\\') continue;
    const char next = expression[++at];
    if (next == 'g' && (expression[at + 1] == '<' || expression[at + 1] == '\'')) return true;
  }
  return false;
}

constexpr size_t longest_expression = 20'000;

using MatchLimits = std::unique_ptr<OnigMatchParam, void (*)(OnigMatchParam*)>;

bool is_over_limit(int code) {
  return code == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER || code == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
}

MatchLimits match_limits() {
  MatchLimits limits(onig_new_match_param(), onig_free_match_param);
  if (!limits) throw std::bad_alloc();
  onig_initialize_match_param(limits.get());
  return limits;
}

}  // namespace

struct Regex::Compiled {
  regex_t* expression = nullptr;
  std::string where;

  Compiled(const std::string& text, const std::string& file) : where(file) {
    static std::once_flag once;
    std::call_once(once, [] {
      OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
      onig_initialize(encodings, 1);
    });
    require<InputError>(text.size() <= longest_expression, where,
                        "a regular expression of {} bytes is longer than {}", text.size(), longest_expression);
    require<InputError>(!calls_groups(text), where, "{} calls a group by \\g, which is not supported",
                        quoted_name(text));
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
  const MatchLimits limits = match_limits();
  const OnigUChar *begin = bytes(text.data()), *end = begin + text.size();
  unsigned long budget = min_budget + steps_of_a_byte * text.size(), steps = first_steps;
  const double allowed = min_seconds + seconds_of_a_byte * static_cast<double>(text.size());
  double until = 0;  // 0: not looked at the clock yet, which a short text never does
  int searches = 0;
  // The same words for both limits: which of them comes first depends on the processor.
  const auto require_within_limit = [&](bool within) {
    require<TextError>(within, compiled_->where, "a regular expression takes too long on a text of {} bytes",
                       text.size());
  };
  for (const OnigUChar* at = begin; at < end;) {
    if (steps > first_steps || ++searches % searches_between_looks == 0) {
      const double now = processor_seconds();
      if (until == 0) until = now + allowed;
      require_within_limit(now < until);
    }
    onig_set_retry_limit_in_match_of_match_param(limits.get(), steps);
    onig_set_retry_limit_in_search_of_match_param(limits.get(), steps);
    const int found = onig_search_with_param(compiled_->expression, begin, end, at, end, region.get(),
                                             ONIG_OPTION_NONE, limits.get());
    if (found == ONIG_MISMATCH) return;
    if (is_over_limit(found)) {
      require_within_limit(steps <= budget);
      budget -= steps;
      steps *= 2;
      continue;
    }
    require<TextError>(found >= 0, compiled_->where, "a regular expression failed on a text of {} bytes: {}",
                       text.size(), message_of(found));
    // \K may let a match begin elsewhere.
    const auto done = static_cast<size_t>(at - begin);
    const size_t first = std::max(static_cast<size_t>(region->beg[0]), done);
    const size_t last = std::max(static_cast<size_t>(region->end[0]), done);
    if (last > first) function(first, last);
    at = begin + (last > first ? last : last + 1);
    while (at < end && (*at & 0xc0) == 0x80) ++at;
    steps = first_steps;
  }
}

}  // namespace qkv
