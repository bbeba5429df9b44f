// One golden case: a safetensors file with the arguments, inputs, expected outputs and expected gradients of one
// call (test/golden/README.md), and the comparison with the results of the library for the same inputs.
//
//     Case c("test/golden/sdpa-plain.safetensors");
//     c.knows({"scale"}, {"q", "k", "v"});            // anything else in the file: the case is skipped, by name
//     Variable out = attention(c.leaf("q"), c.leaf("k"), c.leaf("v"), {.score = dot(c.number("scale"))});
//     c.compare("out", out.value());
//     c.backward(out);                                // upstream grad_out; then every grad_X of the file
//     c.finish();                                     // fails if a tensor of the file was not used
//
// Differences are measured against the largest stored number of the tensor, or against 1 where that is below 1e-3.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/autograd/variable.h"
#include "qkv/tensor/safetensors.h"

namespace qkv::golden {

// The library lacks something that the case needs: the case is reported as skipped, with this reason.
class NotBuilt : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr double output_tolerance = 1e-5, gradient_tolerance = 3e-5;

class Case {
 public:
  explicit Case(const std::filesystem::path& path);

  const std::string& group() const { return group_; }
  const std::string& name() const { return name_; }

  // Throws NotBuilt for an argument or an input that is not among these. Axis lengths, outputs and gradients of
  // inputs need not be listed.
  void knows(std::initializer_list<std::string_view> arguments,
             std::initializer_list<std::string_view> inputs) const;
  // The two halves of it. Where the names of the inputs are many: call no_other_inputs() once all have been read.
  void knows_arguments(std::initializer_list<std::string_view> arguments) const;
  void no_other_inputs() const;

  // Arguments, "t5.num_buckets" being a member of an argument. A missing one is an error, except that a missing
  // flag is false.
  bool has(std::string_view argument) const;
  bool flag(std::string_view argument) const;
  double number(std::string_view argument) const;
  int64_t integer(std::string_view argument) const;
  std::string text(std::string_view argument) const;
  std::vector<int64_t> integers(std::string_view argument) const;

  // Inputs. A leaf is made once and has a gradient.
  bool holds(std::string_view tensor) const { return file_.has(tensor); }
  Tensor tensor(std::string_view name);
  Variable leaf(std::string_view name);
  Variable leaf_if_held(std::string_view name) { return holds(name) ? leaf(name) : Variable(); }
  std::vector<std::string> tensors() const { return file_.names(); }

  // The error that other numbers have as this output or gradient; infinite for another count of numbers.
  double error_of(const std::string& name, const std::vector<double>& values);
  // A larger tolerance for this output or gradient than the comparison has.
  void tolerate(const std::string& name, double tolerance) { tolerances_[name] = tolerance; }

  // Expected numbers.
  void compare(const std::string& name, const Tensor& got, double tolerance = output_tolerance);
  void compare_if_held(const std::string& name, const Tensor& got);
  void compare_each(const std::string& name, const Tensor& got);      // each number relative to itself
  void compare_gradient(const std::string& name, const Tensor& got);  // name as in the file
  void compare_gradients();                                           // of all leaves
  void backward(const Variable& out);
  void skip(const std::string& name) { seen_.insert(name); }  // an expected tensor that is not ours to meet
  void remark(const std::string& text);                       // printed under the table of errors
  void finish() const;

 private:
  std::string json_of(std::string_view argument) const;
  void write_checksum(const std::string& name, const Tensor& got) const;
  void check(const std::string& name, const Tensor& got, double tolerance, bool gradient);

  SafetensorsFile file_;
  std::string group_, name_;
  std::map<std::string, Variable, std::less<>> leaves_;
  std::map<std::string, double, std::less<>> tolerances_;
  std::set<std::string, std::less<>> seen_;
};

// A group says how its cases run; `run` throws NotBuilt for what it cannot do yet.
using Run = void (*)(Case&);
const std::map<std::string, Run, std::less<>>& groups();
struct Group {
  Group(std::string name, Run run);
};

// The largest errors so far, as a table with one line a group; then the remarks.
std::string table_of_errors();

}  // namespace qkv::golden
