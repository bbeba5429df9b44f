// The text of generated tokens, one by one. Together the pieces are tokenizer.decode() of all ids, up to a stop string.
//
//     TextStream stream(tokenizer, {"\n\n"});
//     while (!stream.stopped()) fmt::print("{}", stream.append(next_id()));        // whole characters only
//     fmt::print("{}", stream.finish());
//
// The text of a token may depend on its neighbors: byte fallback divides a character into several tokens, and a space
// at the beginning of the text is left out. So a token is decoded together with those before it. The text may continue
// another one, the context, such as a prompt: only what decode() of both adds to decode() of the context is printed. If
// byte tokens are not UTF-8 together, whole characters among them are still printed, although decode() may give U+FFFD
// for each byte, because they were printed before the other bytes came. Errors: UsageError for stop strings
// (stop_strings.h); Error for an id outside the vocabulary, or after the end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qkv/pipeline/stop_strings.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

class TextStream {
 public:
  explicit TextStream(Tokenizer tokenizer, const std::vector<std::string>& stops = {},
                      const std::vector<int32_t>& context = {});

  // What may be printed by now; the views are valid until the next call.
  std::string_view append(int32_t id);
  std::string_view finish();

  bool stopped() const { return stops_.found(); }            // a stop string was found
  const std::string& text() const { return stops_.text(); }  // all of it, without the stop string
  const std::vector<int32_t>& ids() const { return ids_; }   // those of the context first

 private:
  std::string new_text(bool may_be_open);

  Tokenizer tokenizer_;
  StopStrings stops_;
  std::vector<int32_t> ids_;
  size_t context_ = 0,
         decoded_ = 0;  // ids before `decoded_` are in the text; those from context_ are decoded again
  std::string shown_;   // the part already given of the text of the ids from context_ on
  std::string bytes_;   // of the byte tokens from decoded_ on
  std::string printed_;
};

}  // namespace qkv
