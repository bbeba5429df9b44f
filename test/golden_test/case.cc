#include "test/golden_test/case.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/test_support/checksum.h"
#include "qkv/test_support/tensors.h"

namespace qkv::golden {
namespace {

using Json = nlohmann::json;

template <class T>
T parsed(std::string_view argument, const std::string& text) {
  try {
    return Json::parse(text).get<T>();
  } catch (const Json::exception& e) {
    fail<InputError>("golden", "argument {} is {}: {}", argument, text, e.what());
  }
}

struct Largest {
  double error = -1;  // nothing compared yet
  std::string where;
  void meet(double e, const std::string& what) {
    if (e > error || std::isnan(e)) error = e, where = what;
  }
};
struct Errors {
  Largest outputs, gradients;
};
std::map<std::string, Errors>& errors() {
  static std::map<std::string, Errors> all;
  return all;
}

std::vector<std::string>& remarks() {
  static std::vector<std::string> all;
  return all;
}

// The number that a difference is measured against.
double size_of(const std::vector<double>& wanted) {
  double largest = 0;
  for (const double w : wanted)
    if (std::isfinite(w)) largest = std::max(largest, std::abs(w));
  return largest < 1e-3 ? 1.0 : largest;
}

// Infinite where one is not a number, or where only one is infinite.
double difference(double got, double wanted) {
  if (got == wanted) return 0;
  const double d = std::abs(got - wanted);
  return std::isfinite(d) ? d : INFINITY;
}

bool among(std::initializer_list<std::string_view> list, std::string_view x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

// The input that a gradient belongs to; an input belongs to itself.
std::string_view input_of(std::string_view name) { return name.starts_with("grad_") ? name.substr(5) : name; }
bool is_result(std::string_view name) { return among({"out", "weights", "lse", "grad_out"}, name); }

std::map<std::string, Run, std::less<>>& registry() {
  static std::map<std::string, Run, std::less<>> all;
  return all;
}

}  // namespace

const std::map<std::string, Run, std::less<>>& groups() { return registry(); }
Group::Group(std::string name, Run run) { registry().emplace(std::move(name), run); }

Case::Case(const std::filesystem::path& path) : file_(SafetensorsFile::load(path)) {
  group_ = text("group");
  name_ = text("case");
}

std::string Case::json_of(std::string_view argument) const {
  const size_t dot = argument.find('.');
  const auto found = file_.metadata().find(std::string(argument.substr(0, dot)));
  require<InputError>(found != file_.metadata().end(), "golden", "the file has no argument {}", argument);
  if (dot == argument.npos) return found->second;
  const auto members = parsed<std::map<std::string, Json>>(argument, found->second);
  const auto member = members.find(std::string(argument.substr(dot + 1)));
  require<InputError>(member != members.end(), "golden", "the file has no argument {}", argument);
  return member->second.dump();
}

void Case::knows(std::initializer_list<std::string_view> arguments,
                 std::initializer_list<std::string_view> inputs) const {
  knows_arguments(arguments);
  for (const std::string& name : file_.names())
    if (!is_result(name) && !among(inputs, input_of(name))) throw NotBuilt("tensor " + name + " is not known");
}

void Case::knows_arguments(std::initializer_list<std::string_view> arguments) const {
  for (const auto& [argument, value] : file_.metadata())
    if (!among({"group", "case", "B", "H", "G", "T", "S", "D", "E"}, argument) && !among(arguments, argument))
      throw NotBuilt(fmt::format("argument {} = {} is not known", argument, value));
}

void Case::no_other_inputs() const {
  for (const std::string& name : file_.names())
    if (!is_result(name) && !seen_.contains(input_of(name))) throw NotBuilt("tensor " + name + " is not known");
}

bool Case::has(std::string_view argument) const { return file_.metadata().contains(std::string(argument)); }
bool Case::flag(std::string_view argument) const {
  return has(argument.substr(0, argument.find('.'))) && parsed<bool>(argument, json_of(argument));
}
double Case::number(std::string_view argument) const { return parsed<double>(argument, json_of(argument)); }
int64_t Case::integer(std::string_view argument) const { return parsed<int64_t>(argument, json_of(argument)); }
std::string Case::text(std::string_view argument) const { return parsed<std::string>(argument, json_of(argument)); }
std::vector<int64_t> Case::integers(std::string_view argument) const {
  return parsed<std::vector<int64_t>>(argument, json_of(argument));
}

Tensor Case::tensor(std::string_view name) {
  seen_.insert(std::string(name));
  return file_.get(name);
}

Variable Case::leaf(std::string_view name) {
  const auto found = leaves_.find(name);
  if (found != leaves_.end()) return found->second;
  const Variable made(tensor(name).clone(), {.requires_grad = true});
  leaves_.emplace(name, made);
  return made;
}

double Case::error_of(const std::string& name, const std::vector<double>& values) {
  const std::vector<double> wanted = test::doubles(tensor(name));
  return test::largest_difference(values, wanted) / size_of(wanted);
}

void Case::write_checksum(const std::string& name, const Tensor& got) const {
  if (got.dtype() != DType::f32) return;
  const Tensor numbers = got.contiguous() ? got : got.clone();
  test::write_checksum(fmt::format("{} of {}.{}", name, group_, name_), numbers.span<float>());
}

void Case::check(const std::string& name, const Tensor& got, double tolerance, bool gradient) {
  if (const auto own = tolerances_.find(name); own != tolerances_.end())
    tolerance = std::max(tolerance, own->second);
  const Tensor stored = tensor(name);
  ASSERT_TRUE(got.defined()) << name << " was not computed";
  ASSERT_EQ(to_string(got.shape()), to_string(stored.shape())) << "shape of " << name;
  const std::vector<double> wanted = test::doubles(stored), values = test::doubles(got);
  write_checksum(name, got);
  const double size = size_of(wanted);
  double error = 0;
  size_t at = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double e = difference(values[i], wanted[i]) / size;
    if (e > error) error = e, at = i;
  }
  Errors& largest = errors()[group_];
  (gradient ? largest.gradients : largest.outputs).meet(error, fmt::format("{} of {}", name, name_));
  EXPECT_LE(error, tolerance) << name << ": number " << at << " is " << values[at] << ", stored " << wanted[at]
                              << "; the largest stored is " << size;
}

void Case::compare(const std::string& name, const Tensor& got, double tolerance) {
  check(name, got, tolerance, false);
}

void Case::compare_if_held(const std::string& name, const Tensor& got) {
  if (holds(name)) compare(name, got);
}

void Case::compare_each(const std::string& name, const Tensor& got) {
  const Tensor stored = tensor(name);
  ASSERT_EQ(to_string(got.shape()), to_string(stored.shape())) << "shape of " << name;
  const std::vector<double> wanted = test::doubles(stored), values = test::doubles(got);
  write_checksum(name, got);
  double error = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double e = difference(values[i], wanted[i]) / (wanted[i] == 0 ? 1 : std::abs(wanted[i]));
    EXPECT_LE(e, output_tolerance) << name << ": number " << i << " is " << values[i] << ", stored " << wanted[i];
    error = std::max(error, e);
  }
  errors()[group_].outputs.meet(error, fmt::format("{} of {}", name, name_));
}

void Case::compare_gradient(const std::string& name, const Tensor& got) {
  check(name, got, gradient_tolerance, true);
}

void Case::compare_gradients() {
  for (const auto& [name, leaf] : leaves_)
    if (holds("grad_" + name))  // no gradient arrived: it is zero
      compare_gradient("grad_" + name, leaf.grad().defined() ? leaf.grad() : Tensor::zeros(leaf.shape()));
}

void Case::backward(const Variable& out) {
  if (!holds("grad_out")) return;  // outputs alone
  out.backward(tensor("grad_out"));
  compare_gradients();
}

void Case::remark(const std::string& text) { remarks().push_back(fmt::format("{}.{}: {}", group_, name_, text)); }

void Case::finish() const {
  for (const std::string& name : file_.names()) EXPECT_TRUE(seen_.contains(name)) << name << " was not compared";
}

std::string table_of_errors() {
  std::string table;
  const auto column = [](const Largest& l) {
    return l.error < 0 ? fmt::format("{:>8}  {:<36}", "-", "") : fmt::format("{:8.1e}  {:<36}", l.error, l.where);
  };
  for (const auto& [group, e] : errors())
    table += fmt::format("{:<11} outputs {}  gradients {}\n", group, column(e.outputs), column(e.gradients));
  for (const std::string& remark : remarks()) table += remark + '\n';
  return table;
}

}  // namespace qkv::golden
