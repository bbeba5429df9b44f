// A member of an aggregate as an argument of its mechanism (mechanism_of.h): an int64_t, a double, a bool, an enum with
// names (base/names.h) or a list of doubles; of the aggregate itself or of a part of it.
//
//     ArgumentMember<Rotary> base(&Rotary::base), factor(&Rotary::scaling, &RotaryScaling::factor);
//     base.get(Rotary{})                                                                   // 10000
//     factor.set(rotary, 4.0);                                                             // rotary.scaling.factor = 4
#pragma once

#include <concepts>
#include <functional>

#include "qkv/base/names.h"
#include "qkv/layer/mechanism/argument.h"

namespace qkv {

namespace internal {

// Whether the member is true, as an enum: the choices false and true.
enum class Truth { no, yes };
constexpr auto names_of(Truth) { return std::array{Named{Truth::no, "false"}, Named{Truth::yes, "true"}}; }

template <class V>
concept NumberMember = std::same_as<V, int64_t> || std::same_as<V, double>;
template <class V>
concept ChoiceMember = std::same_as<V, bool> || WithNames<V>;
template <ChoiceMember V>
using ChoiceOf = std::conditional_t<std::same_as<V, bool>, Truth, V>;

template <NumberMember V>
MechanismArgument::Value argument_value(V x) {
  return static_cast<double>(x);
}
template <ChoiceMember V>
MechanismArgument::Value argument_value(V x) {
  return std::string(name_of(static_cast<ChoiceOf<V>>(x)));
}
inline MechanismArgument::Value argument_value(const std::vector<double>& x) { return x; }

template <NumberMember V>
void set_argument(V& x, const MechanismArgument::Value& value) {
  x = static_cast<V>(std::get<double>(value));
}
template <ChoiceMember V>
void set_argument(V& x, const MechanismArgument::Value& value) {
  x = static_cast<V>(value_named<ChoiceOf<V>>(std::get<std::string>(value), "attention mechanism", "a choice"));
}
inline void set_argument(std::vector<double>& x, const MechanismArgument::Value& value) {
  x = std::get<std::vector<double>>(value);
}

}  // namespace internal

template <class T>
class ArgumentMember {
 public:
  using Kind = MechanismArgument::Kind;
  using Value = MechanismArgument::Value;

  template <class V>
  ArgumentMember(V T::*member)  // NOLINT: implicit on purpose
      : ArgumentMember(
            [member](auto& x) -> auto& { return x.*member; }, static_cast<V*>(nullptr)) {}
  template <class Part, class V>
  ArgumentMember(Part T::*part, V Part::*member)
      : ArgumentMember(
            [ part, member ](auto& x) -> auto& { return x.*part.*member; }, static_cast<V*>(nullptr)) {}

  Kind kind() const { return kind_; }
  const std::vector<std::string_view>& choices() const { return choices_; }
  Value get(const T& x) const { return get_(x); }
  void set(T& x, const Value& value) const { set_(x, value); }

 private:
  template <class At, class V>
  ArgumentMember(At at, V*)
      : get_([at](const T& x) { return internal::argument_value(at(x)); }),
        set_([at](T& x, const Value& value) { internal::set_argument(at(x), value); }) {
    if constexpr (std::same_as<V, int64_t>) kind_ = Kind::integer;
    if constexpr (std::same_as<V, double>) kind_ = Kind::number;
    if constexpr (std::same_as<V, std::vector<double>>) kind_ = Kind::list;
    if constexpr (internal::ChoiceMember<V>) {
      kind_ = Kind::choice;
      choices_ = all_names<internal::ChoiceOf<V>>();
    }
  }

  std::function<Value(const T&)> get_;
  std::function<void(T&, const Value&)> set_;
  Kind kind_ = Kind::number;
  std::vector<std::string_view> choices_;
};

}  // namespace qkv
