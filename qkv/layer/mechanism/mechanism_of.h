// The mechanism of an aggregate: a class derived from MechanismOf<Aggregate> lists its numbers once, as pointers to
// members, and overrides what it does in a layer (mechanism.h).
//
//     struct Softcap {                                                                     // softcap.h
//       double cap = 50;
//       bool operator==(const Softcap&) const = default;
//     };
//     AttentionMechanismPtr mechanism_of(const Softcap& softcap);
//
//     class SoftcapMechanism final : public MechanismOf<Softcap> {                         // softcap.cc
//      public:
//       using MechanismOf::MechanismOf;
//       Facts facts() const override { return {.name = "softcap", .help = "...", .role = Role::modify}; }
//       Fields fields() const override { return {{"cap", &Softcap::cap, 1e-3, 1e6}}; }
//       void add_to(AttentionOptions& options, const AttentionPart&) const override { ... value.cap ... }
//     };
//     AttentionMechanismPtr mechanism_of(const Softcap& x) { return std::make_shared<SoftcapMechanism>(x); }
//
// Parser, printer, range check and help follow from fields(). A default is that of the member.
#pragma once

#include <type_traits>
#include <variant>

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

inline constexpr double max_distance = 1 << 24;

template <class T>
class MechanismOf : public AttentionMechanism {
 public:
  struct Field {
    std::string_view name;
    std::variant<int64_t T::*, double T::*> member;
    double minimum, maximum;
    bool required = false;
  };
  using Fields = std::vector<Field>;

  explicit MechanismOf(const T& numbers) : value(numbers) {}

  virtual Fields fields() const { return {}; }

  std::vector<Number> numbers() const final {
    static const T defaults{};
    std::vector<Number> out;
    for (const Field& f : fields()) {
      const bool integer = std::holds_alternative<int64_t T::*>(f.member);
      out.push_back({f.name, f.minimum, f.maximum, {}, integer});
      if (!f.required) out.back().default_value = number(f, defaults);
    }
    return out;
  }
  double number(size_t i) const final { return number(fields()[i], value); }

  AttentionMechanismPtr with(std::span<const double> numbers) const final {
    T changed = value;
    if constexpr (!std::is_empty_v<T>) {
      const Fields all = fields();
      const auto set = [&](auto member, double number) {
        changed.*member = static_cast<std::remove_reference_t<decltype(changed.*member)>>(number);
      };
      for (size_t i = 0; i < numbers.size(); ++i)
        std::visit([&](auto member) { set(member, numbers[i]); }, all[i].member);
    }
    return mechanism_of(changed);
  }

  bool equals(const AttentionMechanism& other) const final {
    const auto* same = dynamic_cast<const MechanismOf*>(&other);
    return same && same->value == value;
  }

  const T value;

 private:
  static double number(const Field& field, const T& of) {
    if constexpr (std::is_empty_v<T>)  // without fields: the compiler would warn of an access
      return 0;
    else
      return std::visit([&](auto member) { return static_cast<double>(of.*member); }, field.member);
  }
};

}  // namespace qkv
