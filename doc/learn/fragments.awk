# The fragments in C++ of a chapter as one function, which prints a line `== N` before the output of each:
#
#     awk -v name=softmax -f doc/learn/fragments.awk doc/learn/softmax.md >softmax.cc
#
# A fragment behind a line `<!-- not run: why -->` is left out. Fragments of a chapter share their variables.
/^```cpp$/ && last !~ /^<!-- not run/ {
  in_code = 1
  body = body "  fmt::print(\"== " ++count "\\n\");\n#line " FNR + 1 " \"" FILENAME "\"\n"
  next
}
/^```/ { in_code = 0 }
in_code && /^#include/ { if (!($0 in seen)) includes = includes $0 "\n"; seen[$0] = 1; body = body "\n"; next }
in_code { body = body $0 "\n" }
{ last = $0 }
END {
  printf "%s#include \"doc/learn/show.h\"\n\nnamespace qkv::learn {\n\n", includes
  printf "void chapter_%s() {\n%s}\n\n}  // namespace qkv::learn\n", name, body
}
