#include "qkv/text/file_kind.h"

#include <algorithm>

namespace qkv {
namespace {

using namespace std::string_view_literals;

struct Kind {
  std::string_view magic;
  size_t at;
  std::string_view is;
  bool letters = false;  // the magic number could begin a text: control characters must follow
};

constexpr std::string_view office = "; save it as text: a sheet as tab-separated values (TSV)";

constexpr Kind kinds[] = {
    {"\xff\xfe\0\0"sv, 0, "this is UTF-32; convert it: iconv -f UTF-32 -t UTF-8 FILE > TEXT"},
    {"\0\0\xfe\xff"sv, 0, "this is UTF-32; convert it: iconv -f UTF-32 -t UTF-8 FILE > TEXT"},
    {"\xff\xfe"sv, 0, "this is UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE > TEXT"},
    {"\xfe\xff"sv, 0, "this is UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE > TEXT"},
    {"\xfd\x37zXZ\0"sv, 0, "this is compressed by xz; decompress it: xz -dk FILE"},
    {"1AY&SY"sv, 4, "this is compressed by bzip2; decompress it: bzip2 -dk FILE", true},
    {"\x04\x22\x4d\x18"sv, 0, "this is compressed by lz4; decompress it: lz4 -d FILE"},
    {"7z\xbc\xaf\x27\x1c"sv, 0, "this is a 7z archive; unpack it: 7z x FILE"},
    {"ustar"sv, 257, "this is a tar archive; unpack it: tar -xf FILE", true},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, 0, "this is a document of Office (xls, doc)"},
    {"%PDF-"sv, 0, "this is a PDF; extract its text: pdftotext FILE TEXT"},
    {"{\\rtf"sv, 0, "this is a document (RTF); save it as plain text"},
    {"GGUF"sv, 0, "this is a model of llama.cpp (GGUF), not text", true},
    {"PAR1"sv, 0,
     "this is Parquet; convert it: python -c \"import pandas; pandas.read_parquet('FILE').to_csv('TEXT.tsv', "
     "sep='\\t', header=False, index=False)\"",
     true},
    {"\x89PNG\r\n"sv, 0, "this is a picture (PNG), not text"},
    {"\xff\xd8\xff"sv, 0, "this is a picture (JPEG), not text"},
    {"SQLite format 3\0"sv, 0, "this is an SQLite database, not text"},
};

bool has(std::string_view bytes, std::string_view part) { return bytes.find(part) != bytes.npos; }

bool has_controls(std::string_view bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](unsigned char c) { return c < '\t'; });
}

std::string zip_kind(std::string_view bytes) {
  for (const std::string_view entry : {"[Content_Types].xml"sv, "_rels/"sv, "xl/"sv, "word/"sv, "docProps/"sv})
    if (has(bytes, entry)) return std::string("this is a document of Office (xlsx, docx)") + std::string(office);
  if (has(bytes, "application/vnd.oasis.opendocument"))
    return std::string("this is a document of OpenOffice (ods, odt)") + std::string(office);
  if (has(bytes, ".npy")) return "this is an archive of NumPy arrays (npz), not text";
  return "this is a zip archive; unpack it: unzip FILE";
}

// ASCII in UTF-16 without a byte order mark: every second byte is NUL.
bool is_unmarked_utf16(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, std::min<size_t>(bytes.size() / 2 * 2, 64));
  if (begin.size() < 8) return false;
  for (const size_t nul : {size_t{0}, size_t{1}}) {
    bool fits = true;
    for (size_t i = 0; i < begin.size(); ++i) fits = fits && (begin[i] == '\0') == (i % 2 == nul);
    if (fits) return true;
  }
  return false;
}

}  // namespace

std::string file_kind(std::string_view bytes) {
  if (bytes.starts_with("PK\x03\x04")) return zip_kind(bytes);
  for (const Kind& kind : kinds)
    if (bytes.size() >= kind.at + kind.magic.size() && bytes.substr(kind.at, kind.magic.size()) == kind.magic &&
        (!kind.letters || has_controls(bytes)))
      return std::string(kind.is) + (has(kind.is, "(xls, doc)") ? std::string(office) : "");
  if (is_unmarked_utf16(bytes)) return "this is UTF-16; convert it: iconv -f UTF-16LE -t UTF-8 FILE > TEXT";
  return "";
}

}  // namespace qkv
