// The mechanism of an aggregate: a class derived from MechanismOf<Aggregate> lists its arguments once, as pointers to
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
// Parser, printer, range check and help follow from fields(). The defaults are those of the members. Members: see
// argument_member.h.
#pragma once

#include "qkv/layer/mechanism/argument_member.h"
#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

inline constexpr double max_distance = 1 << 24;

template <class T>
class MechanismOf : public AttentionMechanism {
 public:
  struct Field {
    std::string_view name;
    ArgumentMember<T> member;
    double minimum = 0, maximum = 0;  // of numbers
    bool required = false;
    bool by_name = false;
  };
  using Fields = std::vector<Field>;

  explicit MechanismOf(const T& arguments) : value(arguments) {}

  virtual Fields fields() const { return {}; }

  std::vector<Argument> arguments() const final {
    static const T defaults{};
    std::vector<Argument> out;
    for (const Field& f : fields()) {
      out.push_back({.name = f.name,
                     .kind = f.member.kind(),
                     .minimum = f.minimum,
                     .maximum = f.maximum,
                     .choices = f.member.choices(),
                     .by_name = f.by_name});
      if (!f.required) out.back().default_value = f.member.get(defaults);
    }
    return out;
  }
  Argument::Value argument(size_t i) const final { return fields()[i].member.get(value); }

  AttentionMechanismPtr with(std::span<const Argument::Value> values) const final {
    T changed = value;
    const Fields all = fields();
    for (size_t i = 0; i < values.size(); ++i) all[i].member.set(changed, values[i]);
    return mechanism_of(changed);
  }

  bool equals(const AttentionMechanism& other) const final {
    const auto* same = dynamic_cast<const MechanismOf*>(&other);
    return same && same->value == value;
  }

  const T value;
};

}  // namespace qkv
