// The flags of a command, parsed by CLI11. These two classes keep its header, which takes longer to compile than a
// command,
//
//     App& app = *parent.add_subcommand("translate", "translate text line by line");
//     app.add_flag("--scores", scores, "print the score before each translation");
//     app.add_value("--beam", beam, "beam size")->type_name("N")->required();
//
// Parsing (main.cc, settings.cc) needs the objects of CLI11 itself: cli11().
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace qkv::cli {

class Option {
 public:
  explicit Option(CLI::Option& option) : option_(option) {}

  Option* required();
  Option* type_name(const std::string& unit);  // stands for the value in the help: N, TOKENS, FILE
  Option* default_str(const std::string& text);
  // Why a given text is not a value; empty if it is one. A name can be looked up again: value_type() does.
  Option* check(std::function<std::string(const std::string&)> error, const std::string& name = "");
  Option* several();                          // it may be given several times
  Option* group(const std::string& heading);  // of the help
  Option* any_number();                       // several values after one another: RUN RUN RUN

  size_t count() const;  // how often it was given
  std::string get_name() const;
  void run_callback();  // sets its variable to the given value again

  CLI::Option& cli11() const { return option_; }

 private:
  CLI::Option& option_;
};

class App {
 public:
  explicit App(CLI::App& app);  // which must live longer
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App();

  App* add_subcommand(const std::string& name, const std::string& help);
  Option* add_flag(const std::string& name, bool& value, const std::string& help);
  // T: std::string, std::vector<std::string>, or a number.
  template <class T>
  Option* add_value(const std::string& name, T& value, const std::string& help);
  // All arguments that belong to no flag, as they are.
  Option* add_arguments(const std::string& name, std::vector<std::string>& values, const std::string& help);
  Option* add_reader(const std::string& name, const std::function<void(const std::string&)>& read,
                     const std::string& help);
  void group(const std::string& heading);       // of the flags that are added next, in the help
  Option* get_option(const std::string& name);  // of those added here
  // The flags that were given, without dashes, and their values as text; those of settings files among them.
  std::map<std::string, std::vector<std::string>> given() const;
  void footer(const std::string& text);  // of the help
  const std::string& get_name() const;

  CLI::App& cli11() const { return app_; }

 private:
  Option* add(CLI::Option& option);

  CLI::App& app_;
  std::string group_;
  std::vector<std::unique_ptr<App>> commands_;
  std::vector<std::unique_ptr<Option>> options_;
};

}  // namespace qkv::cli
