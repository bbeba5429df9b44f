#include "qkv/text/chat_template/heap.h"

namespace qkv::jinja {

void Heap::too_long() const {
  template_error("the template takes more than the {} steps that are allowed", limits_.steps);
}

void Heap::too_large() const {
  template_error("the template uses more than the {} bytes of memory that are allowed", limits_.memory_bytes);
}

void Heap::too_deep() {
  --depth_;  // the destructor of Deeper does not run
  template_error("calls or values are nested more than {} deep", limits_.depth);
}

}  // namespace qkv::jinja
