#include "cli/app.h"

#include <cstdint>

#include <CLI/CLI.hpp>

#include "qkv/base/error.h"

namespace qkv::cli {

Option* Option::required() {
  option_.required();
  return this;
}

Option* Option::type_name(const std::string& unit) {
  option_.type_name(unit);
  return this;
}

Option* Option::default_str(const std::string& text) {
  option_.default_str(text);
  return this;
}

Option* Option::check(std::function<std::string(const std::string&)> error, const std::string& name) {
  option_.check(std::move(error), "", name);
  return this;
}

Option* Option::several() {
  option_.allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return this;
}

Option* Option::group(const std::string& heading) {
  option_.group(heading);
  return this;
}

Option* Option::any_number() {
  option_.multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return this;
}

size_t Option::count() const { return option_.count(); }
std::string Option::get_name() const { return option_.get_name(); }
void Option::run_callback() { option_.run_callback(); }

App::App(CLI::App& app) : app_(app) {}
App::~App() = default;

App* App::add_subcommand(const std::string& name, const std::string& help) {
  return commands_.emplace_back(std::make_unique<App>(*app_.add_subcommand(name, help)->group("Commands"))).get();
}

Option* App::add(CLI::Option& option) {
  if (!group_.empty()) option.group(group_);
  return options_.emplace_back(std::make_unique<Option>(option)).get();
}

void App::group(const std::string& heading) { group_ = heading; }

Option* App::add_flag(const std::string& name, bool& value, const std::string& help) {
  return add(*app_.add_flag(name, value, help));
}

template <class T>
Option* App::add_value(const std::string& name, T& value, const std::string& help) {
  return add(*app_.add_option(name, value, help));
}
template Option* App::add_value(const std::string&, std::string&, const std::string&);
template Option* App::add_value(const std::string&, std::vector<std::string>&, const std::string&);
template Option* App::add_value(const std::string&, int&, const std::string&);
template Option* App::add_value(const std::string&, int64_t&, const std::string&);
template Option* App::add_value(const std::string&, uint64_t&, const std::string&);
template Option* App::add_value(const std::string&, float&, const std::string&);
template Option* App::add_value(const std::string&, double&, const std::string&);

// As a list, CLI11 would split "[a, b]" and take "{}" for nothing, and without a minimum read one argument only.
Option* App::add_arguments(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  constexpr int any = CLI::detail::expected_max_vector_size;
  const auto read = [&values](const CLI::results_t& given) {
    values = given;
    return true;
  };
  return add(
      *app_.add_option(name, read, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->expected(any, any));
}

Option* App::add_reader(const std::string& name, const std::function<void(const std::string&)>& read,
                        const std::string& help) {
  return add(*app_.add_option_function<std::string>(name, read, help));
}

Option* App::get_option(const std::string& name) {
  for (const auto& option : options_)
    if (option->get_name() == name) return option.get();
  fail("cli", "there is no flag {}", name);
}

std::map<std::string, std::vector<std::string>> App::given() const {
  std::map<std::string, std::vector<std::string>> values;
  for (const CLI::Option* option : app_.get_options())
    if (option->count() > 0 && !option->get_lnames().empty())
      values[option->get_lnames().front()] = option->results();
  return values;
}

void App::footer(const std::string& text) { app_.footer(text); }
const std::string& App::get_name() const { return app_.get_name(); }

}  // namespace qkv::cli
