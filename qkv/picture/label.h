// Tokens as labels: any bytes become one line of text that an SVG or HTML file can hold, of a width that fits.
//
//     label_text("a\tb")                       // the tab as its picture, U+2409
//     shortened("internationalisation", 6.0)   // "internatio" and an ellipsis
//     xml_escaped("<s> & </s>")                // "&lt;s&gt; &amp; &lt;/s&gt;"
//
// Widths are estimates in em (the font's size): the file brings no font, so nobody knows them exactly.
#pragma once

#include <string>
#include <string_view>

namespace qkv {

// Control characters as their pictures (U+2400 ...), stray bytes as <0x..>, marks that would turn the direction of
// the text around them as U+FFFD. Everything else, the space mark of SentencePiece included, stays.
std::string label_text(std::string_view token);

double label_width(std::string_view label);                        // in em
std::string shortened(std::string_view label, double longest_em);  // with an ellipsis if it was too long
std::string xml_escaped(std::string_view label);

}  // namespace qkv
