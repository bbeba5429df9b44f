// Chat templates: any program renders a conversation with its tools within the limits, always to the same text, which is
// UTF-8, or is refused with the line of the template.
#include "qkv/text/chat_template/chat_template.h"

#include <optional>

#include "fuzz/input.h"
#include "qkv/base/error.h"
#include "qkv/text/utf8.h"

namespace {

using namespace qkv;

// Small, so that many inputs are tried in a second.
constexpr ChatTemplateLimits limits = {
    .steps = 200'000, .depth = 200, .output_bytes = 1 << 20, .memory_bytes = 16 << 20};

const Json messages = Json::parse(
    R"([{"role": "system", "content": "Be kind."}, {"role": "user", "content": " Hi \u00e9\ud83d\ude00\n"},
        {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1.5}}}]},
        {"role": "tool", "content": "20"}, {"role": "user", "content": [{"type": "text", "text": "a"}]}])");
const Json tools =
    Json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])");

std::string rendered(const ChatTemplate& chat) {
  const RenderOptions options = {.tools = tools, .variables = {{"n", 3}}, .now = 1'700'000'000};
  try {
    return chat.render(messages, options);
  } catch (const InputError& error) {
    fuzz::expect(std::string_view(error.what()).starts_with("t.jinja: the chat template, line "),
                 "an error without the line");
    throw;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::accepted([&] {
    const ChatTemplate chat({.text = std::string(fuzz::as_text(data, size)),
                             .file = "t.jinja",
                             .special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}}},
                            limits);
    const std::string text = rendered(chat);
    fuzz::expect(text.size() <= limits.output_bytes, "a text longer than the limit");
    fuzz::expect(!utf8_error(text), "a text that is not UTF-8");
    fuzz::expect(rendered(chat) == text, "another text the second time");
  });
  return 0;
}
