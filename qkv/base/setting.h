// What a setting is called and what it means: a row of a table that flags, files, Python and their help are made
// from. The tables are visits, visitor(Setting, field, ...), so each row has its field beside it:
// train/option_table.h, model/architecture_table.h.
#pragma once

namespace qkv {

struct Setting {
  const char* name;  // with dashes, as on the command line
  const char* unit;  // of its value: TOKENS, RATE; none for one of a list of names
  const char* help;
};

}  // namespace qkv
