# Writes a C++ source whose string_view NAME (of the namespace qkv, declared in HEADER) has the bytes of files, one after
# another. Lists are separated by commas. Called by cmake -P, so that a build needs no other program, and by script/check-portable:
#
#     cmake -DOUTPUT=x.cc -DHEADER=qkv/picture/page_parts.h -DNAMES=page_style -Dpage_style=a.css -P cmake/embed.cmake
cmake_minimum_required(VERSION 3.25)
set(source "// Made by cmake/embed.cmake.\n#include \"${HEADER}\"\n\nnamespace qkv {\n")
string(REPLACE "," ";" names "${NAMES}")
foreach(name IN LISTS names)
  set(bytes "")
  string(REPLACE "," ";" files "${${name}}")
  foreach(file IN LISTS files)
    file(READ "${file}" hex HEX)
    string(APPEND bytes "${hex}")
  endforeach()
  string(LENGTH "${bytes}" size)
  math(EXPR size "${size} / 2")
  # 32 bytes a line. A string literal would end at 65,536 characters for some compilers.
  string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND source "\nstatic constexpr char bytes_of_${name}[] = {\n${bytes}};\n"
                       "const std::string_view ${name}(bytes_of_${name}, ${size});\n")
endforeach()
file(WRITE "${OUTPUT}" "${source}\n}  // namespace qkv\n")
