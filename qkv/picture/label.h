// Tokens as labels: any bytes become one line of text of limited width for SVG and HTML.
//
//     label_text("a\tb")                       // "a\\tb": the tab as its escape
//     shortened("internationalisation", 6.0)   // "internatio" and an ellipsis
//     xml_escaped("<s> & </s>")                // "&lt;s&gt; &amp; &lt;/s&gt;"
//
// Widths are estimates in em (the font size): the font is chosen by the viewer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

// Control characters and bidirectional controls become escapes (\n, \x1b, \u202e), invalid bytes <0x..>. All others
// stay, the space mark of SentencePiece included.
std::string label_text(std::string_view token);

// What a terminal shows in one place: a character with the combining ones that follow it.
struct TerminalCharacter {
  std::string text;
  int64_t columns = 1;  // 2 for Chinese, Japanese, Korean and emoji
};
std::vector<TerminalCharacter> terminal_characters(std::string_view label);

double label_width(std::string_view label);                        // in em
std::string shortened(std::string_view label, double longest_em);  // with an ellipsis if too long
std::string xml_escaped(std::string_view label);

}  // namespace qkv
