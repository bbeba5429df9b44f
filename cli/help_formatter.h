// Help pages with descriptions wrapped to 100 columns.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace qkv::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_desc(option);
    const size_t width = 100 - get_column_width();
    for (size_t begin = 0; text.size() - begin > width;) {
      size_t space = text.rfind(' ', begin + width);
      if (space == text.npos || space <= begin) break;  // a word longer than a line
      text[space] = '\n';                               // CLI11 indents the next line
      begin = space + 1;
    }
    return text;
  }
};

}  // namespace qkv::cli
