#include "qkv/picture/label.h"

#include <gtest/gtest.h>

namespace qkv::label_test {

TEST(Label, AnyBytesBecomeOneVisibleLine) {
  EXPECT_EQ(label_text("plain"), "plain");
  EXPECT_EQ(label_text("a\tb\n"), "a\\tb\\n");
  EXPECT_EQ(label_text(std::string_view("\0\x1f\x7f", 3)), "\\x00\\x1f\\x7f");
  EXPECT_EQ(label_text("\u0085"), "\\x85");  // a line break of another century
  EXPECT_EQ(label_text("a\u202eb"),
            "a\\u202eb");                     // would turn all that follows around
  EXPECT_EQ(label_text("\ufffe"), "\ufffd");  // no character; XML refuses it
  EXPECT_EQ(label_text("x\xe2\x96"), "x<0xE2><0x96>");
  EXPECT_EQ(label_text(" "), "\u2423");
  EXPECT_EQ(label_text(" two words "), "\u2423two words\u2423");
  EXPECT_EQ(label_text("\u2581caf\u00e9"), "\u2581caf\u00e9");
}

TEST(Label, WidthsDependOnTheScript) {
  EXPECT_NEAR(label_width("attention"), 4.5, 0.7);
  EXPECT_GT(label_width("WWW"), label_width("iii"));
  EXPECT_NEAR(label_width("\u6f22\u5b57"), 2.1, 0.2);
  EXPECT_EQ(label_width("e\u0301"), label_width("e"));
}

TEST(Label, IsShortenedBetweenWholeCharacters) {
  EXPECT_EQ(shortened("short", 5), "short");
  const std::string cut = shortened("internationalisation", 6);
  EXPECT_TRUE(cut.starts_with("internat") && cut.ends_with("\u2026")) << cut;
  EXPECT_LE(label_width(cut), 6);
  // A family of three joined emoji and an accent are never cut in two.
  const std::string family = "\U0001f469\u200d\U0001f467\u200d\U0001f466";
  for (const double room : {1.0, 2.0, 3.0, 4.0, 5.0}) {
    const std::string text = shortened("x" + family + "e\u0301" + "abcdefgh", room);
    EXPECT_EQ(text.find("\u200d\u2026"), text.npos) << text;
    EXPECT_EQ(text.find("e\u2026"), text.npos) << text;
  }
}

TEST(Label, IsEscapedForXml) { EXPECT_EQ(xml_escaped("<b> & \"x\""), "&lt;b&gt; &amp; &quot;x&quot;"); }

}  // namespace qkv::label_test
