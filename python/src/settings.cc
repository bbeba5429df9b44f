#include "python/src/settings.h"

#include <filesystem>
#include <nanobind/stl/filesystem.h>

namespace qkv::python {

std::string python_name(const Setting& setting) {
  std::string name = setting.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

bool names_a_path(const Setting& setting) {
  return std::string_view(setting.unit).starts_with("FILE") || std::string_view(setting.unit) == "FOLDER";
}

void refuse_type(std::string_view where, std::string_view name, const char* wanted, nb::handle got) {
  throw nb::type_error(
      fmt::format("{}: {} must be {}, got {}", where, name, wanted, nb::repr(got).c_str()).c_str());
}

std::set<std::string> ReadSettings::names() const {
  std::set<std::string> names;
  for (const auto& [key, value] : given_) {
    if (value.is_none()) continue;
    std::string name = string_of(key, where_.c_str());
    std::replace(name.begin(), name.end(), '_', '-');
    names.insert(std::move(name));
  }
  return names;
}

void ReadSettings::refuse_unknown(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : given_)
    if (const std::string name = string_of(key, where_.c_str());
        std::find(known.begin(), known.end(), name) == known.end())
      // As Python says it: _argument_errors.py adds a name that was meant.
      throw nb::type_error(fmt::format("{}() got an unexpected keyword argument '{}'", where_, name).c_str());
}

std::string ReadSettings::path_of(const std::string& name, const nb::object& object) const {
  std::filesystem::path file;
  if (!nb::try_cast(object, file)) refuse_type(where_, name, "the name of a file", object);
  return file.string();
}

// The name of a file, or a list of them.
CorpusPaths ReadSettings::corpora_of(const std::string& name, const nb::object& object) const {
  std::filesystem::path file;
  if (nb::try_cast(object, file)) return {file.string()};
  const char* wanted = "the name of a file or a list of such names";
  if (!PySequence_Check(object.ptr()) || PyBytes_Check(object.ptr())) refuse_type(where_, name, wanted, object);
  CorpusPaths corpora;
  for (const nb::handle item : object) {
    if (!nb::try_cast(item, file)) refuse_type(where_, name, wanted, object);
    corpora.list.push_back(file.string());
  }
  return corpora;
}

}  // namespace qkv::python
