#include <array>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "cli/demo_task.h"
#include "qkv/base/random.h"

namespace qkv::cli {
namespace {

using Names = std::array<const char*, 12>;
using Week = std::array<const char*, 7>;

constexpr Names english = {"January", "February", "March",     "April",   "May",      "June",
                           "July",    "August",   "September", "October", "November", "December"};
constexpr Names english_short = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr Names german = {"Januar", "Februar", "M\u00e4rz", "April",   "Mai",      "Juni",
                          "Juli",   "August",  "September", "Oktober", "November", "Dezember"};
constexpr Names german_short = {"Jan.", "Feb.", "M\u00e4r.", "Apr.", "Mai",  "Jun.",
                                "Jul.", "Aug.", "Sep.",      "Okt.", "Nov.", "Dez."};
constexpr Names french = {"janvier", "f\u00e9vrier", "mars",      "avril",   "mai",      "juin",
                          "juillet", "ao\u00fbt",    "septembre", "octobre", "novembre", "d\u00e9cembre"};
constexpr Names french_short = {"janv.", "f\u00e9vr.", "mars",  "avr.", "mai",  "juin",
                                "juil.", "ao\u00fbt",  "sept.", "oct.", "nov.", "d\u00e9c."};
constexpr Week english_week = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr Week german_week = {"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"};
constexpr Week french_week = {"dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"};

struct Date {
  int year;
  unsigned month, day;  // from 1
  unsigned weekday;     // 0 is Sunday
};

const char* ordinal(unsigned day) {
  if (day >= 11 && day <= 13) return "th";
  return day % 10 == 1 ? "st" : day % 10 == 2 ? "nd" : day % 10 == 3 ? "rd" : "th";
}

std::string french_day(unsigned day) { return day == 1 ? "1er" : fmt::format("{}", day); }

constexpr uint64_t format_count = 18;

std::string written(const Date& d, uint64_t format) {
  const size_t m = d.month - 1;
  switch (format) {
    case 0: return fmt::format("{} {}, {}", english[m], d.day, d.year);
    case 1: return fmt::format("{} {} {}", d.day, english[m], d.year);
    case 2: return fmt::format("{} {}, {}", english_short[m], d.day, d.year);
    case 3: return fmt::format("{} {} {}", d.day, english_short[m], d.year);
    case 4: return fmt::format("the {}{} of {}, {}", d.day, ordinal(d.day), english[m], d.year);
    case 5: return fmt::format("{}, {} {}, {}", english_week[d.weekday], english[m], d.day, d.year);
    case 6: return fmt::format("{}/{}/{}", d.year, d.month, d.day);
    case 7: return fmt::format("{}. {} {}", d.day, german[m], d.year);
    case 8: return fmt::format("{}. {} {}", d.day, german_short[m], d.year);
    case 9: return fmt::format("{}.{}.{}", d.day, d.month, d.year);
    case 10: return fmt::format("{:02}.{:02}.{}", d.day, d.month, d.year);
    case 11: return fmt::format("{}, {}. {} {}", german_week[d.weekday], d.day, german[m], d.year);
    case 12: return fmt::format("am {}. {} {}", d.day, german[m], d.year);
    case 13: return fmt::format("{} {} {}", french_day(d.day), french[m], d.year);
    case 14: return fmt::format("le {} {} {}", french_day(d.day), french[m], d.year);
    case 15: return fmt::format("{} {} {}", french_day(d.day), french_short[m], d.year);
    case 16: return fmt::format("{} {} {} {}", french_week[d.weekday], french_day(d.day), french[m], d.year);
    default: return fmt::format("{} {} {}", english[m], d.day, d.year);
  }
}

Date random_date(Random& random) {
  using namespace std::chrono;
  constexpr sys_days first = 1900y / January / 1, last = 2099y / December / 31;
  const sys_days day = first + days(random.below(static_cast<uint64_t>((last - first).count()) + 1));
  const year_month_day ymd(day);
  return {static_cast<int>(ymd.year()), static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()),
          weekday(day).c_encoding()};
}

}  // namespace

DemoTask date_task(uint64_t seed, int64_t train, int64_t held_out) {
  DemoTask task = {.name = "dates",
                   .summary = "dates as people write them, in English, German and French, to ISO dates",
                   .train = {},
                   .held_out = {},
                   .examples = {"Friday, November 20, 2026", "1. M\u00e4rz 1984", "le 14 juillet 1989"}};
  Random random(seed, 1);
  std::set<std::string> held;
  const auto draw = [&] {
    const Date d = random_date(random);
    return DemoTask::Pair(written(d, random.below(format_count)),
                          fmt::format("{:04}-{:02}-{:02}", d.year, d.month, d.day));
  };
  for (const std::string& example : task.examples) held.insert(example);
  while (static_cast<int64_t>(task.held_out.size()) < held_out)
    if (DemoTask::Pair pair = draw(); held.insert(pair.first).second) task.held_out.push_back(std::move(pair));
  while (static_cast<int64_t>(task.train.size()) < train)
    if (DemoTask::Pair pair = draw(); !held.contains(pair.first)) task.train.push_back(std::move(pair));
  return task;
}

}  // namespace qkv::cli
