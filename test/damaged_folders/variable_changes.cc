// CTranslate2's model.bin: a version, the name of what it describes, a revision, variables, and aliases of them, which are
// left as they are.
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "test/damaged_folders/change.h"
#include "test/damaged_folders/little_endian.h"

namespace qkv::test {
namespace {

struct Variable {
  std::string name;  // with the zero at its end
  std::vector<uint32_t> shape;
  uint8_t type;  // 0 to 5: f32, i8, i16, i32, f16, bf16
  std::string data;
};

struct ModelBin {
  std::string begin, end;  // what lies before and behind the number of variables and these
  std::vector<Variable> variables;
};

std::optional<ModelBin> read_model_bin(std::string_view bytes) {
  ModelBin model;
  ByteReader reader(bytes);
  reader.number<uint32_t>();
  reader.text(reader.number<uint16_t>());
  reader.number<uint32_t>();
  model.begin = bytes.substr(0, bytes.size() - reader.rest().size());
  for (auto count = reader.number<uint32_t>(); count > 0 && reader.whole(); --count) {
    Variable variable{
        .name = std::string(reader.text(reader.number<uint16_t>())), .shape = {}, .type = 0, .data = {}};
    for (auto rank = reader.number<uint8_t>(); rank > 0; --rank)
      variable.shape.push_back(reader.number<uint32_t>());
    variable.type = reader.number<uint8_t>();
    variable.data = reader.text(reader.number<uint32_t>());
    model.variables.push_back(std::move(variable));
  }
  model.end = reader.rest();
  if (!reader.whole() || model.variables.empty()) return {};
  return model;
}

std::string bytes_of_model(const ModelBin& model) {
  std::string bytes = model.begin + bytes_of(static_cast<uint32_t>(model.variables.size()));
  for (const Variable& variable : model.variables) {
    bytes += bytes_of(static_cast<uint16_t>(variable.name.size())) + variable.name +
             bytes_of(static_cast<uint8_t>(variable.shape.size()));
    for (const uint32_t size : variable.shape) bytes += bytes_of(size);
    bytes += bytes_of(variable.type, static_cast<uint32_t>(variable.data.size())) + variable.data;
  }
  return bytes + model.end;
}

std::string shown(const std::vector<uint32_t>& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

std::string change_shape(Variable& variable, Random& random) {
  if (variable.shape.empty() || random.below(6) == 0) {
    variable.shape.push_back(one_of(std::array<uint32_t, 4>{0, 1, 2, UINT32_MAX}, random));
  } else if (random.below(4) == 0) {  // a shape of no numbers, whatever its other sizes are
    variable.shape.back() = UINT32_MAX, variable.shape.front() = 0;
    variable.data.clear();
  } else {
    uint32_t& size = variable.shape[below(variable.shape.size(), random)];
    size = other_size(size, random);
  }
  return "has shape " + shown(variable.shape);
}

// As many numbers as there were, or as the bytes are.
std::string change_type(Variable& variable, Random& random) {
  constexpr size_t sizes[] = {4, 1, 2, 4, 2, 2};
  const auto type = static_cast<uint8_t>(random.below(7));
  if (random.below(2) == 0 && type < std::size(sizes) && variable.type < std::size(sizes))
    variable.data.resize(variable.data.size() / sizes[variable.type] * sizes[type], '\1');
  variable.type = type;
  return fmt::format("has type {}", type);
}

// Settings are single numbers: a type of activation, whether norms come first.
std::string change_setting_value(Variable& variable, Random& random) {
  const auto value = static_cast<char>(one_of(std::array{0, 1, 2, 3, 4, 5, 8, 127, 255}, random));
  variable.data.front() = value;
  return fmt::format("begins with {}", int{value});
}

std::string change_one(Variable& variable, Random& random) {
  if (variable.shape.empty() && !variable.data.empty() && random.below(3) > 0)
    return change_setting_value(variable, random);
  switch (random.below(5)) {
    case 0:
    case 1: return change_shape(variable, random);
    case 2: return change_type(variable, random);
    case 3:
      if (const std::string what = overwrite_range(variable.data, random); !what.empty()) return what;
      return change_shape(variable, random);
    default: variable.name.insert(below(variable.name.size(), random), 1, 'x'); return "is renamed";
  }
}

}  // namespace

std::string change_variable(std::string& bytes, Random& random) {
  auto model = read_model_bin(bytes);
  if (!model) return "";
  const size_t at = below(model->variables.size(), random), other = below(model->variables.size(), random);
  const std::string name = model->variables[at].name.c_str();
  std::string what;
  switch (random.below(8)) {
    case 0:
      model->variables.erase(model->variables.begin() + static_cast<std::ptrdiff_t>(at)), what = "is removed";
      break;
    case 1: {
      Variable copy = model->variables[other];
      model->variables.push_back(std::move(copy)), what = "is there, and another one twice";
      break;
    }
    case 2: {
      Variable copy = model->variables[other];
      copy.name = model->variables[at].name;
      what = fmt::format("is a copy of {}", model->variables[other].name.c_str());
      model->variables[at] = std::move(copy);
      break;
    }
    default: what = change_one(model->variables[at], random); break;
  }
  bytes = bytes_of_model(*model);
  return fmt::format("{} {}", name, what);
}

}  // namespace qkv::test
