// Help pages: flags in their groups, the required ones first and those of every command last, short names beside long
// ones, descriptions wrapped to 100 columns.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace qkv::cli {

constexpr const char *required_group = "Required", *general_group = "General";

// The groups of a command in the order of its help; those without a flag left out.
std::vector<std::string> ordered_groups(const CLI::App& command);
std::vector<const CLI::Option*> flags_of_group(const CLI::App& command, const std::string& group);

// "-m, --model", and what follows it: " FOLDER", " N=4".
std::string names_of_flag(const CLI::Option& option);
std::string value_of_flag(const CLI::Option& option);
std::string description_of_flag(const CLI::Option& option);

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* command, std::string name) const override;
  std::string make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace qkv::cli
