// Exit codes: 0 done, 1 bad input, 2 wrong usage, 128 + N interrupted by signal N (130: Ctrl-C), 141 standard output was
// closed by its reader: by SIGPIPE, as any filter, or without a message where that signal is ignored.
#pragma once

namespace qkv::cli {

inline constexpr int bad_input = 1, wrong_usage = 2, closed_pipe = 141;

}  // namespace qkv::cli
