// Text with placeholders: "%s is %d" % (name, age), and str.format().
#pragma once

#include <string_view>

#include "qkv/text/chat_template/heap.h"
#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

struct Arguments;

// %s %r %d %i %u %f %e %g %x %o %c with flags, width and precision, and %(name)s of a dict.
std::string_view percent_formatted(Heap& heap, std::string_view format, const Value& values);

// "{} {1} {name} {0.role} {x[0]!r} {y:.2f}"
std::string_view brace_formatted(Heap& heap, std::string_view format, const Arguments& arguments);

}  // namespace qkv::jinja
