// The name, unit and help text of a setting. Flags, configuration files, Python and their help are generated from
// tables of settings. A table is a function that calls visitor(Setting, field, ...) for each setting:
// train/option_table.h, model/architecture_table.h.
#pragma once

namespace qkv {

struct Setting {
  const char* name;  // with dashes, as on the command line
  const char* unit;  // of its value: TOKENS, RATE; null if the value is one of a list of names
  const char* help;
};

}  // namespace qkv
