#include "python/src/text.h"

#include <fmt/format.h>

namespace qkv::python {

nb::str text_of(std::string_view text) {
  PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (!decoded) throw nb::python_error();
  return nb::steal<nb::str>(decoded);
}

nb::list texts_of(const std::vector<std::string>& texts) {
  nb::list out;
  for (const std::string& text : texts) out.append(text_of(text));
  return out;
}

std::string string_of(nb::handle text, const char* name) {
  if (!PyUnicode_Check(text.ptr()))
    throw nb::type_error(
        fmt::format("{}: expected a text, got {}", name, nb::type_name(text.type()).c_str()).c_str());
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AsString(bytes.ptr()), static_cast<size_t>(PyBytes_Size(bytes.ptr()))};
}

std::vector<std::string> strings_of(nb::handle texts, const char* name) {
  std::vector<std::string> out;
  for (const nb::handle text : texts) out.push_back(string_of(text, name));
  return out;
}

InferenceOptions inference_options(const std::optional<std::string>& weights, bool map,
                                   const std::string& precision, const char* where, const std::string& cache) {
  InferenceOptions options = {.map = map,
                              .cache = value_named<CacheFormat>(cache, where, "cache"),
                              .precision = value_named<Precision>(precision, where, "precision")};
  if (weights) options.weights = value_named<WeightFormat>(*weights, where, "weights");
  return options;
}

void check_signals() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace qkv::python
