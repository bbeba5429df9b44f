// The extension module qkv._core, which only the Python files of the package call.

#include <nanobind/stl/string.h>

#include "python/src/bind.h"
#include "qkv/base/threads.h"
#include "qkv/base/version.h"
#include "qkv/kernel/instruction_set.h"

NB_MODULE(_core, m) {
  namespace nb = nanobind;
  using namespace qkv;
  nb::set_leak_warnings(false);  // objects that live until the interpreter ends
  python::bind_errors();
  python::bind_masks(m);
  python::bind_scores(m);
  python::bind_other_parts(m);
  python::bind_functions(m);
  python::bind_attention(m);
  python::bind_distributed(m);
  python::bind_operations(m);
  python::bind_caches(m);
  python::bind_layer(m);
  python::bind_metrics(m);
  python::bind_evaluation(m);
  python::bind_tokenizer(m);
  python::bind_picture(m);
  python::bind_cost(m);
  python::bind_inspection(m);
  python::bind_translator(m);
  python::bind_generator(m);
  python::bind_embedder(m);
  python::bind_mask_filler(m);
  python::bind_option_tables(m);
  python::bind_training(m);
  m.def("version", [] { return std::string(version()); });
  m.def("threads", &threads);
  m.def("set_threads", &set_threads, nb::arg("count"));
  m.def("instruction_set", [] { return std::string(instruction_set()); });
}
