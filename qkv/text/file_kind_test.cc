#include "qkv/text/file_kind.h"

#include <sstream>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/text/gzip_test.h"
#include "qkv/text/lines.h"

namespace qkv::file_kind_test {

using namespace std::string_literals;

// What reading the first line of these bytes reports.
std::string error_of(const std::string& bytes) {
  std::istringstream stream(bytes);
  LineReader lines(stream, "corpus");
  std::string line;
  try {
    lines.next(line);
  } catch (const LineError& error) {
    return "of one line: "s + error.what();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(FileKind, NamesWhatIsNotTextWithTheCommandThatMakesTextOfIt) {
  const auto expect = [](const std::string& bytes, const std::string& part) {
    const std::string error = error_of(bytes);
    EXPECT_TRUE(error.starts_with("corpus: this is ")) << error;
    EXPECT_NE(error.find(part), error.npos) << error;
  };
  expect("\xff\xfeH\0i\0\n\0"s, "UTF-16; convert it: iconv -f UTF-16 -t UTF-8");
  expect("\xfe\xff\0H\0i\0\n"s, "UTF-16");
  expect("H\0e\0l\0l\0o\0\n\0"s, "UTF-16");
  expect("\xff\xfe\0\0H\0\0\0"s, "UTF-32");
  expect("\xfd\x37zXZ\0\0\4"s, "xz -dk");
  expect("BZh91AY&SY\x8f\1", "bzip2 -dk");
  expect("%PDF-1.7\n%\xe2\xe3", "pdftotext");
  expect("GGUF\3\0\0\0"s, "GGUF");
  expect("PAR1\x15\4", "read_parquet");
  // A zip archive may have a line feed in its fifth byte.
  expect("PK\3\4\n\0\0\0\0\0some.txt"s, "unzip");
  expect("PK\3\4\x14\0\6\0\x08\0xl/workbook.xml"s, "(TSV)");
  expect("PK\3\4\n\0\0\0\0\0[Content_Types].xml"s, "Office");
  expect("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0"s, "(TSV)");
}

TEST(FileKind, IsFoundInsideGzipAndWhenNoLineEnds) {
  EXPECT_NE(error_of(gzip("GGUF\3\0\0\0"s)).find("GGUF"), std::string::npos);
  EXPECT_NE(error_of("\xfd\x37zXZ\0"s + std::string(2'000'000, 'x')).find("xz -dk"), std::string::npos);
}

TEST(FileKind, LeavesTextAlone) {
  for (const std::string text : {"", "PK", "BZh9 is a name", "GGUF is a format", "PAR1", "BZh91AY&SY is text",
                                 "Hello", "\xef\xbb\xbfHello", "ustar"})
    EXPECT_EQ(error_of(text + "\n"), "") << text;
  EXPECT_EQ(file_kind("H\0i"s), "") << "too short to be UTF-16 for sure";
}

}  // namespace qkv::file_kind_test
