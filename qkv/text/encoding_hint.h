// The encoding of a line that is not UTF-8, as far as its bytes show it, as the end of an error message:
//
//     encoding_hint("caf\xe9 noir")    // "; as Windows-1252 it reads 'caf\u00e9': iconv -f WINDOWS-1252 -t UTF-8 FILE > TEXT"
//     encoding_hint("\xcf\xf0\xe8")    // "": letters of another alphabet, or not text
//
// It recognizes the languages of Western Europe in Windows-1252, of which ISO-8859-1 (Latin-1) is a part: words of ASCII
// letters with one or two others, and typographic punctuation. A line that has characters of UTF-8 too is damaged UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace qkv {

std::string encoding_hint(std::string_view line);

}  // namespace qkv
