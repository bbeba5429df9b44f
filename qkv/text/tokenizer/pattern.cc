#include "qkv/text/tokenizer/pattern.h"

#include "qkv/base/json_fields.h"

namespace qkv {

void Pattern::for_each_match(std::string_view text, FunctionRef<void(size_t, size_t)> function) const {
  if (regex_) return regex_->for_each_match(text, function);
  if (text_.empty()) return;
  for (size_t at = text.find(text_); at != std::string_view::npos; at = text.find(text_, at + text_.size()))
    function(at, at + text_.size());
}

Pattern read_pattern(const JsonFields& fields) {
  const JsonFields pattern = fields.object("pattern");
  if (pattern.has("String")) return Pattern(pattern.text("String"));
  return Pattern(Regex(pattern.text("Regex"), pattern.where()));
}

}  // namespace qkv
