// The flags of decoding: a row of decode/option_table.h is a flag, under its heading in the help.
//
//     flags = decoding_flags(app, options, {.notes = {{"n-best", "; each list ends with a blank line"}}});
//     set_defaults(options, translator.defaults(), flags);                    // of the flags that were not given
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"
#include "qkv/decode/option_table.h"

namespace qkv::cli {

struct DecodingFlagsOptions {
  std::map<std::string_view, std::string> notes = {};  // what a command adds to the help of a flag
  std::set<std::string_view> headings = {};            // only flags under these; empty: all
};

// In the order of the table.
template <class Options>
std::vector<Option*> decoding_flags(App& app, Options& options, const DecodingFlagsOptions& how = {}) {
  std::vector<Option*> flags;
  visit_options(options, [&](const Setting& setting, auto& value) {
    if (!*setting.heading || (!how.headings.empty() && !how.headings.contains(setting.heading))) return;
    const auto note = how.notes.find(setting.name);
    const std::string help = setting.help + (note == how.notes.end() ? "" : note->second);
    AddFlags{app, flags}(Setting{setting.name, setting.unit, help.c_str()}, value);
    flags.back()->group(setting.heading);
  });
  return flags;
}

// `options` are those that the flags set.
template <class Options>
void set_defaults(Options& options, const Options& defaults, const std::vector<Option*>& flags) {
  options = defaults;
  set_given_again(flags);
}

}  // namespace qkv::cli
