// Renders chat templates for random_templates.py: a line of JSON on stdin, {"template": "...", "variables": {...}}, is
// answered by a line on stdout, {"text": "..."} or {"error": "..."}.
#include <iostream>
#include <string>

#include "qkv/base/error.h"
#include "qkv/text/chat_template/chat_template.h"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    qkv::Json answer = qkv::Json::object();
    try {
      const qkv::Json request = qkv::Json::parse(line);
      const qkv::ChatTemplate chat({.text = request["template"].text()});
      answer["text"] = chat.render(qkv::Json::array(), {.variables = request["variables"], .now = 1'700'000'000});
    } catch (const qkv::Error& error) {
      answer["error"] = std::string(error.what());
    }
    std::cout << answer.dump(qkv::Json::Format{.replace_invalid = true}) << std::endl;
  }
}
