// Errors of the library as Python exceptions: FileError as the OSError of its code (FileNotFoundError, ...), any other
// as ValueError with the same message.

#include <cstring>

#include "python/src/bind.h"
#include "python/src/text.h"
#include "qkv/base/file.h"
#include "qkv/decode/overflow.h"

namespace qkv::python {
namespace {

// OSError(code, reason, file) is of the class that belongs to the code.
void set_os_error(const FileError& e) {
  PyObject* file = PyUnicode_DecodeFSDefault(e.file().c_str());
  PyObject* error =
      file ? PyObject_CallFunction(PyExc_OSError, "isN", e.code(), std::strerror(e.code()), file) : nullptr;
  if (!error) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_DECREF(error);
}

void translate_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const FileError& e) {
    set_os_error(e);
  } catch (const Overflow&) {
    PyErr_SetString(PyExc_ValueError, Overflow::reason);
  } catch (const Error& e) {
    PyErr_SetObject(PyExc_ValueError, text_of(e.what()).ptr());
  }
}

}  // namespace

void bind_errors() { nb::register_exception_translator(translate_error); }

}  // namespace qkv::python
