// A length of time as text: "90s", "30m", "2h", "1d", or several of them together, "1h30m".
//
//     Seconds limit = seconds_from_text("30m", "train", "max-time");       // or std::chrono::minutes(30)
//     duration_text(limit)                                                // "30m"
//
// A text without a unit is not a time, as 90 could be seconds or minutes; "0" needs none.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace qkv {

using Seconds = std::chrono::duration<double>;

// None if it is not one.
std::optional<Seconds> read_seconds(std::string_view text);
// `where` and `what`, the operation and the name of the option, begin the UsageError.
Seconds seconds_from_text(std::string_view text, std::string_view where, std::string_view what);
// The text that is read as this time again: "0", "90s", "30m", "1h30m".
std::string duration_text(Seconds time);

}  // namespace qkv
