// The names that other programs give to what a flag of qkv does, so that a mistaken one is answered with ours:
//
//     foreign_name("num-beams", flag_names(app))          // "; qkv calls it --beam"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qkv::cli {

// "" if the name is not known, or if what it means is not among the `known` flags. Case, and _ for -, do not matter.
std::string foreign_name(std::string_view given, std::span<const std::string_view> known);

// foreign_command("eval")      // "; it is qkv evaluate"
std::string foreign_command(std::string_view given);

}  // namespace qkv::cli
